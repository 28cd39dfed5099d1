import { StoreUnavailable } from "../../platform/storage/database.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import { noLocationCache, type LocationCache } from "../../platform/copies/location-cache.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";
import { selectSigner } from "./keys/key-life.ts";
import type { Revocable } from "./issued-token.ts";
import type { PublicJwk } from "./keys/key-store.ts";
import { openPrivateKey, SIGNING_ALGS, type SigningAlg } from "./keys/signing-key.ts";
import { TrustCopy, type Key } from "./trust-copy.ts";
import { createTrustRefresh } from "./trust-refresh.ts";
import { createTrustSource } from "./trust-source.ts";
import type { NewRevocation, TrustStore } from "./trust-store.ts";

/** The ages of a copy at which a check reads again for an unknown key, and from which on it should be updated. */
const AGE = { unknownKeyMs: 1_000, wantedMs: 60_000 } as const;
/** The greatest age of a copy by which an isolate signs. So a replaced key may sign for this long. */
export const SIGNING_COPY_MS = 600_000;

export interface TrustDeps {
  readonly store: TrustStore;
  /** Makes an algorithm's first key unless there is one. */
  readonly makeFirstKey: (alg: SigningAlg, nowMs: number) => Promise<void>;
  readonly sealer: Sealer;
  readonly isolate: Isolate;
  readonly onFault: (thrown: unknown) => void;
  /** Collapses revocations in D1. */
  readonly onOverfull?: () => Promise<void>;
  readonly location?: LocationCache;
  /** Drops other copies of the database in this isolate. */
  readonly onRestored?: () => void;
}

export type Trust = ReturnType<typeof createTrust>;

/** The signing keys and the revocations, from this isolate's copy of them (trust-refresh.ts). */
export function createTrust({
  store,
  makeFirstKey,
  sealer,
  isolate,
  onFault,
  onOverfull = async () => {},
  location = noLocationCache,
  onRestored = () => {},
}: TrustDeps) {
  const hashKey = { low: Math.floor(isolate.chance() * 2 ** 32), high: Math.floor(isolate.chance() * 2 ** 32) };
  const sources = createTrustSource(store, location);
  const copy = new TrustCopy(sources, hashKey, onRestored);
  const { keys } = copy;
  const { ensure, isRecent, begin } = createTrustRefresh({ copy, sources, isolate, location, onFault });

  /** The signing key; makes the first one. If two isolates make one, the database keeps the first, and both read it. */
  async function signerNow(alg: SigningAlg, nowMs: number): Promise<Key> {
    const known = selectSigner(keys.values(), alg, nowMs);
    if (known !== undefined) return known;
    await makeFirstKey(alg, nowMs);
    if (!(await ensure(nowMs, "now"))) throw new StoreUnavailable("the signing keys were not read");
    const made = selectSigner(keys.values(), alg, nowMs);
    if (made === undefined) throw new Error("no signing key after one was made");
    return made;
  }

  return {
    ensure,
    begin,
    /** True if a token that names the key is checked without a read of D1 for the key. */
    knowsKey: (kid: string): boolean => keys.has(kid),
    /** True if no check has to wait for D1. */
    isRecent,
    /** Another statement revoked something, so the next check asks D1. */
    markStale: (): void => copy.markStale(),

    /**
     * The key that verifies. An unknown one is looked up in D1, because another isolate may have made it. Anybody can
     * send an unknown kid, so requests within a second of the last read wait, and one read serves all of them.
     */
    async verifyKey(kid: string, alg: SigningAlg, nowMs: number): Promise<CryptoKey | undefined> {
      const mayExist = (): boolean => !keys.has(kid) && copy.loadedAtMs < nowMs;
      const waitMs = mayExist() && copy.isWithin(AGE.unknownKeyMs, nowMs) ? AGE.unknownKeyMs : 0;
      if (waitMs > 0) await isolate.pause(waitMs);
      if (mayExist()) await ensure(nowMs + waitMs, "now");
      const key = keys.get(kid);
      return key?.alg === alg ? key.verify : undefined;
    },

    isRevoked: (token: Revocable): boolean => copy.isRevoked(token),

    /** The key that signs now. Made with the platform's first token of its kind. */
    async signingKey(nowMs: number, alg: SigningAlg): Promise<{ readonly kid: string; readonly key: CryptoKey }> {
      if (!copy.isWithin(SIGNING_COPY_MS, nowMs) && !(await ensure(nowMs, "recent")))
        throw new StoreUnavailable("the signing keys were not read");
      const key = await signerNow(alg, nowMs);
      key.sign ??= await openPrivateKey(key, sealer);
      return { kid: key.kid, key: key.sign };
    },

    /** True if the copy should be updated after the response. */
    wantsRefresh: (nowMs: number): boolean => !copy.isWithin(AGE.wantedMs, nowMs),

    /** The public keys, the newest first. The first caller makes all of them, so a verifier finds every algorithm. */
    async publicKeys(nowMs: number): Promise<readonly PublicJwk[]> {
      for (const alg of SIGNING_ALGS) await signerNow(alg, nowMs);
      return [...keys.values()].sort((a, b) => b.createdAtMs - a.createdAtMs).map((key) => key.publicJwk);
    },

    /**
     * Revokes tokens, grants or sessions everywhere, in this isolate at once, together with the statements `beside`.
     */
    async revoke(added: readonly NewRevocation[], beside: readonly D1PreparedStatement[]): Promise<void> {
      try {
        const result = await store.revoke(added, beside);
        copy.add(result.added, isolate.nowMs());
        if (result.isOverfull) isolate.keepAlive(onOverfull());
      } catch (thrown) {
        // The statement may have run.
        copy.markStale();
        throw thrown;
      }
    },
  };
}
