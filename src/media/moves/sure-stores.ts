import { StoreUnavailable } from "../../platform/storage/database.ts";
import type { Erasure, ErasureStore } from "../erasure/erasure-store.ts";
import type { Usage, UsageStore } from "../files/usage-store.ts";
import type { OperatedStore } from "../operated/operated-store.ts";
import type { FilterStore } from "../search/filter-store.ts";
import type { ListingStore } from "../search/listing-store.ts";
import type { MovedStore } from "../shards/moved-store.ts";
import type { BulkVariantStore } from "../variants/bulk-store.ts";
import { MOST_MOVES, sureOf } from "../shards/at-home.ts";

/**
 * Wraps the stores of a shard, so that a read does not mistake a tenant that left for one without files: such a read
 * fails, and `atHome` finds the new shard. A result that is not empty is complete, since one write hides all of a
 * tenant and its rows stay for minutes. So only an empty result costs another round trip.
 */
export function sureListing(store: ListingStore, moved: MovedStore, isOne: boolean): ListingStore {
  const sure = sureOf(moved, isOne);
  const isEmpty = (page: Awaited<ReturnType<ListingStore["page"]>>): boolean =>
    page !== "too_broad" && page.items.length === 0;
  return {
    page: (caller, query) => sure(caller.tenant, isEmpty, () => store.page(caller, query)),
    sharedPage: (caller, paging) => sure(caller.tenant, isEmpty, () => store.sharedPage(caller, paging)),
    async metadataOf(ids) {
      const found = await store.metadataOf(ids);
      if (!isOne && found.size < ids.length && (await moved.hasLeftFiles(ids)))
        throw new StoreUnavailable("the tenant has moved to another shard");
      return found;
    },
  };
}

export function sureFilters(store: FilterStore, moved: MovedStore, isOne: boolean): FilterStore {
  const sure = sureOf(moved, isOne);
  return {
    count: store.count,
    select: (caller, conditions) =>
      sure(
        caller.tenant,
        ({ kind }) => kind === "nothing",
        () => store.select(caller, conditions),
      ),
  };
}

export function sureBulk(store: BulkVariantStore, moved: MovedStore, isOne: boolean): BulkVariantStore {
  const sure = sureOf(moved, isOne);
  return {
    add: (caller, ...given) =>
      sure(
        caller.tenant,
        ({ started }) => started.length === 0,
        () => store.add(caller, ...given),
      ),
    countMissing: (caller, ...given) =>
      sure(
        caller.tenant,
        (missing) => missing === 0,
        () => store.countMissing(caller, ...given),
      ),
    remove: (caller, ...given) =>
      sure(
        caller.tenant,
        (removed) => removed.length === 0,
        () => store.remove(caller, ...given),
      ),
    count: (caller, ...given) =>
      sure(
        caller.tenant,
        (count) => count === 0,
        () => store.count(caller, ...given),
      ),
  };
}

export function sureUsage(store: UsageStore, moved: MovedStore, isOne: boolean): (tenant: string) => Promise<Usage> {
  const sure = sureOf(moved, isOne);
  return (tenant) =>
    sure(
      tenant,
      ({ files }) => files === 0,
      () => store.usageOf(tenant),
    );
}

export function sureOperated(store: OperatedStore, moved: MovedStore, isOne: boolean): OperatedStore {
  const sure = sureOf(moved, isOne);
  return {
    ...store,
    owners: (tenant) =>
      sure(
        tenant,
        (owners) => owners.length === 0,
        () => store.owners(tenant),
      ),
    waiting: (owner) =>
      sure(
        owner.tenant,
        ({ waiting }) => waiting === 0,
        () => store.waiting(owner),
      ),
  };
}

/** Reports stay in the shard of their deletion, so a list reads every shard where the tenant was. */
export function sureErasures(
  store: ErasureStore,
  moved: MovedStore,
  isOne: boolean,
  other: (shard: number) => Pick<ErasureStore, "list">,
): ErasureStore {
  const sure = sureOf(moved, isOne);
  if (isOne) return store;
  return {
    ...store,
    countAll: (caller) =>
      sure(
        caller.tenant,
        ({ files }) => files === 0,
        () => store.countAll(caller),
      ),
    async countMatching(files) {
      const found = await store.countMatching(files);
      if (found.files === 0 && files !== undefined && (await moved.hasLeftOwner(files.ownerId)))
        throw new StoreUnavailable("the tenant has moved to another shard");
      return found;
    },
    async list(client, tenant, beforeId, maxRows, skip) {
      for (let moves = 0; moves <= MOST_MOVES; moves++) {
        const before = await moved.past(tenant);
        if (before.stay === null) throw new StoreUnavailable("the tenant has moved to another shard");
        const ofAll = before.shards.length > 0;
        const [rows, skipped] = ofAll ? [maxRows + skip, 0] : [maxRows, skip];
        const stores = [store, ...before.shards.map(other)];
        const lists = await Promise.all(stores.map((one) => one.list(client, tenant, beforeId, rows, skipped)));
        // The tenant may have left between the two reads: repeat them.
        if ((await moved.stay(tenant)) !== before.stay) continue;
        return ofAll
          ? lists
              .flat()
              .toSorted(newestFirst)
              .slice(skip, skip + maxRows)
          : lists[0]!;
      }
      throw new StoreUnavailable("the tenant kept moving between shards");
    },
  };
}

const newestFirst = (one: Erasure, other: Erasure): number => (one.id < other.id ? 1 : -1);
