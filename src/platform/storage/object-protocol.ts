/**
 * The calls from a Worker to an object that is a database: one for a statement or a batch.
 *
 *   Worker: execute(newest, statements) ──▶ object: has it the migration `newest`?
 *     ├── yes ──▶ all statements in one transaction ──▶ "done", or "failed" and nothing changed
 *     └── no  ──▶ "older" ──▶ Worker: migrate(all migrations) ──▶ execute again
 *
 * The Worker sends the schema, since objects may run the code of the previous release for some time. The first call of
 * a new release migrates an object, so one that was idle for a year needs nothing else. A release that finds a newer
 * schema works with it, as it does in D1.
 */
export interface ObjectDatabase {
  /**
   * `newest`: the name of the migration that the statements need. `wakes`: the number of a tenant object, which gets an
   * alarm if the statements change rows.
   */
  execute(newest: string, statements: readonly SentStatement[], wakes?: number): Promise<ObjectAnswer>;
  /** Applies those of a release's migrations that are missing, in order. Answers with the error if one failed. */
  migrate(migrations: readonly Migration[]): Promise<string | undefined>;
}

/** A tenant object (tenant-objects.ts). Its alarm sends the job that sweeps it. */
export interface WakingObject {
  /**
   * Ends a sweep: sets the alarm to the time in ms that this query selects as `dueAt`. NULL: the next change sets it.
   */
  rest(dueSql: string): Promise<void>;
}

export type SqlValue = SqlStorageValue;

export interface SentStatement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

export type ObjectAnswer =
  | { readonly kind: "done"; readonly results: readonly StatementResult[]; readonly sizeBytes: number }
  | { readonly kind: "older" }
  /** `message`: SQLite's error. The transaction was rolled back. */
  | { readonly kind: "failed"; readonly message: string };

export interface StatementResult {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly SqlValue[])[];
  /** Changed rows as D1 counts them: including those of triggers. */
  readonly changes: number;
  readonly lastRowId: number;
  /** Read and written rows as they are billed. */
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

export interface Migration {
  /** The name of its file in migrations/. */
  readonly name: string;
  readonly sql: string;
}
