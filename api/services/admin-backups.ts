import { COUNTS, FINDINGS } from "../../src/backup/model/job.ts";
import type { Entry, Named } from "../model/entry.ts";
import { int, list, obj, oneOf, orNull, ref, str, time, type Schema } from "../model/schema.ts";
import { TAGS } from "./admin-resources.ts";

const BACKUP_ID = "20261123T062751123Z-3f9a12bc";
const START = 1_763_000_040_000;
const ID = { id: { text: "The backup's id.", example: BACKUP_ID } };

const COUNT_TEXTS: Readonly<Record<(typeof COUNTS)[number], string>> = {
  rows: "Rows of the database.",
  topics: "Topics.",
  events: "Events.",
  consumers: "Consumers of topics, with their cursors.",
  pushSubscriptions: "Push subscriptions, with their cursors and retries.",
  files: "Objects of the bucket: files, variants and copies of the audit log.",
  fileBytes: "Their bytes.",
  copiedFiles: "Objects that this job copied.",
  copiedBytes: "Their bytes.",
  parts: "Parts that the backup consists of.",
  partBytes: "Their bytes.",
  newParts: "Parts that no earlier backup had.",
};
const counts: Schema = obj(
  Object.fromEntries(COUNTS.map((name) => [name, int(COUNT_TEXTS[name])])),
  "Counts of what the job has done so far.",
);
const exampleCounts = {
  rows: 1204,
  topics: 3,
  events: 5210,
  consumers: 7,
  pushSubscriptions: 2,
  files: 880,
  fileBytes: 48_211_300,
  copiedFiles: 12,
  copiedBytes: 901_200,
  parts: 61,
  partBytes: 2_811_020,
  newParts: 9,
};
const bytes = oneOf(["reference", "copy"], "`copy`: the bytes of files are copied; `reference`: they are listed.");
const since = orNull(time("Events before this time are left out; null: none."));

/** Components of backups, and operations on them. */
export const BACKUP_SCHEMAS: Readonly<Record<string, Named>> = {
  Backup: {
    schema: obj({
      id: str("The backup's id, which begins with its time."),
      startedAt: time("When it was started: what happened later may be missing."),
      finishedAt: time("When its manifest was written."),
      bytes,
      eventsSince: since,
      platform: str("`PLATFORM` of the deployment that made it. A restore needs the same."),
      migration: str("The newest migration that the deployment knew. A restore needs this one or a later one."),
      counts,
      sealKeys: list(str("An id of a key."), "Keys of `SEAL_KEYS` that a restore needs."),
    }),
    example: {
      id: BACKUP_ID,
      startedAt: START,
      finishedAt: START + 4_000,
      bytes: "copy",
      eventsSince: null,
      platform: "plat",
      migration: "0004_dead_work.sql",
      counts: exampleCounts,
      sealKeys: ["k1"],
    },
  },
  BackupJob: {
    schema: obj({
      id: str("The job's id."),
      kind: oneOf(["backup", "verify", "restore", "remove"], "Its kind."),
      actor: str("The client or person that started it."),
      backup: str("The backup that it makes, reads or removes."),
      state: oneOf(["running", "done", "failed", "cancelled"], "`failed`: `error` says why; a repeat would not help."),
      startedAt: time("When it was started."),
      finishedAt: orNull(time("When it ended; null: not yet.")),
      stage: str("The present stage."),
      stagesDone: int("Stages that are done."),
      stages: int("Stages in all."),
      options: obj({ bytes, eventsSince: since, keep: orNull(int("The number of backups that are kept; null: all.")) }),
      counts,
      findings: list(
        obj({
          kind: oneOf(Object.keys(FINDINGS), "The kind of finding."),
          subject: str("A table, topic, file or part."),
        }),
        "The first findings of a verification or restore.",
      ),
      findingsInAll: int("Number of all findings."),
      failures: int("How often the present step has failed in succession. It is tried again."),
      error: str("The last error of the present step; empty if there is none."),
    }),
    example: {
      id: "5b1f6c0e9f7a8b4c2d9e3f5a6b7c8d9e",
      kind: "backup",
      actor: "plat.operator",
      backup: BACKUP_ID,
      state: "running",
      startedAt: START,
      finishedAt: null,
      stage: "topics",
      stagesDone: 2,
      stages: 9,
      options: { bytes: "copy", eventsSince: null, keep: null },
      counts: exampleCounts,
      findings: [],
      findingsInAll: 0,
      failures: 0,
      error: "",
    },
  },
};

const UNBOUND = "`backup_unbound`: the deployment has no bucket for backups.";
const BUSY = "`job_under_way`: one job runs at a time.";
const started = {
  202: { text: "The job runs; `Location` is its report.", json: ref("BackupJob"), headers: ["Location"] },
};

export const BACKUP_ENTRIES: Readonly<Record<string, Entry>> = {
  "GET /backups": {
    id: "listBackups",
    tag: TAGS.upkeep,
    about: "A backup is whole when its manifest is written. A job that failed leaves none.",
    answers: { 200: { text: "A page of backups.", json: list(ref("Backup")), headers: ["Link"] } },
    errors: { 400: UNBOUND },
  },
  "POST /backups": {
    id: "startBackup",
    tag: TAGS.upkeep,
    about: "The platform works on meanwhile. What an earlier backup has is not written again.",
    body: {
      fields: {
        bytes: "`copy` copies the bytes of files; `reference` lists them.",
        eventsSince: "Leave out events before this time, in ms since 1970; null: none.",
        keep: "After the backup, keep so many of the newest and remove the others; null: keep all.",
      },
      example: { bytes: "copy", keep: 7 },
    },
    answers: started,
    errors: { 400: UNBOUND, 409: BUSY },
  },
  "GET /backups/{id}": {
    id: "getBackup",
    tag: TAGS.upkeep,
    about: "Shows when it was made, what it counts, and what a restore needs.",
    parameters: ID,
    answers: { 200: { text: "The backup.", json: ref("Backup") } },
    errors: { 400: UNBOUND, 404: "" },
  },
  "DELETE /backups/{id}": {
    id: "deleteBackup",
    tag: TAGS.upkeep,
    about: "Backups share parts. A part goes when no backup needs it any more.",
    parameters: ID,
    answers: started,
    errors: { 400: UNBOUND, 404: "", 409: BUSY },
  },
  "POST /backups/{id}/verify": {
    id: "verifyBackup",
    tag: TAGS.upkeep,
    about: "Changes nothing. The job's findings say what is wrong.",
    parameters: ID,
    answers: started,
    errors: { 400: UNBOUND, 404: "", 409: BUSY },
  },
  "POST /backups/{id}/restore": {
    id: "restoreBackup",
    tag: TAGS.upkeep,
    about: "The name of the platform, its seal keys and that it is empty are checked before anything is written.",
    parameters: ID,
    answers: started,
    errors: { 400: UNBOUND, 404: "", 409: `${BUSY} \`maintenance_off\`: the platform is not in maintenance.` },
  },
  "GET /backup-job": {
    id: "getBackupJob",
    tag: TAGS.upkeep,
    about: "One job runs at a time: a backup, a check, a restore or a removal. Poll it until `state` is not `running`.",
    answers: { 200: { text: "The job.", json: ref("BackupJob") } },
    errors: { 404: "No job was ever started." },
  },
  "DELETE /backup-job": {
    id: "cancelBackupJob",
    tag: TAGS.upkeep,
    about:
      "A cancelled backup does not count; a later removal clears its parts away. A cancelled restore leaves a platform that " +
      "is not whole: destroy it and begin again.",
    answers: { 200: { text: "The job, which has ended.", json: ref("BackupJob") } },
    errors: { 404: "No job was ever started." },
  },
};
