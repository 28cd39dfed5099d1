/**
 * Shards are several databases, so that a platform outgrows the limits of one.
 *
 * - `DB` is the directory. It has organizations, tenants, users, clients, rights, revocations, topics and the audit
 *   log. It is also shard 0, and the only shard of a platform with one database. `SHARD_01` and further bindings are
 *   the other shards. A shard has the files of its tenants; the sign-ins of people, by their address (src/oauth/homes);
 *   and push records, by their topic (src/events/model/place.ts).
 * - All files of a tenant lie in its shard, with everything that belongs to them: owners, variants, index, reports,
 *   pending files. So lists, quotas and deletions need one database, and each change stays one transaction. A byte of a
 *   file's id is the number of its shard, so a file is found by its id alone (src/media/shards).
 * - The directory has the shard of each tenant (placement.ts). A new tenant gets the emptiest shard (size-store.ts). An
 *   operator can move a tenant (moves.ts).
 *
 * No transaction spans two databases. A shard needs a part of a tenant's record (disabled, quotas), which is copied:
 *
 *   operator changes the tenant ──▶ a trigger raises its version, in the same transaction: the copy is due
 *   before the answer, or by the cron ──▶ the copy is written to the shard unless that has a newer one ──▶ recorded
 *
 * A crash leaves the copy due, and a repeated or late copy changes nothing (tenant-copies.ts). In the other direction,
 * the media service prevents that the directory changes a client or tenant with files in some shard
 * (src/media/shards/owner-changes.ts).
 */
import type { Isolate } from "../platform/copies/isolate.ts";
import type { Clock } from "../platform/runtime/clock.ts";
import { attemptEach } from "../platform/runtime/attempt-each.ts";
import type { Log } from "../platform/runtime/log.ts";
import type { Placement, Shards } from "../platform/storage/shards.ts";
import type { TenantObjects, TenantObjectsSetting } from "../platform/storage/tenant-objects.ts";
import { createPlacement } from "./placement.ts";
import { createPlacementStore } from "./placement-store.ts";
import { createShardSizes, type ShardSizes } from "./sizes.ts";
import { createSizeStore } from "./size-store.ts";
import { createTenantObjectStore, type TenantObjectStore } from "./tenant-object-store.ts";
import { createTenantCopies, type TenantCopies } from "./tenant-copies.ts";

export interface ShardDeps {
  readonly shards: Shards;
  readonly objects: OwnObjects | undefined;
  readonly isolate: Isolate;
  readonly clock: Clock;
  readonly log: Log;
}

/** The tenant objects of a platform that has them. */
export interface OwnObjects extends TenantObjects {
  readonly setting: TenantObjectsSetting;
}

export interface ShardRoom {
  /** The table of tenant objects. */
  readonly objects: TenantObjectStore;
  readonly placement: Placement;
  readonly copies: TenantCopies;
  readonly sizes: ShardSizes;
  /** Writes copies that are due, and measures shards. */
  sweep(nowMs: number): Promise<void>;
  /** Drops cached places, after a restore of the directory. */
  forgetPlaces(): void;
  /**
   * Returns statements that must run before the tenant's row is written, in the same transaction. One database: none.
   */
  placeStatements(tenant: string, nowMs: number): readonly D1PreparedStatement[];
  /** Returns statements for the transaction that removes a tenant. A later tenant of the name gets the same shard. */
  keepPlaceStatements(tenant: string): readonly D1PreparedStatement[];
}

export function createShardRoom({ shards, objects, isolate, clock, log }: ShardDeps): ShardRoom {
  const [directory] = shards;
  const store = createPlacementStore(directory.db);
  const sizeStore = createSizeStore(directory.db);
  const isOne = shards.length === 1 && objects === undefined;
  const objectStore = createTenantObjectStore(directory.db);
  const numbers = shards.map(({ number }) => number);
  const copies = createTenantCopies({ shards, objects, store, log });
  const sizes = createShardSizes({ shards, store: sizeStore, clock, log });
  const placement = createPlacement({
    store,
    shards: shards.length,
    objects: objects && { place: objects.place, store: objectStore, copy: copies.copy },
    isolate,
  });
  return {
    objects: objectStore,
    placement,
    forgetPlaces: placement.clear,
    copies,
    sizes,
    sweep: (nowMs) =>
      attemptEach(
        [copies.sweep, () => sizes.sweep(nowMs)],
        (part) => part(),
        () => undefined,
      ),
    placeStatements: (tenant, nowMs) =>
      isOne
        ? []
        : [
            ...(objects?.setting.for === "new" ? objectStore.placeStatements(tenant, objects.setting.near) : []),
            // A tenant that has an object by now, or had a place before, keeps it.
            ...sizeStore.placeStatements(tenant, numbers, nowMs),
          ],
    keepPlaceStatements: (tenant) => (isOne ? [] : [store.keepPlace(tenant)]),
  };
}
