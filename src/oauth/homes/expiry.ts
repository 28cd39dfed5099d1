import { mapInParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE } from "../../platform/storage/shards.ts";
import type { Expired } from "./anchor-store.ts";

/** Removes the anchors in a shard of those people that the directory does not know any more (homes/elsewhere.ts). */
export type DropAnchors = (shard: number, emails: readonly string[]) => Promise<void>;

interface Expiring {
  deleteExpired(nowMs: number, limit: number): Promise<Expired>;
}

/** One step of the sweep in every database. `stores`: by shard. Returns the most rows that one of them deleted. */
export async function deleteExpired(
  stores: readonly Expiring[],
  { nowMs, limit, dropAnchors }: { readonly nowMs: number; readonly limit: number; readonly dropAnchors: DropAnchors },
): Promise<number> {
  const deleted = await mapInParallel([...stores.entries()], SHARDS_AT_ONCE, async ([shard, store]) => {
    const { rows, emails } = await store.deleteExpired(nowMs, limit);
    if (shard > 0 && emails.length > 0) await dropAnchors(shard, emails);
    return rows;
  });
  return Math.max(...deleted);
}
