import type { Principal } from "../../http/auth.ts";
import type { Sealer } from "../../platform/seal.ts";
import { withTimeout } from "../../platform/with-timeout.ts";
import { selectSigner } from "./key-life.ts";
import type { PublicJwk } from "./key-store.ts";
import { importVerifyKey, openPrivateKey, SIGNING_ALGS, type SigningAlg } from "./signing-key.ts";
import { accessKey, type NewRevocation, type Revocation, type SigningKeyRow, type TrustStore } from "./trust-store.ts";

/** The part of a token that revocations refer to. */
export interface IssuedToken extends Principal {
  /** The database's time when the records of client and tenant were read. */
  readonly recordsAsOfMs: number;
  /** The read of the user's records. They are read each time, so they may show a change that the others do not. */
  readonly userAsOfMs: number;
}

export type Revocable = Pick<
  IssuedToken,
  "tokenId" | "grantId" | "sessionId" | "clientId" | "tenant" | "user" | "recordsAsOfMs" | "userAsOfMs"
>;

/** The ages of a copy: for checks, while D1 does not respond, for unknown keys, and before it should be updated. */
const TRUST_AGE = { maxMs: 5_000, withoutD1Ms: 60_000, unknownKeyMs: 1_000, wantedMs: 60_000 } as const;
/** The oldest copy that an isolate signs by. It goes on with a replaced key for this long. */
export const SIGNING_COPY_MS = 600_000;
/** A longer wait counts as no response. */
const D1_WAIT_MS = 5_000;

interface Key extends SigningKeyRow {
  /** Absent if this version does not know the algorithm. Such a key is only published. */
  readonly verify: CryptoKey | undefined;
  sign?: CryptoKey;
}

export type Trust = ReturnType<typeof createTrust>;

/**
 * This isolate's copy of the signing keys and of the revocations.
 *
 *   empty ──refresh──▶ fresh ──5 s──▶ old ──refresh──▶ fresh
 *                                      └── D1 does not respond: used until 60 s old, then unavailable
 *
 * A refresh reads every key and the revocations since the last one, in one statement. Requests share values only:
 * parallel refreshes do the same work, and none waits for another's promise. A late response undoes nothing, because
 * rows carry a number and refreshes are counted.
 *
 * `makeFirstKey`: makes an algorithm's first key unless there is one.
 */
export function createTrust(
  store: TrustStore,
  makeFirstKey: (alg: SigningAlg, nowMs: number) => Promise<void>,
  sealer: Sealer,
  onFault: (thrown: unknown) => void,
) {
  const keys = new Map<string, Key>();
  const revoked = new Map<string, Revocation>();
  let loadedAtMs = Number.NEGATIVE_INFINITY;
  let lastSeq = 0;
  let refreshesBegun = 0;
  let lastLanded = 0;
  /** Counts changes made by other statements. A refresh settles those from before it began. */
  let changes = 0;
  let settledChanges = 0;

  /** If the clock was set back, the copy counts as old. */
  const isWithin = (ageMs: number, nowMs: number): boolean => Math.abs(nowMs - loadedAtMs) <= ageMs;

  async function refresh(nowMs: number): Promise<void> {
    const number = ++refreshesBegun;
    const changesSeen = changes;
    const update = await withTimeout(D1_WAIT_MS, store.readUpdate(lastSeq, nowMs));
    for (const row of update.keys) {
      const verify = keys.has(row.kid) ? undefined : await importVerifyKey(row);
      // A parallel refresh may have added the key, and may have opened its private half.
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
    // The client's row includes the rows of its single tokens (trust-store.ts, collapseStatements).
    if (row.kind !== "client") return;
    for (const [other, { client, seq }] of revoked) if (client === row.key && seq < row.seq) revoked.delete(other);
  }

  /** Two isolates may find no key. The database keeps the first one, and both read it. */
  async function signerNow(alg: SigningAlg, nowMs: number): Promise<Key> {
    const known = selectSigner(keys.values(), alg, nowMs);
    if (known !== undefined) return known;
    await makeFirstKey(alg, nowMs);
    await refresh(nowMs);
    const made = selectSigner(keys.values(), alg, nowMs);
    if (made === undefined) throw new Error("no signing key after one was made");
    return made;
  }

  /**
   * Updates the copy unless it is fresh. "recent": at most 5 s old. "newest" and "now": asks D1 in any case. If D1 does
   * not respond, "recent" and "newest" accept a copy at most 60 s old, "now" accepts none. Returns false if there is no
   * copy to be trusted.
   */
  async function ensure(nowMs: number, freshness: "recent" | "newest" | "now"): Promise<boolean> {
    if (freshness === "recent" && settledChanges === changes && isWithin(TRUST_AGE.maxMs, nowMs)) return true;
    try {
      await refresh(nowMs);
      return true;
    } catch (thrown) {
      onFault(thrown);
      return freshness !== "now" && isWithin(TRUST_AGE.withoutD1Ms, nowMs);
    }
  }

  /** Another statement revoked something, so the next check asks D1. */
  function markStale(): void {
    changes += 1;
  }

  return {
    ensure,
    markStale,
    /** To run after `revoke` (trust-store.ts). */
    collapseStatements: store.collapseStatements,

    /**
     * The key that verifies. An unknown one is looked up in D1, because another isolate may have made it. Anybody can
     * send an unknown kid, so requests within a second of the last read wait, and one read serves all of them.
     */
    async verifyKey(kid: string, alg: SigningAlg, nowMs: number): Promise<CryptoKey | undefined> {
      const mayExist = (): boolean => !keys.has(kid) && loadedAtMs < nowMs;
      const waitMs = mayExist() && isWithin(TRUST_AGE.unknownKeyMs, nowMs) ? TRUST_AGE.unknownKeyMs : 0;
      if (waitMs > 0) await pause(waitMs);
      if (mayExist()) await ensure(nowMs + waitMs, "now");
      const key = keys.get(kid);
      return key?.alg === alg ? key.verify : undefined;
    },

    isRevoked(token: Revocable): boolean {
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

    /** The key that signs now. Made with the platform's first token of its kind. */
    async signingKey(nowMs: number, alg: SigningAlg): Promise<{ readonly kid: string; readonly key: CryptoKey }> {
      if (!isWithin(SIGNING_COPY_MS, nowMs)) await refresh(nowMs);
      const key = await signerNow(alg, nowMs);
      key.sign ??= await openPrivateKey(key, sealer);
      return { kid: key.kid, key: key.sign };
    },

    /** True if the copy should be updated after the response. */
    wantsRefresh: (nowMs: number): boolean => !isWithin(TRUST_AGE.wantedMs, nowMs),

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
        (await store.revoke(added, beside)).forEach(remember);
      } catch (thrown) {
        // The statement may have run.
        markStale();
        throw thrown;
      }
    },
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

const revocationKey = (kind: Revocation["kind"], key: string): string => `${kind}:${key}`;
