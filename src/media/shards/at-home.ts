import { TenantAway } from "../files/pending-store.ts";
import { StoreUnavailable } from "../../platform/storage/database.ts";
import type { Placement } from "../../platform/storage/shards.ts";
import type { OfShards } from "../../platform/storage/tenant-objects.ts";
import type { MovedStore } from "./moved-store.ts";

export interface HomeDeps {
  readonly placement: Placement;
  readonly moved: OfShards<MovedStore>;
  /** True: the platform has one database. */
  readonly isOne: boolean;
}

/** The most moves of a tenant that one request follows. */
export const MOST_MOVES = 3;

/**
 * Runs work in the shard of a tenant. If the isolate's copy of the place is old, the work fails: a shard changes
 * nothing of a tenant that left, and an empty result counts as a failure too (`sureOf`). Then this asks the shard
 * whether the tenant left, and repeats the work in the tenant's present shard. `mayRepeat`: false if the work consumes
 * the body of the request, so that it can be repeated only if it did not begin.
 */
export async function atHome<T>(
  { placement, moved, isOne }: HomeDeps,
  tenant: string,
  nowMs: number,
  run: (shard: number) => Promise<T>,
  mayRepeat = true,
): Promise<T> {
  for (let moves = 0; ; moves++) {
    const shard = await placement.shardOf(tenant, nowMs);
    try {
      return await run(shard);
    } catch (thrown) {
      if (!(thrown instanceof StoreUnavailable) || isOne || !(await moved.at(shard).hasLeft(tenant))) throw thrown;
      placement.forget(tenant);
      if (!(mayRepeat || thrown instanceof TenantAway) || moves === MOST_MOVES) throw thrown;
    }
  }
}

/**
 * Wraps reads of a shard. An empty answer counts only if the tenant was in the shard during the whole read, so a read
 * is repeated if the tenant moved meanwhile.
 */
export const sureOf =
  (moved: MovedStore, isOne: boolean) =>
  async <T>(tenant: string, isEmpty: (answer: T) => boolean, read: () => Promise<T>): Promise<T> => {
    let answer = await read();
    if (isOne || !isEmpty(answer)) return answer;
    let stay = await moved.stay(tenant);
    for (let moves = 0; moves <= MOST_MOVES; moves++) {
      if (stay === null) throw new StoreUnavailable("the tenant has moved to another shard");
      if (stay === undefined) return answer;
      answer = await read();
      const before = stay;
      if (!isEmpty(answer) || (stay = await moved.stay(tenant)) === before) return answer;
    }
    throw new StoreUnavailable("the tenant kept moving between shards");
  };
