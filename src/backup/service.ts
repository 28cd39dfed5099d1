/**
 * Backups: everything that cannot be made again, in a second bucket (`BACKUP`), and the way back.
 *
 *   backup ── parts … ── manifest ──→ whole ──→ verify, restore, remove
 *
 * - A part is an object under the SHA-256 of its content: lines of JSON (model/part.ts). Equal parts are one object, so
 *   a later backup writes only what changed, and events that an earlier backup has are not even read again.
 * - The manifest is written last. Without it a backup does not count, and the next removal clears its parts away.
 * - Everything is done by jobs, one at a time, in one object (job/backup-job.do.ts): steps of limited work, each
 *   stored in one transaction. A job whose object or Worker ends at any point goes on from its last step.
 * - A backup is taken while the platform works. It is no snapshot; the order of reading makes it fit together
 *   (model/tables.ts, stages/object-stage.ts), and a restore leaves out the rows that refer to something deleted since.
 * - Secrets stay sealed or hashed as they are in D1. A backup opens only where the same seal keys are, and its manifest
 *   tells by an HMAC whether they are.
 *
 * The operator alone may do all of this. After a restore, src/restore makes the platform safe: by its generation, its
 * hold and its replay of erasures.
 */
import type { Route } from "../http/route.ts";
import { createManifestStore } from "./bucket/manifest-store.ts";
import { createPartStore } from "./bucket/part-store.ts";
import type { JobPorts, StagesOf } from "./job/run.ts";
import { createFileCopies } from "./files/file-copies.ts";
import type { JobKind, JobOptions } from "./model/job.ts";
import type { BackupDeps } from "./model/ports.ts";
import type { Stage } from "./model/stage.ts";
import { backupRoutes } from "./routes.ts";
import { backupStages, type StageDeps } from "./stages/backup.ts";
import { removeStages } from "./stages/remove.ts";
import { restoreStages } from "./stages/restore.ts";
import { verifyStages } from "./stages/verify.ts";

export interface Backups {
  readonly routes: readonly Route[];
  /** For the job's object. */
  readonly job: JobPorts;
}

export function createBackups(deps: BackupDeps): Backups {
  const stagesOf: StagesOf = ({ kind, options }) => {
    const { bucket } = deps;
    if (bucket === undefined) return [];
    const wired: StageDeps = {
      ...deps,
      parts: createPartStore(bucket),
      manifests: createManifestStore(bucket),
      copies: createFileCopies(deps.media, bucket),
    };
    return STAGES[kind](wired, options);
  };
  const namesOf = (kind: JobKind, options: JobOptions) => stagesOf({ kind, options }).map(({ name }) => name);
  return { routes: backupRoutes(deps, namesOf), job: { stagesOf, clock: deps.clock, log: deps.log } };
}

const STAGES: Readonly<Record<JobKind, (deps: StageDeps, options: JobOptions) => readonly Stage[]>> = {
  backup: (deps, { keep }) => [...backupStages(deps), ...(keep === null ? [] : removeStages(deps))],
  verify: verifyStages,
  restore: restoreStages,
  remove: removeStages,
};
