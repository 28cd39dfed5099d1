import type { Env } from "../env.ts";
import type { Media } from "../media/service.ts";
import { createMoves, type Moves } from "../shards/moves.ts";
import { createMoveStore } from "../shards/move-store.ts";
import { createPlacementStore } from "../shards/placement-store.ts";
import type { ShardRoom } from "../shards/service.ts";
import type { Base } from "./base.ts";

/** Wires the moves of tenants between shards, which must not run during a backup. */
export const wireMoves = (
  job: Env["BACKUP_JOB"],
  base: Base,
  { media, shards }: { readonly media: Pick<Media, "mover">; readonly shards: Pick<ShardRoom, "objects"> },
): Moves =>
  createMoves({
    ...base,
    shards: base.shardsFor("platform"),
    objects: base.objectsFor("platform"),
    objectStore: shards.objects,
    store: createMoveStore(base.dbFor("platform")),
    places: createPlacementStore(base.dbFor("platform")),
    mover: media.mover,
    async isBackupRunning() {
      const running = await job.getByName("backup").read();
      return running !== undefined && (JSON.parse(running) as { state: string }).state === "running";
    },
  });
