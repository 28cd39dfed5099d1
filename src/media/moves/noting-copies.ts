import { clientIn, type ClientObjects } from "../shards/client-objects.ts";
import type { ComingStore } from "./coming-store.ts";

/** Notes the clients of files that come with their tenant. */
export const notingCopies = (store: ComingStore, shard: number, objects: ClientObjects): ComingStore => ({
  ...store,
  async put(run, from, ids, files) {
    await objects.note(files.map(clientIn), shard);
    return store.put(run, from, ids, files);
  },
});
