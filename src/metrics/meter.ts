import type { Clock } from "../platform/runtime/clock.ts";
import { describeError, type Log } from "../platform/runtime/log.ts";
import { BOUNDS, type Meter } from "../platform/ports/metrics.ts";
import {
  addUp,
  createSeriesNames,
  EVERYBODY,
  getOrMake,
  newSeries,
  newTenants,
  type ByMinute,
  type ByTenant,
  type Series,
} from "./model/counts.ts";
import { LIMITS, startOf } from "./model/limits.ts";

/** Counts without a tenant, and those of tenants that the batch has no room for. No tenant has this name. */
const NOBODY = "";

/** Sends a batch of one isolate. A repeat with the same number counts once. */
type Send = (number: number, counts: ByMinute) => Promise<void>;

export interface MeterDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly send: Send;
  /** Waits until the last counts are due. Undefined if they wait for the next request. */
  readonly wait: ((ms: number) => Promise<void>) | undefined;
}

export interface FlushingMeter extends Meter {
  /** Sends all counts now. Returns false if a send is under way. Never throws. */
  flush(): Promise<boolean>;
}

/**
 * The counts of one isolate, in memory until they are sent.
 *
 *   counted ── an answer, 10 s after the last send ──→ being sent, under a number ── taken ──→ (nothing)
 *                                                          ↑ sent again, same number ── failed ──┘
 *
 * - One batch is under way at a time. It keeps its number until it is taken, so after a lost response nothing counts
 *   twice.
 * - A request sends after its response. The runtime may end it, so another request repeats a send that takes too long.
 * - The last counts of a burst are sent by a request that waits in the background until they are due. If the isolate
 *   ends before, they are lost.
 */
export function createMeter({ clock, log, send, wait }: MeterDeps): FlushingMeter {
  const nameOf = createSeriesNames();
  /** By tenant and `NOBODY`. The sums of everybody are made with the batch, which halves the cost of a count. */
  let counted: ByMinute = new Map();
  let tenants = new Set<string>();
  let batch: { readonly number: number; readonly counts: ByMinute } | undefined;
  let sent = 0;
  let lastFlushMs = Number.NEGATIVE_INFINITY;
  let sendingSinceMs = Number.NEGATIVE_INFINITY;
  let waitingSinceMs = Number.NEGATIVE_INFINITY;

  function seriesOf(tenant: string = NOBODY): Series {
    const byTenant = getOrMake(counted, startOf("minute", clock.nowMs()), newTenants);
    const known = byTenant.get(tenant);
    if (known !== undefined) return known;
    if (tenant !== NOBODY && !tenants.has(tenant)) {
      if (tenants.size >= LIMITS.batchTenants) return getOrMake(byTenant, NOBODY, newSeries);
      tenants.add(tenant);
    }
    return getOrMake(byTenant, tenant, newSeries);
  }

  function sum(series: Series, name: string, value: number): void {
    series.set(name, (series.get(name) ?? 0) + value);
  }

  async function sendBatch(): Promise<void> {
    const sending = batch;
    if (sending === undefined) return;
    await send(sending.number, sending.counts);
    if (batch === sending) batch = undefined;
  }

  /** Makes a batch of all counts, unless one is under way. */
  function fillBatch(): void {
    if (batch !== undefined || counted.size === 0) return;
    for (const byTenant of counted.values()) sumUp(byTenant);
    batch = { number: ++sent, counts: counted };
    counted = new Map();
    tenants = new Set();
  }

  /** Drops the oldest minutes. They pile up while collectors do not answer or a send hangs. */
  function forget(): void {
    for (const minute of counted.keys()) {
      if (counted.size <= LIMITS.heldMinutes) return;
      counted.delete(minute);
    }
  }

  const isRecent = (sinceMs: number, lengthMs: number): boolean => Math.abs(clock.nowMs() - sinceMs) < lengthMs;

  const isEmpty = (): boolean => batch === undefined && counted.size === 0;
  const isDue = (): boolean =>
    !isEmpty() && !isRecent(lastFlushMs, tenants.size >= LIMITS.batchTenants ? LIMITS.fullFlushMs : LIMITS.flushMs);

  async function flush(): Promise<boolean> {
    if (isRecent(sendingSinceMs, LIMITS.sendMs)) return false;
    const startMs = clock.nowMs();
    sendingSinceMs = startMs;
    lastFlushMs = startMs;
    if (batch !== undefined) forget();
    try {
      if (batch !== undefined) await sendBatch();
      fillBatch();
      await sendBatch();
    } catch (thrown) {
      log.warn("metrics not sent", { error: describeError(thrown) });
    } finally {
      if (sendingSinceMs === startMs) sendingSinceMs = Number.NEGATIVE_INFINITY;
    }
    return true;
  }

  return {
    add(name, { service, label, tenant }, amount = 1) {
      sum(seriesOf(tenant), nameOf(name, service, label), amount);
    },
    peak(name, { service, label, tenant }, value) {
      const series = seriesOf(tenant);
      const named = nameOf(name, service, label);
      series.set(named, Math.max(series.get(named) ?? value, value));
    },
    observe(name, { service, tenant }, value) {
      const series = seriesOf(tenant);
      const bound = BOUNDS.find((upper) => value <= upper);
      sum(series, nameOf(name, service, String(bound ?? "inf")), 1);
      sum(series, nameOf(name, service, "sum"), value);
    },
    flush,
    flushIfDue(waitUntil) {
      if (isDue()) waitUntil(flush());
    },
    flushBeside(waitUntil) {
      if (isDue()) return waitUntil(flush());
      if (isEmpty() || wait === undefined || isRecent(waitingSinceMs, 2 * LIMITS.flushMs)) return;
      waitingSinceMs = clock.nowMs();
      waitUntil(
        wait(LIMITS.flushMs).then(() => {
          waitingSinceMs = Number.NEGATIVE_INFINITY;
          return flush();
        }),
      );
    },
  };
}

/** Puts the sums of everybody in the place of the counts of nobody. */
function sumUp(byTenant: ByTenant): void {
  const everybody = newSeries();
  for (const series of byTenant.values()) addUp(everybody, series);
  byTenant.delete(NOBODY);
  byTenant.set(EVERYBODY, everybody);
}
