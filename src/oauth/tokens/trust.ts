import { StoreUnavailable } from "../../platform/storage/database.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import { noLocationCache, type LocationCache } from "../../platform/copies/location-cache.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";
import { selectSigner } from "./key-life.ts";
import { isRevokedBy, type Revocable } from "./issued-token.ts";
import type { PublicJwk } from "./key-store.ts";
import { RevocationTable } from "./revocation-table.ts";
import { importVerifyKey, openPrivateKey, SIGNING_ALGS, type SigningAlg } from "./signing-key.ts";
import { createTrustSource, type TrustFrom, type TrustReading } from "./trust-source.ts";
import type { NewRevocation, Revocation, SigningKeyRow, TrustStore } from "./trust-store.ts";

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
/** More rows than D1 ever has, at 20 to 30 bytes each. */
const COPIED_ROWS = 500_000;
const PURPOSE = "keys and revocations";
/**
 * Parallel reads of D1 for requests that need a read which began after their arrival, so they cannot share older ones.
 */
const READS_AT_ONCE = 2;

interface Key extends SigningKeyRow {
  /** Absent if this version does not know the algorithm. Such a key is only published. */
  readonly verify: CryptoKey | undefined;
  sign?: CryptoKey;
}

export type Trust = ReturnType<typeof createTrust>;

/**
 * This isolate's copy of the signing keys and of the revocations.
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
 * and if that one is cancelled, the others would wait for ever. A late response undoes nothing, because rows have
 * numbers and refreshes are counted.
 *
 * Each refresh reads the generation of the database. It changes with a restore, and then the isolate reads everything
 * again: numbers may have been given twice, and known revocations may not exist any more.
 *
 * `makeFirstKey`: makes an algorithm's first key unless there is one. `onOverfull`: collapses revocations in D1.
 * `onRestored`: drops other copies of the database in this isolate.
 */
export function createTrust(
  store: TrustStore,
  makeFirstKey: (alg: SigningAlg, nowMs: number) => Promise<void>,
  sealer: Sealer,
  isolate: Isolate,
  onFault: (thrown: unknown) => void,
  onOverfull: () => Promise<void> = async () => {},
  location: LocationCache = noLocationCache,
  onRestored: () => void = () => {},
) {
  const keys = new Map<string, Key>();
  const hashKey = { low: Math.floor(isolate.chance() * 2 ** 32), high: Math.floor(isolate.chance() * 2 ** 32) };
  let revoked = new RevocationTable(hashKey);
  let loadedAtMs = Number.NEGATIVE_INFINITY;
  let lastSeq = 0;
  let generation: string | undefined;
  /** Numbers of the last refreshes. The first is the newest that every isolate of the location should have by now. */
  const marks: { readonly atMs: number; readonly seq: number }[] = [];
  const sources = createTrustSource(store, location);
  let refreshesBegun = 0;
  let lastLanded = 0;
  /** The number of changes by other statements. A refresh includes those that came before it began. */
  let changes = 0;
  let settledChanges = 0;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let copyingSinceMs = Number.NEGATIVE_INFINITY;
  const attempts = isolate.database;
  const aheadMs = TRUST_AGE.aheadMs + TRUST_AGE.aheadSpreadMs * isolate.chance();

  /** If the clock was set back, the copy counts as old. */
  const isWithin = (ageMs: number, nowMs: number): boolean => Math.abs(nowMs - loadedAtMs) <= ageMs;

  async function refresh(nowMs: number, from: TrustFrom): Promise<"landed" | "none" | "behind"> {
    const number = ++refreshesBegun;
    const changesSeen = changes;
    const known = { lastSeq, earlierSeq: marks[0]?.seq ?? lastSeq, loadedAtMs, generation };
    const add = (rows: readonly Revocation[]): void => {
      for (const row of rows) revoked.add(row, nowMs);
      lastSeq = Math.max(lastSeq, rows.at(-1)?.seq ?? 0);
    };
    const reading = await sources.read(known, nowMs, from, add);
    if (typeof reading === "string") return reading;
    const { update, readAtMs, isFromD1 } = reading.isOther ? await readAnew(nowMs) : reading;
    generation = update.generation ?? "";
    for (const row of update.keys) {
      const verify = keys.has(row.kid) ? undefined : await importVerifyKey(row);
      // A parallel refresh may have added the key, and may have opened its private half.
      if (!keys.has(row.kid)) keys.set(row.kid, { ...row, verify });
    }
    if (isFromD1) {
      settledChanges = Math.max(settledChanges, changesSeen);
      if (number < lastLanded) return "landed";
      lastLanded = number;
    } else if (readAtMs <= loadedAtMs) return "landed";
    loadedAtMs = readAtMs;
    marks.push({ atMs: nowMs, seq: lastSeq });
    while (marks[1] !== undefined && Math.abs(nowMs - marks[1].atMs) >= EARLIER_MS) marks.shift();
    const published = new Set(update.keys.map((row) => row.kid));
    for (const kid of keys.keys()) if (!published.has(kid)) keys.delete(kid);
    if (revoked.size > COPIED_ROWS) startAnew();
    return "landed";
  }

  /** Reads everything again after a restore of the database. The old copy stays until then. */
  async function readAnew(nowMs: number): Promise<TrustReading> {
    const fresh = new RevocationTable(hashKey);
    let freshSeq = 0;
    const nothing = { lastSeq: 0, earlierSeq: 0, loadedAtMs: Number.NEGATIVE_INFINITY, generation: undefined };
    // Reads D1, since the location's news may be from before the restore.
    const reading = await sources.read(nothing, nowMs, "D1", (rows) => {
      for (const row of rows) fresh.add(row, nowMs);
      freshSeq = Math.max(freshSeq, rows.at(-1)?.seq ?? 0);
    });
    if (typeof reading === "string") throw new Error("D1 was to be asked");
    startAnew();
    revoked = fresh;
    lastSeq = freshSeq;
    // A revocation that this isolate made meanwhile may be missing.
    changes += 1;
    onRestored();
    return reading;
  }

  /** Drops the copied rows, when D1 has collapsed them to fewer (revocation-collapse-store.ts). */
  function startAnew(): void {
    revoked = new RevocationTable(hashKey);
    marks.length = 0;
    lastSeq = 0;
    loadedAtMs = Number.NEGATIVE_INFINITY;
  }

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

  const hasRecent = (ageMs: number, nowMs: number): boolean => settledChanges === changes && isWithin(ageMs, nowMs);

  /** Reads D1. Returns false if it does not respond in time. */
  async function ask(nowMs: number): Promise<boolean> {
    try {
      await attempts.run(PURPOSE, nowMs, () => refresh(nowMs, "D1"));
      return true;
    } catch (thrown) {
      onFault(thrown);
      return false;
    }
  }

  /** False while this isolate knows of a change that it has not read, which the location's copy may lack. */
  const mayCopy = (): boolean => location !== noLocationCache && changes === settledChanges;

  /** Takes the location's copy, or reads D1 unless another isolate of the location does. */
  async function copyOrAsk(nowMs: number): Promise<"landed" | "failed" | "wait"> {
    copyingSinceMs = nowMs;
    try {
      if (mayCopy()) {
        const found = await refresh(nowMs, "location");
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
      if ((await refresh(nowMs, "location")) === "landed") attempts.noteAnswer(loadedAtMs, isolate.nowMs());
    };
    isolate.keepAlive(look());
  }

  async function ensureRecent(nowMs: number): Promise<boolean> {
    if (!hasRecent(aheadMs, nowMs)) lookBeside(nowMs);
    if (hasRecent(TRUST_AGE.maxMs, nowMs) || (attempts.isFailing(nowMs) && isWithin(TRUST_AGE.withoutD1Ms, nowMs))) {
      if (!hasRecent(aheadMs, nowMs) && !isRefreshing(nowMs) && attempts.mayAskBeside(nowMs))
        isolate.keepAlive(copyOrAsk(nowMs));
      return true;
    }
    const landed = await wait(nowMs, async (atMs) => {
      if (hasRecent(TRUST_AGE.maxMs, atMs)) return true;
      if (!isRefreshing(atMs) && attempts.mayAsk(atMs)) {
        const outcome = await copyOrAsk(atMs);
        if (outcome !== "wait") return outcome === "landed";
      }
      return attempts.isFailing(atMs) ? false : "wait";
    });
    // After this time, requests do not wait for the other isolate any more.
    const endMs = nowMs + attempts.waitMs;
    if (!landed && !attempts.isFailing(endMs)) attempts.noteLate(PURPOSE, nowMs, endMs);
    return landed || isWithin(TRUST_AGE.withoutD1Ms, nowMs);
  }

  /** Waits for a read of D1 that began after this call, its own or another's. */
  async function ensureNow(nowMs: number): Promise<boolean> {
    const begun = refreshesBegun;
    return wait(nowMs, (atMs) => {
      if (lastLanded > begun) return true;
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
    if (freshness === "newest" && isHopeless && isWithin(TRUST_AGE.withoutD1Ms, nowMs)) return true;
    return (await ensureNow(nowMs)) || (freshness === "newest" && isWithin(TRUST_AGE.withoutD1Ms, nowMs));
  }

  /** Another statement revoked something, so the next check asks D1. */
  function markStale(): void {
    changes += 1;
  }

  return {
    ensure,
    /** Begins to update an old copy. Who needs it awaits `ensure`. */
    begin(nowMs: number): void {
      if (!hasRecent(TRUST_AGE.maxMs, nowMs) && !isRefreshing(nowMs)) isolate.keepAlive(ensureRecent(nowMs));
    },
    /** True if a token that names the key is checked without a read of D1 for the key. */
    knowsKey: (kid: string): boolean => keys.has(kid),
    /** True if no check has to wait for D1. */
    isRecent: (nowMs: number): boolean => hasRecent(TRUST_AGE.maxMs, nowMs),
    markStale,

    /**
     * The key that verifies. An unknown one is looked up in D1, because another isolate may have made it. Anybody can
     * send an unknown kid, so requests within a second of the last read wait, and one read serves all of them.
     */
    async verifyKey(kid: string, alg: SigningAlg, nowMs: number): Promise<CryptoKey | undefined> {
      const mayExist = (): boolean => !keys.has(kid) && loadedAtMs < nowMs;
      const waitMs = mayExist() && isWithin(TRUST_AGE.unknownKeyMs, nowMs) ? TRUST_AGE.unknownKeyMs : 0;
      if (waitMs > 0) await isolate.pause(waitMs);
      if (mayExist()) await ensure(nowMs + waitMs, "now");
      const key = keys.get(kid);
      return key?.alg === alg ? key.verify : undefined;
    },

    isRevoked: (token: Revocable): boolean => isRevokedBy(revoked, token),

    /** The key that signs now. Made with the platform's first token of its kind. */
    async signingKey(nowMs: number, alg: SigningAlg): Promise<{ readonly kid: string; readonly key: CryptoKey }> {
      if (!isWithin(SIGNING_COPY_MS, nowMs) && !(await ensure(nowMs, "recent")))
        throw new StoreUnavailable("the signing keys were not read");
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
        const result = await store.revoke(added, beside);
        for (const row of result.added) revoked.add(row, isolate.nowMs());
        if (result.isOverfull) isolate.keepAlive(onOverfull());
      } catch (thrown) {
        // The statement may have run.
        markStale();
        throw thrown;
      }
    },
  };
}

/** An isolate that is further behind reads D1 itself. */
const EARLIER_MS = 10_000;
/** The location's cache is looked at this often while D1 does not respond. */
const LOOK_EVERY_MS = 1_000;
/** A request that takes longer for the location's copy may have been ended by the runtime. */
const COPYING_MS = 1_000;
/** The pauses between two looks for what another request reads. */
const LOOK: { readonly firstMs: number; readonly maxMs: number } = { firstMs: 5, maxMs: 50 };
