import { Attempts } from "../platform/copies/attempts.ts";
import { FreshCache } from "../platform/copies/fresh-cache.ts";
import type { Isolate } from "../platform/copies/isolate.ts";
import type { Clock } from "../platform/runtime/clock.ts";
import { describeError, type Log } from "../platform/runtime/log.ts";
import { withTimeout } from "../platform/runtime/with-timeout.ts";
import type { MetricsCollector } from "./collector.do.ts";
import type { FlushingMeter } from "./meter.ts";
import { EVERYBODY, type Series } from "./model/counts.ts";
import { LIMITS, type Step } from "./model/limits.ts";
import { collectorNames, placeOf, tenantStoreNames } from "./model/places.ts";
import type { MetricsStore } from "./store.do.ts";
import { largest, type TenantValue, type TopAsked } from "./top.ts";

export interface ReaderDeps {
  readonly clock: Clock;
  readonly isolate: Isolate;
  readonly log: Log;
  readonly meter: FlushingMeter;
  readonly collectors: DurableObjectNamespace<MetricsCollector>;
  readonly stores: DurableObjectNamespace<MetricsStore>;
}

/** Counts by the first millisecond of their step, in that order. */
export type Rows = ReadonlyMap<number, Series>;

/** Reads the stored counts, after this isolate and the collectors have passed on the counts that they hold. */
export interface MetricsReader {
  /** The counts of a tenant, or of everybody if `tenant` is undefined. */
  rows(tenant: string | undefined, step: Step, fromMs: number, toMs: number): Promise<Rows>;
  /** The sums of everybody since the beginning. */
  totals(): Promise<Series>;
  top(asked: TopAsked): Promise<readonly TenantValue[]>;
}

/** Pause before the next look at whether a send is over. */
const SENDING_MS = 10;

export function createReader({ clock, isolate, log, meter, collectors, stores }: ReaderDeps): MetricsReader {
  const { freshMs } = LIMITS;
  const passed = new FreshCache<"", true>(
    { ttlMs: freshMs, aheadMs: freshMs, maxEntries: 1 },
    isolate,
    new Attempts(isolate),
  );

  async function passOn(): Promise<true> {
    await Promise.all(
      collectorNames().map(async (name) => {
        try {
          await collectors.getByName(name).passOn();
        } catch (thrown) {
          log.warn("metrics not passed on", { collector: name, error: describeError(thrown) });
        }
      }),
    );
    return true;
  }

  /** Sends the counts of this isolate. A send of another request has to land first, since it has taken the counts. */
  async function send(): Promise<void> {
    for (let waitedMs = 0; !(await meter.flush()) && waitedMs < freshMs; waitedMs += SENDING_MS)
      await isolate.pause(SENDING_MS);
  }

  /**
   * Makes the stored numbers at most some seconds old. Reads at the same time wait for one of them. If a collector does
   * not answer, the numbers are older.
   */
  async function freshen(): Promise<void> {
    const sending = send();
    isolate.keepAlive(sending);
    await withTimeout(freshMs, sending).catch(() => undefined);
    await passed.get("", clock.nowMs(), () => passOn()).catch(() => undefined);
  }

  return {
    async rows(tenant = EVERYBODY, step, fromMs, toMs) {
      await freshen();
      const found = await stores.getByName(placeOf(tenant).store).read(tenant, step, fromMs, toMs);
      return new Map(found.map(({ atMs, counts }) => [atMs, toSeries(counts)]));
    },
    async top(asked) {
      await freshen();
      // Each tenant is in one object, so the first of all tenants are among the first of each object.
      const found = await Promise.all(tenantStoreNames().map((name) => stores.getByName(name).top(asked)));
      return largest(found.flat(), asked.limit);
    },
    async totals() {
      await freshen();
      return toSeries(await stores.getByName(placeOf(EVERYBODY).store).readTotals());
    },
  };
}

const toSeries = (counts: string): Series => new Map(Object.entries(JSON.parse(counts) as Record<string, number>));
