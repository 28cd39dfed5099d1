/**
 * A job of the backup service: what it does, how far it is, what it found. The record is stored as JSON in one row.
 */
export type JobKind = "backup" | "verify" | "restore" | "remove";
type JobState = "running" | "done" | "failed" | "cancelled";

/** `copy`: the backup copies the bytes of files. `reference`: it only lists them. */
export type BytesMode = "copy" | "reference";

export const COUNTS = [
  "rows",
  "topics",
  "events",
  "consumers",
  "pushSubscriptions",
  "files",
  "fileBytes",
  "copiedFiles",
  "copiedBytes",
  "parts",
  "partBytes",
  "newParts",
] as const;
export type CountName = (typeof COUNTS)[number];
export type Counts = Readonly<Record<CountName, number>>;

export interface JobOptions {
  readonly bytes: BytesMode;
  /** Events before this time are left out. */
  readonly eventsSince: number | null;
  /** The number of backups to keep, the newest ones. Older ones are removed after this backup; null: none are. */
  readonly keep: number | null;
}

/** Facts for the manifest. A backup collects them; jobs of the other kinds read them from it. */
export interface Facts {
  readonly tables: Readonly<Record<string, TableFacts>>;
  /** The greatest number that each numbered table ever gave. */
  readonly sequences: Readonly<Record<string, number>>;
  readonly index: readonly string[];
  /** When the backup began. */
  readonly startedAt: number;
  /** Changes with each restore of the database. Events of two generations may have the same numbers. */
  readonly generation: string;
}

export interface TableFacts {
  readonly columns: readonly string[];
  readonly rows: number;
}

export interface JobRecord {
  readonly id: string;
  readonly kind: JobKind;
  /** The client or person that started it. */
  readonly actor: string;
  /** The backup that it makes, reads or removes. */
  readonly backup: string;
  readonly state: JobState;
  readonly options: JobOptions;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly stage: string;
  /** How far the stage is. Only the stage reads it. */
  readonly position: string;
  readonly counts: Counts;
  readonly facts: Facts;
  readonly findings: readonly Finding[];
  readonly foundInAll: number;
  /** Consecutive failures of the present step, and the last error; empty after a success. */
  readonly failures: number;
  readonly error: string;
}

/** An error that a job found. `subject` names a table, file, topic or part. */
export interface Finding {
  readonly kind: FindingKind;
  readonly subject: string;
}

export const FINDINGS = {
  part_missing: "A part is not in the bucket.",
  part_changed: "A part does not have its digest.",
  count_differs: "The parts do not hold as much as the manifest says.",
  file_missing: "The bytes of a file are not in the bucket.",
  file_changed: "The bytes of a file have another digest or size.",
  topic_unknown: "Events of a topic that the backup does not list: it was deleted while the backup ran.",
  row_dropped:
    "Rows that fit nowhere, because something was deleted or replaced while the backup ran: they were left out.",
} as const;
export type FindingKind = keyof typeof FINDINGS;

const KEPT_FINDINGS = 100;

const noCounts: Counts = Object.fromEntries(COUNTS.map((name) => [name, 0])) as Record<CountName, number>;
const noFacts: Facts = { tables: {}, sequences: {}, index: [], startedAt: 0, generation: "" };

export const newJob = (
  asked: Pick<JobRecord, "id" | "kind" | "actor" | "backup" | "options">,
  stage: string,
  nowMs: number,
): JobRecord => ({
  ...asked,
  state: "running",
  startedAt: nowMs,
  finishedAt: null,
  stage,
  position: "",
  counts: noCounts,
  facts: noFacts,
  findings: [],
  foundInAll: 0,
  failures: 0,
  error: "",
});

export function withFindings(job: JobRecord, found: readonly Finding[]): JobRecord {
  const findings = [...job.findings, ...found].slice(0, KEPT_FINDINGS);
  return { ...job, findings, foundInAll: job.foundInAll + found.length };
}

export const withCounts = (counts: Counts, more: Partial<Counts>): Counts =>
  Object.fromEntries(COUNTS.map((name) => [name, counts[name] + (more[name] ?? 0)])) as Record<CountName, number>;
