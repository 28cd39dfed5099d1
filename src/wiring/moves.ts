import type { Env } from "../env.ts";
import type { Media } from "../media/service.ts";
import { createMoves, type Moves } from "../shards/moves.ts";
import { createMoveStore } from "../shards/move-store.ts";
import { createPlacementStore } from "../shards/placement-store.ts";
import type { Base } from "./base.ts";

/** Wires the moves of tenants between shards, which must not run during a backup. */
export const wireMoves = (job: Env["BACKUP_JOB"], base: Base, mover: Media["mover"]): Moves =>
  createMoves({
    ...base,
    shards: base.shardsFor("platform"),
    store: createMoveStore(base.dbFor("platform")),
    places: createPlacementStore(base.dbFor("platform")),
    mover,
    async isBackupRunning() {
      const running = await job.getByName("backup").read();
      return running !== undefined && (JSON.parse(running) as { state: string }).state === "running";
    },
  });
