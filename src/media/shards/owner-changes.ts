import type { Clock } from "../../platform/runtime/clock.ts";
import { StoreUnavailable } from "../../platform/storage/database.ts";
import { throwTogether } from "../../platform/runtime/attempt-each.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { mapInParallel } from "../../platform/runtime/parallel.ts";
import { randomId, type Random } from "../../platform/runtime/random.ts";
import { SHARDS_AT_ONCE, type Placement } from "../../platform/storage/shards.ts";
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
  sweep(nowMs: number): Promise<void>;
}

export interface ClientChange {
  readonly id: string;
  readonly after: NamedClient | undefined;
}

/** The client's record when the change began. `any`: one database, whose triggers need no such condition. */
export type ClientBefore = NamedClient | "absent" | "any";

/** Port to the directory. */
export interface DirectoryOwners {
  client(id: string): Promise<NamedClient | undefined>;
  /** Tells whether a client has this name. */
  isNamed(name: string): Promise<boolean>;
}

export interface OwnerChangeDeps {
  /** By shard; none on a platform of one database. */
  readonly stores: readonly OwnerStore[];
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

export function createOwnerChanges({ stores, owners, placement, clock, random, log }: OwnerChangeDeps): OwnerChanges {
  const inEach = <R>(some: readonly OwnerStore[], ask: (store: OwnerStore) => Promise<R>): Promise<readonly R[]> =>
    mapInParallel(some, SHARDS_AT_ONCE, ask);

  const recordOf = async ({ client }: Closing): Promise<NamedClient | undefined> =>
    client === null ? undefined : owners.client(client);
  const isSame = ({ kind, name, tenant }: Closing, now: NamedClient | undefined): boolean =>
    kind === "tenant" || (now?.name === name && now.tenant === tenant);

  /** Ends a closing in each shard: carries the change out if the directory has it, else reopens the owner. */
  async function end(closing: Closing): Promise<void> {
    const now = await recordOf(closing);
    const failures: unknown[] = [];
    await inEach(stores, (store) =>
      (isSame(closing, now) ? store.open(closing) : store.end(closing, now)).catch((thrown: unknown) =>
        failures.push(thrown),
      ),
    );
    throwTogether(failures);
  }

  async function reopen(closing: Closing): Promise<void> {
    await inEach(stores, (store) => store.open(closing));
  }

  /**
   * Deletes what earlier clients left under a name, which their last tokens made, before the client `id` gets it. If a
   * client has the name, nothing happens, and the write will fail. The rest is read before the look at the directory,
   * so nothing is in it that a client made which took the name after this look.
   */
  async function clearName(name: string, id: string): Promise<void> {
    const rests = await inEach(stores, async (store) => ({ store, rest: await store.rest(name) }));
    if (await owners.isNamed(name)) return;
    // Changes of these clients that broke off come first: a client that gave the name up gets its files.
    for (const closing of oneOfEach((await inEach(stores, (store) => store.ofClient(name, id))).flat())) {
      const now = await recordOf(closing);
      if (!isSame(closing, now)) await inEach(stores, (store) => store.end(closing, now));
    }
    await mapInParallel(rests, SHARDS_AT_ONCE, ({ store, rest }) => store.forget(name, rest));
  }

  /** Closes an owner, runs `write`, and ends the closing. `newName`: the name that the client gets. */
  async function whileClosed<T>(
    closing: Closing,
    onlyTenant: string,
    some: readonly OwnerStore[],
    newName: string | undefined,
    write: () => Promise<T>,
  ): Promise<T> {
    let isWriting = false;
    try {
      const closed = await inEach(some, (store) => store.close(closing, onlyTenant, clock.nowMs()));
      if (closed.includes(false))
        throw new StoreUnavailable(`files of the ${closing.kind} are in the way, or it is being changed`);
      // A rename that ended before the closing has taken the files along, and this name has no owner any more.
      if (!isSame(closing, await recordOf(closing))) throw new StoreUnavailable("the client is being changed");
      if (newName !== undefined) await clearName(newName, closing.client ?? "");
      isWriting = true;
      return await write();
    } finally {
      await (isWriting ? end(closing) : reopen(closing)).catch((thrown: unknown) =>
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
      if (stores.length === 0) return write("any");
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
      return whileClosed(closing, isRenamed ? "" : before.tenant, stores, newName, () => write(before));
    },

    async removeTenant(tenant, write) {
      if (stores.length === 0) return write();
      // The isolate's copy of the place may be old.
      placement.forget(tenant);
      const shard = await placement.shardOf(tenant, clock.nowMs());
      const closing = { kind: "tenant", name: tenant, client: null, tenant: null, change: randomId(random) } as const;
      return whileClosed(closing, "", [stores[shard]!], undefined, write);
    },

    // A shard that does not answer holds up neither the others nor other changes.
    async sweep(nowMs) {
      const failures: unknown[] = [];
      const left = await inEach(stores, (store) =>
        store.begunBefore(nowMs - LEFT_MS).catch((thrown: unknown) => {
          failures.push(thrown);
          return [];
        }),
      );
      for (const closing of oneOfEach(left.flat()))
        await end(closing).catch((thrown: unknown) => failures.push(thrown));
      throwTogether(failures);
    },
  };
}

const oneOfEach = (closings: readonly Closing[]): readonly Closing[] => [
  ...new Map(closings.map((closing) => [closing.change, closing])).values(),
];
