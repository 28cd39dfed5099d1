import { describeError, type Log } from "../platform/runtime/log.ts";
import { inParallel } from "../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE, type Shards } from "../platform/storage/shards.ts";
import { MOST_NUMBERS, ofShards, type TenantObjects } from "../platform/storage/tenant-objects.ts";
import { createCopyStore } from "./copy-store.ts";
import type { DueCopy, PlacementStore } from "./placement-store.ts";
import { createTenantObjectStore } from "./tenant-object-store.ts";

/** Our choice: copies that are read at once, and written by a few statements for each shard. */
const PAGE = 500;
/** Our choice: pages that a request may write. Each copy to a tenant object is a call, and a request has 10,000. */
const MOST_PAGES = 8;

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
   * Makes every copy due, after a restore of the directory or a shard. Copies may be older or newer than the record
   * then, so each gets a version that none had before.
   */
  copyAgain(nowMs: number): Promise<void>;
  /** Writes a page of copies that are due. False: none is left. */
  more(): Promise<boolean>;
  /** Writes every copy again, up to `MOST_PAGES`: the others by the cron, as after any change. */
  copyAll(nowMs: number): Promise<void>;
}

export function createTenantCopies({
  shards,
  objects,
  store,
  log,
}: {
  readonly shards: Shards;
  readonly objects: TenantObjects | undefined;
  readonly store: PlacementStore;
  readonly log: Log;
}): TenantCopies {
  /** The directory is the only shard, and needs no copies. */
  const isOne = shards.length === 1 && objects === undefined;
  const copies = ofShards(shards, objects, createCopyStore);
  const objectStore = createTenantObjectStore(shards[0].db);

  /** False: the shard is an object, and another tenant's. */
  async function writeTo(number: number, some: readonly DueCopy[]): Promise<boolean> {
    // The first copy creates a tenant object, so it must know where.
    for (const { shard, near } of some) objects?.place(shard, near);
    return copies.at(number).write(some);
  }

  /** Writes the copy of a tenant. If its new object is another tenant's, it gets the next one. */
  async function copyOne(tenant: string): Promise<void> {
    for (let beyond = 1; beyond < MOST_NUMBERS; beyond *= 2) {
      const [due] = await store.dueOf(tenant);
      if (due === undefined) return;
      let foreign: number | undefined;
      for (const number of targetsOf(due)) if (!(await writeTo(number, [due]))) foreign = number;
      if (foreign === undefined) return store.copied([due]);
      await objectStore.renumber(tenant, foreign, beyond);
    }
    throw new Error("each object that the tenant may have is another tenant's");
  }

  /** Writes copies, those to a shard in one transaction, and records those that all their shards have. */
  async function write(due: readonly DueCopy[], failed: Failed): Promise<void> {
    const ofShard = new Map<number, DueCopy[]>();
    for (const copy of due)
      for (const number of targetsOf(copy)) ofShard.set(number, [...(ofShard.get(number) ?? []), copy]);
    await inParallel([...ofShard], SHARDS_AT_ONCE, async ([shard, some]) => {
      try {
        if (!(await writeTo(shard, some))) for (const { tenant } of some) await copyOne(tenant);
      } catch (thrown) {
        log.error("tenants not copied to their shard", {
          shard,
          tenants: some.length,
          error: describeError(thrown),
        });
        failed.set(shard, thrown);
      }
    });
    const written = due.filter((copy) => targetsOf(copy).every((number) => !failed.has(number)));
    if (written.length > 0) await store.copied(written);
  }

  /**
   * Writes pages of copies that are due, until so many went well. A shard that fails is not asked again in this run, so
   * it holds up no other. Throws at the end if one failed. False: none is left.
   */
  async function writePages(most: number): Promise<boolean> {
    if (isOne) return false;
    const failed: Failed = new Map();
    let isMore = true;
    for (let pages = 0; isMore && pages < most;) {
      const failures = failed.size;
      const due = await store.due(PAGE, [...failed.keys()]);
      await write(due, failed);
      isMore = due.length === PAGE;
      if (failed.size === failures) pages++;
    }
    if (failed.size > 0) throw new AggregateError(failed.values(), `no copies of tenants in ${failed.size} shards`);
    return isMore;
  }

  const copyAgain = async (nowMs: number): Promise<void> => {
    if (!isOne) await store.copyAgain(nowMs);
  };

  return {
    async copy(tenant) {
      if (!isOne) await copyOne(tenant);
    },
    sweep: async () => void (await writePages(1)),
    copyAgain,
    more: () => writePages(1),
    async copyAll(nowMs) {
      await copyAgain(nowMs);
      await writePages(MOST_PAGES);
    },
  };
}

/** The shards that did not take a copy in this run, with the cause. */
type Failed = Map<number, unknown>;

/** The shards that a copy is written to. The directory needs none. */
const targetsOf = ({ shard, otherShard }: DueCopy): readonly number[] =>
  [shard, otherShard ?? 0].filter((number) => number !== 0);
