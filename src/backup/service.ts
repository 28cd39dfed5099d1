/**
 * Backups: everything that cannot be made again is written to a second bucket (`BACKUP`), and can be restored from it.
 *
 *   backup ── parts … ── manifest ──→ whole ──→ verify, restore, remove
 *
 * - A part is lines of JSON, stored under the SHA-256 of its content (model/part.ts). Equal parts are one object, so a
 *   later backup writes only what changed. Events that an earlier backup has are not even read again.
 * - The manifest is written last. A backup without one does not count, and the next removal deletes its parts.
 * - One job runs at a time, in one object (job/backup-job.do.ts). It does steps of limited work, each stored in one
 *   transaction. A job that is stopped at any point continues with the step that was not stored.
 * - A backup is taken while the platform works, so it is not a snapshot. The order of reading keeps it consistent
 *   (model/tables.ts, stages/object-stage.ts), and a restore leaves out rows that refer to something deleted meanwhile.
 * - Secrets stay sealed or hashed, as they are in D1. They open only where the same seal keys are configured, which the
 *   manifest proves by an HMAC.
 *
 * Only operators may do this. After a restore, src/restore makes the platform safe: by its generation, its hold and its
 * replay of erasures.
 */
import type { Route } from "../http/route.ts";
import { backupTimeMs, createManifestStore } from "./bucket/manifest-store.ts";
import { createPartStore } from "./bucket/part-store.ts";
import type { JobPorts, StagesOf } from "./job/run.ts";
import { createFileCopies } from "./files/file-copies.ts";
import type { JobKind, JobOptions } from "./model/job.ts";
import type { BackupDeps } from "./model/ports.ts";
import type { Stage } from "./model/stage.ts";
import { backupRoutes } from "./routes.ts";
import { backupStages } from "./stages/backup.ts";
import { removeStages } from "./stages/remove.ts";
import { restoreStages } from "./stages/restore.ts";
import type { StageDeps } from "./stages/stage-deps.ts";
import { verifyStages } from "./stages/verify.ts";

export interface Backups {
  readonly routes: readonly Route[];
  /** The ports of the job's object. */
  readonly job: JobPorts;
  /** The time at which the newest whole backup began; null: there is none. Undefined without a bucket for backups. */
  readonly newestMs: (() => Promise<number | null>) | undefined;
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
  const { bucket, clock, log } = deps;
  const newestOf = (from: R2Bucket) => async (): Promise<number | null> => {
    const [newest] = await createManifestStore(from).ids();
    return newest === undefined ? null : backupTimeMs(newest);
  };
  return {
    routes: backupRoutes(deps, namesOf),
    job: { stagesOf, clock, log },
    newestMs: bucket === undefined ? undefined : newestOf(bucket),
  };
}

const STAGES: Readonly<Record<JobKind, (deps: StageDeps, options: JobOptions) => readonly Stage[]>> = {
  backup: (deps, { keep }) => [...backupStages(deps), ...(keep === null ? [] : removeStages(deps))],
  verify: verifyStages,
  restore: restoreStages,
  remove: removeStages,
};
