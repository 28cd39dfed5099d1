import { StoreUnavailable } from "../../platform/storage/database.ts";
import type { Placement } from "../../platform/storage/shards.ts";
import type { MovedStore } from "./moved-store.ts";

export interface HomeDeps {
  readonly placement: Placement;
  /** By shard. */
  readonly moved: readonly MovedStore[];
}

/** A tenant moves at most so often while one request runs. */
const MOST_MOVES = 3;

/**
 * Runs work in the shard of a tenant. The isolate's copy of the place may be old: then the work fails, since that shard
 * changes nothing of a tenant that left, and finding none of its files is a failure too (`sureOf`). Who fails asks the
 * shard whether the tenant left, and goes where it is now. `mayRepeat`: the work reads no body that is gone then.
 */
export async function atHome<T>(
  { placement, moved }: HomeDeps,
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
      if (!(thrown instanceof StoreUnavailable) || moved.length === 1 || !(await moved[shard]!.hasLeft(tenant)))
        throw thrown;
      placement.forget(tenant);
      if (!mayRepeat || moves === MOST_MOVES) throw thrown;
    }
  }
}

/** Wraps reads of a shard: an empty answer about a tenant is one only if the tenant has not left. */
export const sureOf =
  (moved: MovedStore, isOne: boolean) =>
  async <T>(tenant: string, isEmpty: (answer: T) => boolean, read: Promise<T>): Promise<T> => {
    const answer = await read;
    if (!isOne && isEmpty(answer) && (await moved.hasLeft(tenant)))
      throw new StoreUnavailable("the tenant has moved to another shard");
    return answer;
  };
export type Sure = ReturnType<typeof sureOf>;
