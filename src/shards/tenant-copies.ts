import { describeError, type Log } from "../platform/runtime/log.ts";
import { inParallel } from "../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE, type Shards } from "../platform/storage/shards.ts";
import { createCopyStore } from "./copy-store.ts";
import type { DueCopy, PlacementStore } from "./placement-store.ts";

/** Our choice: the copies of one run. The next run writes the rest. */
const PAGE = 500;

/**
 * Copies of tenants in their shards:
 *
 *   changed in the directory: due ──▶ written to the shard ──▶ recorded as copied
 *
 * While the tenant moves, both shards may show its files, so both get the copy.
 *
 * A copy may break off anywhere, run twice at once or come late, because shard and directory compare its version.
 */
export interface TenantCopies {
  /** Writes the copy of a tenant that just changed. Throws if the shard does not answer; the cron then writes it. */
  copy(tenant: string): Promise<void>;
  /** Writes the copies that are due. */
  sweep(): Promise<void>;
  /**
   * Writes every copy again. After a restore of the directory or a shard, copies may be older or newer than the record.
   */
  copyAll(): Promise<void>;
}

export function createTenantCopies({
  shards,
  store,
  log,
}: {
  readonly shards: Shards;
  readonly store: PlacementStore;
  readonly log: Log;
}): TenantCopies {
  const copies = shards.map(({ db }) => createCopyStore(db));

  async function writeOne(due: DueCopy): Promise<void> {
    for (const number of [due.shard, due.otherShard ?? 0].filter((one) => one !== 0)) {
      const shard = copies[number];
      if (shard === undefined) throw new Error(`shard ${number} is not bound`);
      await shard.write(due);
    }
    await store.copied(due);
  }

  /** Writes copies and returns their number. If one fails, it writes the others first, then throws. */
  async function write(due: readonly DueCopy[]): Promise<number> {
    const failures: unknown[] = [];
    await inParallel(due, SHARDS_AT_ONCE, async (copy) => {
      try {
        await writeOne(copy);
      } catch (thrown) {
        log.error("a tenant was not copied to its shard", {
          tenant: copy.tenant,
          shard: copy.shard,
          error: describeError(thrown),
        });
        failures.push(thrown);
      }
    });
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} copies of tenants failed`);
    return due.length;
  }

  return {
    async copy(tenant) {
      if (shards.length === 1) return;
      for (const due of await store.dueOf(tenant)) await writeOne(due);
    },
    async sweep() {
      if (shards.length > 1) await write(await store.due(PAGE));
    },
    async copyAll() {
      if (shards.length === 1) return;
      for (const shard of copies.slice(1)) await shard.forget();
      await store.copyAgain();
      while ((await write(await store.due(PAGE))) === PAGE);
    },
  };
}
