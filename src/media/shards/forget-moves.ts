import type { Clock } from "../../platform/runtime/clock.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { inParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE } from "../../platform/storage/shards.ts";
import type { ForgetMoves } from "../erasure/removed-store.ts";
import { shardOfId } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import type { HomeDeps } from "./at-home.ts";

interface ForgetDeps extends Pick<HomeDeps, "moved"> {
  readonly log: Log;
  readonly clock: Clock;
}

/**
 * Deletes the notes of other shards about files whose deletion is proven. The note of this shard names the tenant
 * objects that have one too; any shard of the deployment may have one. A shard that does not answer holds up the files
 * that may have come through it, and the log says so once until they are due again.
 */
export function createForgetMoves({ moved, log, clock }: ForgetDeps, here: number): ForgetMoves {
  let saidUntil = 0;
  return async (fileIds) => {
    const others = [...moved.listed.keys()].filter((shard) => shard !== here);
    const asked = [...others, ...(await moved.at(here).passed(fileIds))];
    const away = new Map<number, unknown>();
    await inParallel(asked, SHARDS_AT_ONCE, (shard) =>
      moved
        .at(shard)
        .forget(fileIds)
        .catch((thrown: unknown) => void away.set(shard, thrown)),
    );
    if (away.size === 0) return [];
    if (clock.nowMs() >= saidUntil) {
      saidUntil = clock.nowMs() + LIMITS.verifyAgainMs;
      const [error] = [...away.values()].map(describeError);
      log.error("proofs of deletions wait for shards that do not answer", { shards: [...away.keys()].join(), error });
    }
    const direct = new Set(await moved.at(here).cameDirectly(fileIds));
    return fileIds.filter((fileId) => !direct.has(fileId) || away.has(shardOfId(fileId)));
  };
}
