import type { JobRecord } from "../model/job.ts";
import type { Part } from "../model/part.ts";
import type { JobLists, NumberedPart, StepResult } from "../model/stage.ts";
import type { ObjectSchema } from "../../platform/storage/object-schema.ts";
import { hasTable } from "../../platform/storage/has-table.ts";
import { fromJobText, toJobText } from "./job-text.ts";

export const JOB_SCHEMA: ObjectSchema = { object: "BackupJob", table: "job", version: 1 };

const SCHEMA = [
  `CREATE TABLE job (
    id INTEGER PRIMARY KEY CHECK (id = 1), schema_version INTEGER NOT NULL, record TEXT NOT NULL
  ) STRICT`,
  // `known`: parts of an earlier backup that hold events.
  ...["part", "known"].map(
    (table) => `CREATE TABLE ${table} (
      number INTEGER PRIMARY KEY, section TEXT NOT NULL, digest TEXT NOT NULL, bytes INTEGER NOT NULL,
      count INTEGER NOT NULL, info TEXT NOT NULL
    ) STRICT`,
  ),
  `CREATE INDEX part_by_section ON part (section, number)`,
  `CREATE INDEX known_by_section ON known (section, number)`,
  `CREATE TABLE mark (key TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`,
];

type PartRow = Record<keyof Part, string | number> & { number: number } & Record<string, SqlStorageValue>;
const COLUMNS = "number, section, digest, bytes, count, info";

/** The job and its lists, in the object's own tables. */
export class JobTables implements JobLists {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#sql = storage.sql;
  }

  load(): JobRecord | undefined {
    if (!hasTable(this.#sql, JOB_SCHEMA.table)) return undefined;
    const row = this.#sql.exec<{ record: string }>(`SELECT record FROM job WHERE id = 1`).toArray()[0];
    return row && fromJobText(row.record);
  }

  /** Begins a new job, with empty lists. */
  begin(job: JobRecord): void {
    this.#storage.transactionSync(() => {
      if (!hasTable(this.#sql, JOB_SCHEMA.table)) for (const statement of SCHEMA) this.#sql.exec(statement);
      this.#clear();
      this.save(job);
    });
  }

  save(job: JobRecord): void {
    this.#sql.exec(
      `INSERT OR REPLACE INTO job (id, schema_version, record) VALUES (1, ${JOB_SCHEMA.version}, ?)`,
      toJobText(job),
    );
  }

  /** Stores the result of a step and the job after it, in one transaction. Clears the lists when the job ends. */
  store(
    job: JobRecord,
    { keepParts, parts = [], known = [], marks = [] }: Pick<StepResult, "keepParts" | "parts" | "known" | "marks">,
  ): void {
    this.#storage.transactionSync(() => {
      if (keepParts !== undefined) this.#sql.exec(`DELETE FROM part WHERE number > ?`, keepParts);
      for (const part of parts) this.#add("part", part);
      for (const part of known) this.#add("known", part);
      for (const key of marks) this.#sql.exec(`INSERT OR IGNORE INTO mark (key) VALUES (?)`, key);
      if (job.state !== "running") this.#clear();
      this.save(job);
    });
  }

  parts(from: number, limit: number): readonly Part[] {
    return this.#read(`SELECT ${COLUMNS} FROM part WHERE number > ? ORDER BY number LIMIT ?`, from, limit);
  }

  partsOf(section: string, from: number, limit: number): readonly NumberedPart[] {
    const most = Number.isFinite(limit) ? limit : -1;
    const sql = `SELECT ${COLUMNS} FROM part WHERE section = ? AND number >= ? ORDER BY number LIMIT ?`;
    return this.#read(sql, section, from, most);
  }

  known(section: string): readonly Part[] {
    return this.#read(`SELECT ${COLUMNS} FROM known WHERE section = ? ORDER BY number`, section);
  }

  lastPart(): number {
    return this.#sql.exec<{ n: number }>(`SELECT coalesce(max(number), 0) AS n FROM part`).one().n;
  }

  isMarked(key: string): boolean {
    return this.#sql.exec(`SELECT 1 FROM mark WHERE key = ?`, key).toArray().length > 0;
  }

  /** Writes, so that the runtime sends nothing more before it knows that no newer instance has this storage. */
  stillRuns({ id }: JobRecord): boolean {
    const sql = `UPDATE job SET record = record
      WHERE id = 1 AND record ->> 'id' = ? AND record ->> 'state' = 'running' RETURNING id`;
    return this.#sql.exec(sql, id).toArray().length > 0;
  }

  #clear(): void {
    for (const table of ["part", "known", "mark"]) this.#sql.exec(`DELETE FROM ${table}`);
  }

  #add(table: "part" | "known", { section, digest, bytes, count, info }: Part): void {
    this.#sql.exec(
      `INSERT INTO ${table} (section, digest, bytes, count, info) VALUES (?, ?, ?, ?, ?)`,
      section,
      digest,
      bytes,
      count,
      info,
    );
  }

  #read(sql: string, ...values: (string | number)[]): readonly NumberedPart[] {
    return this.#sql.exec<PartRow>(sql, ...values).toArray() as unknown as readonly NumberedPart[];
  }
}
