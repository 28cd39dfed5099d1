import type { Isolate } from "../../platform/copies/isolate.ts";
import { noLocationCache, type LocationCache } from "../../platform/copies/location-cache.ts";
import type { TrustCopy } from "./trust-copy.ts";
import type { TrustSource } from "./trust-source.ts";

/**
 * The ages of a copy: when a request begins a refresh beside its answer (and a random part of the spread later), for
 * checks, and while D1 does not respond.
 */
const TRUST_AGE = {
  aheadMs: 3_000,
  aheadSpreadMs: 1_000,
  maxMs: 5_000,
  withoutD1Ms: 60_000,
} as const;
const PURPOSE = "keys and revocations";
/**
 * Parallel reads of D1 for requests that need a read which began after their arrival, so they cannot share older ones.
 */
const READS_AT_ONCE = 2;

export interface TrustRefreshDeps {
  readonly copy: TrustCopy;
  readonly sources: TrustSource;
  readonly isolate: Isolate;
  readonly location: LocationCache;
  readonly onFault: (thrown: unknown) => void;
}

/**
 * When this isolate's copy of the signing keys and of the revocations (trust-copy.ts) is read again:
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
export function createTrustRefresh({ copy, sources, isolate, location, onFault }: TrustRefreshDeps) {
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let copyingSinceMs = Number.NEGATIVE_INFINITY;
  const attempts = isolate.database;
  const aheadMs = TRUST_AGE.aheadMs + TRUST_AGE.aheadSpreadMs * isolate.chance();

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
    isRecent: (nowMs: number): boolean => copy.hasRecent(TRUST_AGE.maxMs, nowMs),
    /** Begins to update an old copy. Who needs it awaits `ensure`. */
    begin(nowMs: number): void {
      if (!copy.hasRecent(TRUST_AGE.maxMs, nowMs) && !isRefreshing(nowMs)) isolate.keepAlive(ensureRecent(nowMs));
    },
  };
}

/** The location's cache is looked at this often while D1 does not respond. */
const LOOK_EVERY_MS = 1_000;
/** A request that takes longer for the location's copy may have been ended by the runtime. */
const COPYING_MS = 1_000;
/** The pauses between two looks for what another request reads. */
const LOOK: { readonly firstMs: number; readonly maxMs: number } = { firstMs: 5, maxMs: 50 };
