import { StoreUnavailable } from "../../platform/storage/database.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import { noLocationCache, type LocationCache } from "../../platform/copies/location-cache.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";
import { selectSigner } from "./keys/key-life.ts";
import type { Revocable } from "./issued-token.ts";
import type { PublicJwk } from "./keys/key-store.ts";
import { openPrivateKey, SIGNING_ALGS, type SigningAlg } from "./keys/signing-key.ts";
import { TrustCopy, type Key } from "./trust-copy.ts";
import { createTrustSource } from "./trust-source.ts";
import type { NewRevocation, TrustStore } from "./trust-store.ts";

/**
 * The ages of a copy: when a request begins a refresh beside its answer (and a random part of the spread later), for
 * checks, while D1 does not respond, for unknown keys, and before it should be updated.
 */
const TRUST_AGE = {
  aheadMs: 3_000,
  aheadSpreadMs: 1_000,
  maxMs: 5_000,
  withoutD1Ms: 60_000,
  unknownKeyMs: 1_000,
  wantedMs: 60_000,
} as const;
/** The greatest age of a copy by which an isolate signs. So a replaced key may sign for this long. */
export const SIGNING_COPY_MS = 600_000;
const PURPOSE = "keys and revocations";
/**
 * Parallel reads of D1 for requests that need a read which began after their arrival, so they cannot share older ones.
 */
const READS_AT_ONCE = 2;

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

/**
 * This isolate's copy of the signing keys and of the revocations (trust-copy.ts), and when it is read again:
 *
 *   empty ──refresh──▶ fresh ──3 s──▶ ageing ──5 s──▶ old ──60 s──▶ void
 *                        ▲              │ one request refreshes beside its answer
 *                        └──────────────┘
 *
 * A refresh reads every key and the revocations since the last one, in one statement, or the location's copy of them
 * (trust-source.ts), whose age counts. Only one refresh runs at a time. Requests wait only if the copy is old: until
 * the refresh is done, or D1 counts as not responding (a failure, or 3 s without an answer). From then on they use the
 * copy until it is void, without waiting, and refreshes back off (platform/copies/attempts.ts). A late answer still
 * counts.
 *
 * Requests share only values, for which they poll. They cannot share a promise: it belongs to the request that made it,
 * and if that one is cancelled, the others would wait for ever.
 */
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
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let copyingSinceMs = Number.NEGATIVE_INFINITY;
  const attempts = isolate.database;
  const aheadMs = TRUST_AGE.aheadMs + TRUST_AGE.aheadSpreadMs * isolate.chance();

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

  /** Reads D1. Returns false if it does not respond in time. */
  async function ask(nowMs: number): Promise<boolean> {
    try {
      await attempts.run(PURPOSE, nowMs, () => copy.refresh(nowMs, "D1"));
      return true;
    } catch (thrown) {
      onFault(thrown);
      return false;
    }
  }

  /** False while this isolate knows of a change that it has not read, which the location's copy may lack. */
  const mayCopy = (): boolean => location !== noLocationCache && copy.isSettled;

  /** Takes the location's copy, or reads D1 unless another isolate of the location does. */
  async function copyOrAsk(nowMs: number): Promise<"landed" | "failed" | "wait"> {
    copyingSinceMs = nowMs;
    try {
      if (mayCopy()) {
        const found = await copy.refresh(nowMs, "location");
        if (found === "landed") return found;
        if (found === "none" && !(await sources.claim(nowMs, attempts.isFailing(nowMs)))) return "wait";
      }
    } finally {
      copyingSinceMs = Number.NEGATIVE_INFINITY;
    }
    return (await ask(nowMs)) ? "landed" : "failed";
  }

  const isRefreshing = (nowMs: number): boolean =>
    attempts.running(nowMs, PURPOSE) > 0 || Math.abs(nowMs - copyingSinceMs) < COPYING_MS;

  /** Polls for the result of another request. Returns false if D1 does not respond. */
  async function wait(
    nowMs: number,
    next: (nowMs: number) => "wait" | boolean | Promise<"wait" | boolean>,
  ): Promise<boolean> {
    const beganAtMs = isolate.nowMs();
    let waitedMs = 0;
    for (let stepMs = LOOK.firstMs; waitedMs < attempts.waitMs; stepMs = Math.min(2 * stepMs, LOOK.maxMs)) {
      const step = await next(nowMs + waitedMs);
      if (step !== "wait") return step;
      await isolate.pause(stepMs);
      waitedMs = Math.max(waitedMs + stepMs, isolate.nowMs() - beganAtMs);
    }
    return false;
  }

  /** Looks for a copy of another isolate of the location, which D1 may have answered. */
  function lookBeside(nowMs: number): void {
    if (!attempts.isFailing(nowMs) || !mayCopy() || Math.abs(nowMs - lookedAtMs) < LOOK_EVERY_MS) return;
    lookedAtMs = nowMs;
    const look = async (): Promise<void> => {
      if ((await copy.refresh(nowMs, "location")) === "landed") attempts.noteAnswer(copy.loadedAtMs, isolate.nowMs());
    };
    isolate.keepAlive(look());
  }

  async function ensureRecent(nowMs: number): Promise<boolean> {
    if (!copy.hasRecent(aheadMs, nowMs)) lookBeside(nowMs);
    if (
      copy.hasRecent(TRUST_AGE.maxMs, nowMs) ||
      (attempts.isFailing(nowMs) && copy.isWithin(TRUST_AGE.withoutD1Ms, nowMs))
    ) {
      if (!copy.hasRecent(aheadMs, nowMs) && !isRefreshing(nowMs) && attempts.mayAskBeside(nowMs))
        isolate.keepAlive(copyOrAsk(nowMs));
      return true;
    }
    const landed = await wait(nowMs, async (atMs) => {
      if (copy.hasRecent(TRUST_AGE.maxMs, atMs)) return true;
      if (!isRefreshing(atMs) && attempts.mayAsk(atMs)) {
        const outcome = await copyOrAsk(atMs);
        if (outcome !== "wait") return outcome === "landed";
      }
      return attempts.isFailing(atMs) ? false : "wait";
    });
    // After this time, requests do not wait for the other isolate any more.
    const endMs = nowMs + attempts.waitMs;
    if (!landed && !attempts.isFailing(endMs)) attempts.noteLate(PURPOSE, nowMs, endMs);
    return landed || copy.isWithin(TRUST_AGE.withoutD1Ms, nowMs);
  }

  /** Waits for a read of D1 that began after this call, its own or another's. */
  async function ensureNow(nowMs: number): Promise<boolean> {
    const { begun } = copy;
    return wait(nowMs, (atMs) => {
      if (copy.lastLanded > begun) return true;
      return attempts.running(atMs, PURPOSE) < (attempts.isFailing(atMs) ? 1 : READS_AT_ONCE) ? ask(atMs) : "wait";
    });
  }

  /**
   * Updates the copy unless it is fresh. "recent": at most 5 s old. "newest" and "now": read from D1 after this call.
   * If D1 does not respond, "recent" and "newest" accept a copy at most 60 s old, "now" accepts none. Returns false
   * if there is no copy to be trusted.
   */
  async function ensure(nowMs: number, freshness: "recent" | "newest" | "now"): Promise<boolean> {
    if (freshness === "recent") return ensureRecent(nowMs);
    // Requests do not queue for a database that is known not to respond.
    const isHopeless = attempts.isFailing(nowMs) && !attempts.mayAsk(nowMs);
    if (freshness === "newest" && isHopeless && copy.isWithin(TRUST_AGE.withoutD1Ms, nowMs)) return true;
    return (await ensureNow(nowMs)) || (freshness === "newest" && copy.isWithin(TRUST_AGE.withoutD1Ms, nowMs));
  }

  return {
    ensure,
    /** Begins to update an old copy. Who needs it awaits `ensure`. */
    begin(nowMs: number): void {
      if (!copy.hasRecent(TRUST_AGE.maxMs, nowMs) && !isRefreshing(nowMs)) isolate.keepAlive(ensureRecent(nowMs));
    },
    /** True if a token that names the key is checked without a read of D1 for the key. */
    knowsKey: (kid: string): boolean => keys.has(kid),
    /** True if no check has to wait for D1. */
    isRecent: (nowMs: number): boolean => copy.hasRecent(TRUST_AGE.maxMs, nowMs),
    /** Another statement revoked something, so the next check asks D1. */
    markStale: (): void => copy.markStale(),

    /**
     * The key that verifies. An unknown one is looked up in D1, because another isolate may have made it. Anybody can
     * send an unknown kid, so requests within a second of the last read wait, and one read serves all of them.
     */
    async verifyKey(kid: string, alg: SigningAlg, nowMs: number): Promise<CryptoKey | undefined> {
      const mayExist = (): boolean => !keys.has(kid) && copy.loadedAtMs < nowMs;
      const waitMs = mayExist() && copy.isWithin(TRUST_AGE.unknownKeyMs, nowMs) ? TRUST_AGE.unknownKeyMs : 0;
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
    wantsRefresh: (nowMs: number): boolean => !copy.isWithin(TRUST_AGE.wantedMs, nowMs),

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

/** The location's cache is looked at this often while D1 does not respond. */
const LOOK_EVERY_MS = 1_000;
/** A request that takes longer for the location's copy may have been ended by the runtime. */
const COPYING_MS = 1_000;
/** The pauses between two looks for what another request reads. */
const LOOK: { readonly firstMs: number; readonly maxMs: number } = { firstMs: 5, maxMs: 50 };
