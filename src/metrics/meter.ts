import type { Clock } from "../platform/runtime/clock.ts";
import { describeError, type Log } from "../platform/runtime/log.ts";
import { BOUNDS, type Meter, type MeteredBy, type MetricName } from "../platform/ports/metrics.ts";
import { addTo, EVERYBODY, getOrMake, newSeries, newTenants, seriesName, type ByMinute } from "./model/counts.ts";
import { LIMITS, startOf } from "./model/limits.ts";

/** Sends a batch of one isolate. A repeat with the same number counts once. */
export type Send = (number: number, counts: ByMinute) => Promise<void>;

export interface MeterDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly send: Send;
  /** Waits until the last counts are due. Undefined if they wait for the next request. */
  readonly wait: ((ms: number) => Promise<void>) | undefined;
}

export interface FlushingMeter extends Meter {
  /** Sends all counts now, unless a send is under way. Never throws. */
  flush(): Promise<void>;
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
  let counted: ByMinute = new Map();
  let tenants = new Set<string>();
  let batch: { readonly number: number; readonly counts: ByMinute } | undefined;
  let sent = 0;
  let lastFlushMs = Number.NEGATIVE_INFINITY;
  let sendingSinceMs = Number.NEGATIVE_INFINITY;
  let waitingSinceMs = Number.NEGATIVE_INFINITY;

  function count(tenant: string | undefined, name: string, value: number): void {
    const minute = startOf("minute", clock.nowMs());
    const byTenant = getOrMake(counted, minute, newTenants);
    addTo(getOrMake(byTenant, EVERYBODY, newSeries), name, value);
    if (tenant === undefined || tenant === "") return;
    if (!tenants.has(tenant) && tenants.size >= LIMITS.batchTenants) return;
    tenants.add(tenant);
    addTo(getOrMake(byTenant, tenant, newSeries), name, value);
  }
  const countOne = (name: MetricName, { service, label, tenant }: MeteredBy, value: number): void =>
    count(tenant, seriesName(name, service, label), value);

  async function sendBatch(): Promise<void> {
    const sending = batch;
    if (sending === undefined) return;
    await send(sending.number, sending.counts);
    if (batch === sending) batch = undefined;
  }

  /** Makes a batch of all counts, unless one is under way. */
  function fillBatch(): void {
    if (batch !== undefined || counted.size === 0) return;
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

  async function flush(): Promise<void> {
    if (isRecent(sendingSinceMs, LIMITS.sendMs)) return;
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
  }

  return {
    add: (name, by, amount = 1) => countOne(name, by, amount),
    peak: countOne,
    observe(name, { service, tenant }, value) {
      const bound = BOUNDS.find((upper) => value <= upper);
      count(tenant, seriesName(name, service, String(bound ?? "inf")), 1);
      count(tenant, seriesName(name, service, "sum"), value);
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
