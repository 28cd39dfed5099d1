import { inParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE, type Placement } from "../../platform/storage/shards.ts";
import { isTenantObject, type OfShards } from "../../platform/storage/tenant-objects.ts";
import { shardOfId } from "../model/file.ts";
import type { MovedStore } from "./moved-store.ts";

/**
 * Finds the tenant objects of many files at once, for work that knows neither their tenants nor whether they exist:
 *
 *   the object in a file's id ──▶ not there: the objects that notes and departures name, in each shard of the
 *   deployment and in the objects that were asked ──▶ … until each file is found, or nothing names another object
 */
export interface ObjectsOfFiles {
  /** Asks objects about files. `ask` returns the files that it found, and gets them no more. */
  ask(
    fileIds: readonly string[],
    ask: (object: number, fileIds: readonly string[]) => Promise<readonly string[]>,
  ): Promise<void>;
}

/** Our choice: a file moves by itself once, and with its tenant now and then. */
const MOST_ROUNDS = 8;

export function createObjectsOfFiles(moved: OfShards<MovedStore>, placement: Placement): ObjectsOfFiles {
  /** The objects that these shards name for files. */
  async function named(shards: readonly number[], fileIds: readonly string[]): Promise<[number, string][]> {
    const found: [number, string][] = [];
    await inParallel(shards, SHARDS_AT_ONCE, async (shard) => {
      const { notes, departures } = await moved.at(shard).objectsOf(fileIds);
      found.push(...notes.map((note): [number, string] => [note.shard, note.id]));
      for (const object of departures) found.push(...fileIds.map((id): [number, string] => [object, id]));
    });
    return found;
  }

  return {
    async ask(fileIds, ask) {
      const left = new Set(fileIds);
      const asked = new Map<number, Set<string>>();
      let next = [...left].map((id): [number, string] => [shardOfId(id), id]);
      let sources = moved.listed.map((_, shard) => shard);
      for (let round = 0; round < MOST_ROUNDS && left.size > 0; round++) {
        const news = next.filter(([shard, id]) => isTenantObject(shard) && left.has(id) && !asked.get(shard)?.has(id));
        if (news.length === 0 && round > 0) return;
        const byObject = [...Map.groupBy(news, ([object]) => object)];
        await inParallel(byObject, SHARDS_AT_ONCE, async ([object, pairs]) => {
          const ids = [...new Set(pairs.map(([, id]) => id))];
          asked.set(object, new Set([...(asked.get(object) ?? []), ...ids]));
          if (!(await placement.exists(object))) return;
          sources.push(object);
          for (const id of await ask(object, ids)) left.delete(id);
        });
        if (left.size > 0) next = await named(sources, [...left]);
        sources = [];
      }
    },
  };
}
