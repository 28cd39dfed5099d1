import { describeError, type Log } from "../platform/runtime/log.ts";
import { HOUR_MS, type Clock } from "../platform/runtime/clock.ts";
import { mapInParallel } from "../platform/runtime/parallel.ts";
import { withTimeout } from "../platform/runtime/with-timeout.ts";
import { SHARDS_AT_ONCE, type Shard, type Shards } from "../platform/storage/shards.ts";
import { bytesAndCount, bytesOf, type ShardSize, type SizeStore } from "./size-store.ts";

/** Our choice. Sizes grow slowly, and the transaction that creates a tenant counts it at once. */
const PERIOD_MS = HOUR_MS;
/** Our choice: the shards of one run. The next run measures the rest. */
const PAGE = 64;
/** Our choice: after this time a database or the metrics count as not answering. */
const PATIENCE_MS = 3_000;

/** The committed files of a shard and their bytes, from the media service. */
interface StoredFiles {
  readonly files: number;
  readonly bytes: number;
}

/** The status of a shard for operators. */
interface ShardStatus {
  readonly shard: number;
  readonly tenants: number;
  /** Committed files, and their bytes in the bucket; null: the shard does not answer. */
  readonly files: number | null;
  readonly storedBytes: number | null;
  /** Records of push subscriptions; null: the shard does not answer. */
  readonly pushSubscriptions: number | null;
  readonly databaseBytes: number;
  /** The time at which the size was measured; null: never. */
  readonly measuredAt: number | null;
  /** The time that the database took to answer; null: it did not answer. */
  readonly answerMs: number | null;
  /** Round trips to the database in the last hour; null: the metrics do not answer. */
  readonly roundTrips: number | null;
  /** The next new tenant gets this shard. */
  readonly isNext: boolean;
}

/** Ports to the services that count files, push subscriptions and round trips. */
interface StatusPorts {
  stored(shard: number): Promise<StoredFiles>;
  /** Counts records of push subscriptions as `n`. The result also has the size of the shard. */
  countPushSubscriptions(shard: number): D1PreparedStatement;
  /** Returns the round trips by shard. A shard without round trips may be missing. */
  roundTrips(nowMs: number): Promise<ReadonlyMap<number, number>>;
}

/**
 * Sizes of shards. The cron measures each shard once an hour and stores its size. The transaction that creates a tenant
 * reads the stored sizes (size-store.ts).
 */
export interface ShardSizes {
  /** Measures shards whose size is an hour old. If one does not answer, it measures the others first, then throws. */
  sweep(nowMs: number): Promise<void>;
  /** Asks every shard. For a shard that does not answer it returns the stored size. */
  status(ports: StatusPorts, nowMs: number): Promise<readonly ShardStatus[]>;
}

export function createShardSizes({
  shards,
  store,
  clock,
  log,
}: {
  readonly shards: Shards;
  readonly store: SizeStore;
  readonly clock: Clock;
  readonly log: Log;
}): ShardSizes {
  const byShard = (sizes: readonly ShardSize[]) => new Map(sizes.map((size) => [size.shard, size]));

  async function statusOf(
    shard: number,
    known: ShardSize | undefined,
    ports: StatusPorts,
  ): Promise<Omit<ShardStatus, "shard" | "tenants" | "roundTrips" | "isNext">> {
    const startMs = clock.nowMs();
    try {
      const [{ bytes: databaseBytes, count: pushSubscriptions }, { files, bytes: storedBytes }] = await withTimeout(
        PATIENCE_MS,
        Promise.all([bytesAndCount(ports.countPushSubscriptions(shard)), ports.stored(shard)]),
      );
      const nowMs = clock.nowMs();
      const seen = { databaseBytes, measuredAt: nowMs, answerMs: nowMs - startMs };
      return { files, storedBytes, pushSubscriptions, ...seen };
    } catch (thrown) {
      log.error("a shard does not answer", { shard, error: describeError(thrown) });
      const kept = { databaseBytes: known?.bytes ?? 0, measuredAt: known?.measuredAt || null, answerMs: null };
      return { files: null, storedBytes: null, pushSubscriptions: null, ...kept };
    }
  }

  return {
    async sweep(nowMs) {
      const known = byShard(await store.all());
      const isDue = ({ number }: Shard): boolean => (known.get(number)?.measuredAt ?? 0) <= nowMs - PERIOD_MS;
      const oldestFirst = shards
        .filter(isDue)
        .toSorted((a, b) => (known.get(a.number)?.measuredAt ?? 0) - (known.get(b.number)?.measuredAt ?? 0));
      const failures: unknown[] = [];
      const measured = await mapInParallel(oldestFirst.slice(0, PAGE), SHARDS_AT_ONCE, async (shard) => {
        try {
          return [{ shard: shard.number, bytes: await bytesOf(shard.db) }];
        } catch (thrown) {
          log.error("a shard was not measured", { shard: shard.number, error: describeError(thrown) });
          failures.push(thrown);
          return [];
        }
      });
      if (measured.flat().length > 0) await store.keep(measured.flat(), nowMs);
      if (failures.length > 0) throw new AggregateError(failures, `${failures.length} shards were not measured`);
    },

    async status(ports, nowMs) {
      const [known, tenants, next, trips] = await Promise.all([
        store.all(),
        store.tenants(),
        store.emptiest(
          shards.map(({ number }) => number),
          nowMs,
        ),
        withTimeout(PATIENCE_MS, ports.roundTrips(nowMs)).catch((thrown: unknown) => {
          log.error("the metrics do not answer", { error: describeError(thrown) });
          return undefined;
        }),
      ]);
      const sizes = byShard(known);
      return mapInParallel(shards, SHARDS_AT_ONCE, async ({ number: shard }) => ({
        shard,
        tenants: tenants.get(shard) ?? 0,
        ...(await statusOf(shard, sizes.get(shard), ports)),
        roundTrips: trips === undefined ? null : (trips.get(shard) ?? 0),
        isNext: shard === next,
      }));
    },
  };
}
