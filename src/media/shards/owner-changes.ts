import type { Clock } from "../../platform/runtime/clock.ts";
import { StoreUnavailable } from "../../platform/storage/database.ts";
import { throwTogether } from "../../platform/runtime/attempt-each.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { mapInParallel } from "../../platform/runtime/parallel.ts";
import { randomId, type Random } from "../../platform/runtime/random.ts";
import { SHARDS_AT_ONCE, type Placement } from "../../platform/storage/shards.ts";
import { isTenantObject, type OfShards } from "../../platform/storage/tenant-objects.ts";
import type { Closing, NamedClient, OwnerStore } from "./owner-store.ts";

/**
 * Changes of clients and tenants in the directory. Files in shards refer to them by name. A client or tenant with
 * committed files cannot change; pending files and reports of deletions follow a client, or end with it. In one
 * database triggers ensure this. Over several, these writes do, in this order:
 *
 *   closed in each shard, if there are no committed files ── from now on nothing is committed ──▶
 *   the client's new name cleared in each shard ──▶ changed in the directory ──▶
 *   ended in each shard: pending files follow, and the owner is open again
 *
 * The directory decides: the last write reads there whether the change happened, so a lost answer or a crash between
 * writes does no harm. Until then, commits of this owner get 503. The sweep ends changes that broke off.
 *
 * Only one change of a name is closed at a time. A change that read the client before another one ended it finds
 * another record after it has closed, or when it writes, and gets 503.
 *
 * From the write in the directory on, the client makes files under its new name. So what an earlier client left under
 * that name is deleted before the write, and the last write deletes nothing of that name.
 */
export interface OwnerChanges {
  /**
   * Runs `write`, which creates or changes a client; without `after` it removes the client. `write` must fail unless
   * the record is still `before`: only the owner of that name is closed.
   */
  changeClient<T>(change: ClientChange, write: (before: ClientBefore) => Promise<T>): Promise<T>;
  /** Runs `write`, which removes a tenant. */
  removeTenant<T>(tenant: string, write: () => Promise<T>): Promise<T>;
  /** Ends the changes that broke off, and that one of these shards knows. */
  sweep(nowMs: number, shards: readonly number[]): Promise<void>;
}

interface ClientChange {
  readonly id: string;
  readonly after: NamedClient | undefined;
}

/** The client's record when the change began. `any`: one database, whose triggers need no such condition. */
type ClientBefore = NamedClient | "absent" | "any";

/** Port to the directory. */
export interface DirectoryOwners {
  client(id: string): Promise<NamedClient | undefined>;
  /** The tenant objects in which a client of this name may have rows. */
  objectsOf(name: string): Promise<readonly number[]>;
  /** Adds the objects of a name to those of another name. */
  inherit(name: string, from: string): Promise<void>;
  /** Tells whether a client has this name. */
  isNamed(name: string): Promise<boolean>;
}

export interface OwnerChangeDeps {
  readonly stores: OfShards<OwnerStore>;
  /** True: the platform has one database. */
  readonly isOne: boolean;
  /** True: the platform has tenant objects. */
  readonly hasObjects: boolean;
  readonly owners: DirectoryOwners;
  readonly placement: Placement;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Our choice: far longer than a change takes, since the sweep must not reopen an owner before the change is written.
 */
const LEFT_MS = 600_000;

export function createOwnerChanges(deps: OwnerChangeDeps): OwnerChanges {
  const { stores, isOne, hasObjects, owners, placement, clock, random, log } = deps;
  const inEach = <R>(some: readonly OwnerStore[], ask: (store: OwnerStore) => Promise<R>): Promise<readonly R[]> =>
    mapInParallel(some, SHARDS_AT_ONCE, ask);
  const [directory, ...others] = stores.listed;

  /** The shards where a client of this name may have rows, without the directory. */
  async function othersOf(name: string): Promise<readonly OwnerStore[]> {
    const objects = hasObjects ? await owners.objectsOf(name) : [];
    return [...others, ...objects.map((object) => stores.at(object))];
  }
  /** The shards that a closing may have closed. `also`: a shard that it certainly closed. */
  async function closedBy({ kind, name }: Closing, also: number): Promise<readonly OwnerStore[]> {
    if (kind === "client") return [directory!, ...(await othersOf(name))];
    return isTenantObject(also) ? [...stores.listed, stores.at(also)] : stores.listed;
  }

  const recordOf = async ({ client }: Closing): Promise<NamedClient | undefined> =>
    client === null ? undefined : owners.client(client);
  const isSame = ({ kind, name, tenant }: Closing, now: NamedClient | undefined): boolean =>
    kind === "tenant" || (now?.name === name && now.tenant === tenant);

  /** Ends a closing in each shard: carries the change out if the directory has it, else reopens the owner. */
  async function end(closing: Closing, also: number): Promise<void> {
    const now = await recordOf(closing);
    const isDone = !isSame(closing, now);
    if (isDone && now !== undefined && now.name !== closing.name) await owners.inherit(now.name, closing.name);
    const failures: unknown[] = [];
    await inEach(await closedBy(closing, also), (store) =>
      (isDone ? store.end(closing, now) : store.open(closing)).catch((thrown: unknown) => failures.push(thrown)),
    );
    throwTogether(failures);
  }

  async function reopen(closing: Closing, also: number): Promise<void> {
    await inEach(await closedBy(closing, also), (store) => store.open(closing));
  }

  /**
   * Deletes what earlier clients left under a name, which their last tokens made, before the client `id` gets it. If a
   * client has the name, nothing happens, and the write will fail. The rest is read before the look at the directory,
   * so nothing is in it that a client made which took the name after this look.
   */
  async function clearName(name: string, id: string): Promise<void> {
    const some = [directory!, ...(await othersOf(name))];
    const rests = await inEach(some, async (store) => ({ store, rest: await store.rest(name) }));
    if (await owners.isNamed(name)) return;
    // Changes of these clients that broke off come first: a client that gave the name up gets its files.
    for (const closing of oneOfEach((await inEach(some, (store) => store.ofClient(name, id))).flat())) {
      const now = await recordOf(closing);
      if (!isSame(closing, now)) await inEach(await closedBy(closing, 0), (store) => store.end(closing, now));
    }
    await mapInParallel(rests, SHARDS_AT_ONCE, ({ store, rest }) => store.forget(name, rest));
  }

  /**
   * Closes an owner, runs `write`, and ends the closing. A client is closed in the directory first: from then on, no
   * tenant object is noted for it. `newName`: the name that the client gets.
   */
  async function whileClosed<T>(
    closing: Closing,
    onlyTenant: string,
    newName: string | undefined,
    write: () => Promise<T>,
  ): Promise<T> {
    let isWriting = false;
    const shard = closing.kind === "client" ? 0 : await placement.shardOf(closing.name, clock.nowMs());
    try {
      const closeIn = (store: OwnerStore): Promise<boolean> => store.close(closing, onlyTenant, clock.nowMs());
      const isClosed =
        closing.kind === "client"
          ? (await closeIn(directory!)) && !(await inEach(await othersOf(closing.name), closeIn)).includes(false)
          : await closeIn(stores.at(shard));
      if (!isClosed) throw new StoreUnavailable(`files of the ${closing.kind} are in the way, or it is being changed`);
      // A rename that ended before the closing has taken the files along, and this name has no owner any more.
      if (!isSame(closing, await recordOf(closing))) throw new StoreUnavailable("the client is being changed");
      if (newName !== undefined) await clearName(newName, closing.client ?? "");
      isWriting = true;
      return await write();
    } finally {
      await (isWriting ? end(closing, shard) : reopen(closing, shard)).catch((thrown: unknown) =>
        log.error("a change of an owner of files was left to the sweep", {
          ...closing,
          client: closing.client ?? "",
          tenant: closing.tenant ?? "",
          error: describeError(thrown),
        }),
      );
    }
  }

  return {
    async changeClient({ id, after }, write) {
      if (isOne) return write("any");
      const before = await owners.client(id);
      if (before === undefined) {
        if (after === undefined) return write("absent");
        await clearName(after.name, id);
        return write("absent");
      }
      const isRenamed = before.name !== after?.name;
      if (!isRenamed && before.tenant === after?.tenant) return write(before);
      const closing = { kind: "client", ...before, client: id, change: randomId(random) } as const;
      const newName = isRenamed ? after?.name : undefined;
      return whileClosed(closing, isRenamed ? "" : before.tenant, newName, () => write(before));
    },

    async removeTenant(tenant, write) {
      if (isOne) return write();
      // The isolate's copy of the place may be old.
      placement.forget(tenant);
      const closing = { kind: "tenant", name: tenant, client: null, tenant: null, change: randomId(random) } as const;
      return whileClosed(closing, "", undefined, write);
    },

    // A shard that does not answer holds up neither the others nor other changes.
    async sweep(nowMs, shards) {
      const failures: unknown[] = [];
      const left = await mapInParallel(shards, SHARDS_AT_ONCE, async (shard) => {
        const begun = await stores
          .at(shard)
          .begunBefore(nowMs - LEFT_MS)
          .catch((thrown: unknown) => {
            failures.push(thrown);
            return [];
          });
        return begun.map((closing) => [closing.change, { closing, shard }] as const);
      });
      for (const { closing, shard } of new Map(left.flat()).values())
        await end(closing, shard).catch((thrown: unknown) => failures.push(thrown));
      throwTogether(failures);
    },
  };
}

const oneOfEach = (closings: readonly Closing[]): readonly Closing[] => [
  ...new Map(closings.map((closing) => [closing.change, closing])).values(),
];
