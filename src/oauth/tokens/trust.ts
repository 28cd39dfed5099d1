import type { Principal } from "../../http/auth.ts";
import type { Sealer } from "../../platform/seal.ts";
import { withTimeout } from "../../platform/with-timeout.ts";
import { selectSigner } from "./key-life.ts";
import type { PublicJwk } from "./key-store.ts";
import { importVerifyKey, openPrivateKey, SIGNING_ALGS, type SigningAlg } from "./signing-key.ts";
import { accessKey, type NewRevocation, type Revocation, type SigningKeyRow, type TrustStore } from "./trust-store.ts";

/**
 * This isolate's copy of the signing keys and of the revocations (contract 2.1).
 *
 *   empty ──refresh──▶ fresh ──5 s──▶ old ──refresh──▶ fresh
 *                                      └── D1 does not answer: used until 60 s old, then unavailable
 *
 * A refresh asks D1 for every key and for the revocations that came since, in one statement. Nothing is shared between
 * requests but values, so parallel refreshes do the same work and none waits for another's promise; an answer that
 * lands late undoes nothing that a later one brought, since rows carry a number and refreshes are counted.
 */
export interface Trust {
  /**
   * Brings the copy up to date unless it is fresh: "recent" is at most 5 s old, "newest" and "now" ask D1 in any case.
   * When D1 does not answer, "recent" and "newest" take a copy at most 60 s old, and "now" takes none. False: there is
   * no copy that may be trusted.
   */
  ensure(nowMs: number, freshness: "recent" | "newest" | "now"): Promise<boolean>;
  /** The key that verifies; one that is not known is looked for in D1, once a second. */
  verifyKey(kid: string, alg: SigningAlg, nowMs: number): Promise<CryptoKey | undefined>;
  isRevoked(token: Revocable): boolean;
  /** The key that signs now; made at the platform's first token of its kind. */
  signingKey(nowMs: number, alg: SigningAlg): Promise<{ readonly kid: string; readonly key: CryptoKey }>;
  /** True when the copy should be brought up to date beside a request that does not wait for it. */
  wantsRefresh(nowMs: number): boolean;
  /** The public keys, newest first, of every algorithm: what is missing is made. */
  publicKeys(nowMs: number): Promise<readonly PublicJwk[]>;
  /** Something was revoked by another statement: the next check asks D1. */
  markStale(): void;
  /**
   * Ends tokens, grants or sessions everywhere, and in this isolate at once; with what is written in the same
   * transaction.
   */
  revoke(added: readonly NewRevocation[], beside: readonly D1PreparedStatement[]): Promise<void>;
  /** To stand beside an `end` of many tokens (trust-store.ts). */
  collapseStatements: TrustStore["collapseStatements"];
}

/** What a token says that revocations are about. */
export interface IssuedToken extends Principal {
  /** When the records of client and tenant that decided about it were read, by the database's clock. */
  readonly recordsAsOfMs: number;
  /** When the user's were, which are read each time, and so after a change that the others do not show yet. */
  readonly userAsOfMs: number;
}

export type Revocable = Pick<
  IssuedToken,
  "tokenId" | "grantId" | "sessionId" | "clientId" | "tenant" | "user" | "recordsAsOfMs" | "userAsOfMs"
>;

/** Contract 2.1; the ages for signing and the wait are ours. */
const TRUST_AGE = { maxMs: 5_000, withoutD1Ms: 60_000, unknownKeyMs: 1_000, wantedMs: 60_000 } as const;
/** An isolate may sign by a copy as old as this: for so long it goes on with a key that lost its turn. */
export const SIGNING_COPY_MS = 600_000;
/** D1 that hangs is D1 that does not answer. */
const D1_WAIT_MS = 5_000;

interface Key extends SigningKeyRow {
  /** Absent where this version does not know the algorithm: the key is published and nothing else here. */
  readonly verify: CryptoKey | undefined;
  sign?: CryptoKey;
}

/** `makeFirstKey` makes an algorithm's first key unless there is one. */
export function createTrust(
  store: TrustStore,
  makeFirstKey: (alg: SigningAlg, nowMs: number) => Promise<void>,
  sealer: Sealer,
  onFault: (thrown: unknown) => void,
): Trust {
  const keys = new Map<string, Key>();
  const revoked = new Map<string, Revocation>();
  let loadedAtMs = Number.NEGATIVE_INFINITY;
  let lastSeq = 0;
  let refreshesBegun = 0;
  let lastLanded = 0;
  /** Counts changes made beside this copy; a refresh settles those that came before it began. */
  let changes = 0;
  let settledChanges = 0;

  /** A clock that was set back makes the copy old, not fresh for as long as it was set back. */
  const isWithin = (ageMs: number, nowMs: number): boolean => Math.abs(nowMs - loadedAtMs) <= ageMs;

  async function refresh(nowMs: number): Promise<void> {
    const number = ++refreshesBegun;
    const changesSeen = changes;
    const update = await withTimeout(D1_WAIT_MS, store.readUpdate(lastSeq, nowMs));
    for (const row of update.keys) {
      const verify = keys.has(row.kid) ? undefined : await importVerifyKey(row);
      // Another refresh may have brought it meanwhile, and its private half may be open already.
      if (!keys.has(row.kid)) keys.set(row.kid, { ...row, verify });
    }
    update.revocations.forEach(remember);
    lastSeq = Math.max(lastSeq, update.revocations.at(-1)?.seq ?? 0);
    settledChanges = Math.max(settledChanges, changesSeen);
    if (number < lastLanded) return;
    lastLanded = number;
    loadedAtMs = nowMs;
    const published = new Set(update.keys.map((row) => row.kid));
    for (const kid of keys.keys()) if (!published.has(kid)) keys.delete(kid);
    for (const [name, row] of revoked) if (row.expiresSec * 1000 <= nowMs) revoked.delete(name);
  }

  function remember(row: Revocation): void {
    const name = revocationKey(row.kind, row.key);
    if ((revoked.get(name)?.seq ?? -1) >= row.seq) return;
    revoked.set(name, row);
    // What a client's tokens' own rows say, its one row says too (trust-store.ts, boundStatements).
    if (row.kind !== "client") return;
    for (const [other, { client, seq }] of revoked) if (client === row.key && seq < row.seq) revoked.delete(other);
  }

  /** Two isolates may both find none: the database keeps the first, and both read it back. */
  async function signerNow(alg: SigningAlg, nowMs: number): Promise<Key> {
    const known = selectSigner(keys.values(), alg, nowMs);
    if (known !== undefined) return known;
    await makeFirstKey(alg, nowMs);
    await refresh(nowMs);
    const made = selectSigner(keys.values(), alg, nowMs);
    if (made === undefined) throw new Error("no signing key after one was made");
    return made;
  }

  const trust: Trust = {
    async ensure(nowMs, freshness) {
      if (freshness === "recent" && settledChanges === changes && isWithin(TRUST_AGE.maxMs, nowMs)) return true;
      try {
        await refresh(nowMs);
        return true;
      } catch (thrown) {
        onFault(thrown);
        return freshness !== "now" && isWithin(TRUST_AGE.withoutD1Ms, nowMs);
      }
    },

    async verifyKey(kid, alg, nowMs) {
      // Made in another isolate after this copy was read, perhaps: a good token must not be refused. But anybody can send
      // a kid that nobody knows, so who comes within a second of the last look waits, and one look serves all who wait.
      const mayHaveCome = (): boolean => !keys.has(kid) && loadedAtMs < nowMs;
      const waitMs = mayHaveCome() && isWithin(TRUST_AGE.unknownKeyMs, nowMs) ? TRUST_AGE.unknownKeyMs : 0;
      if (waitMs > 0) await pause(waitMs);
      if (mayHaveCome()) await trust.ensure(nowMs + waitMs, "now");
      const key = keys.get(kid);
      return key?.alg === alg ? key.verify : undefined;
    },

    isRevoked(token) {
      if (revoked.size === 0) return false;
      const { recordsAsOfMs, userAsOfMs } = token;
      const about = [
        ["token", token.tokenId, recordsAsOfMs],
        ["grant", token.grantId, recordsAsOfMs],
        ["grant", accessKey(token.user, token.clientId), userAsOfMs],
        ["session", token.sessionId, recordsAsOfMs],
        ["client", token.clientId, recordsAsOfMs],
        ["tenant", token.tenant, recordsAsOfMs],
        ["user", token.user, userAsOfMs],
      ] as const;
      return about.some(([kind, key, asOfMs]) => (revoked.get(revocationKey(kind, key))?.untilMs ?? -1) >= asOfMs);
    },

    async signingKey(nowMs, alg) {
      if (!isWithin(SIGNING_COPY_MS, nowMs)) await refresh(nowMs);
      const key = await signerNow(alg, nowMs);
      key.sign ??= await openPrivateKey(key, sealer);
      return { kid: key.kid, key: key.sign };
    },

    wantsRefresh: (nowMs) => !isWithin(TRUST_AGE.wantedMs, nowMs),

    async publicKeys(nowMs) {
      // Made by whoever asks first, so that a verifier finds every kind from the start; later asking only reads.
      for (const alg of SIGNING_ALGS) await signerNow(alg, nowMs);
      return [...keys.values()].sort((a, b) => b.createdAtMs - a.createdAtMs).map((key) => key.publicJwk);
    },

    markStale() {
      changes += 1;
    },

    collapseStatements: store.collapseStatements,

    async revoke(added, beside) {
      try {
        (await store.revoke(added, beside)).forEach(remember);
      } catch (thrown) {
        // It may have been done.
        trust.markStale();
        throw thrown;
      }
    },
  };
  return trust;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

const revocationKey = (kind: Revocation["kind"], key: string): string => `${kind}:${key}`;
