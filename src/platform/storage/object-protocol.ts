/**
 * The calls from a Worker to an object that is a database: one for a statement or a batch.
 *
 *   Worker: execute(newest, statements) ──▶ object: has it the migration `newest`?
 *     ├── yes ──▶ all statements in one transaction ──▶ "done", or "failed" and nothing changed
 *     └── no  ──▶ "older" ──▶ Worker: migrate(all migrations) ──▶ execute again
 *
 * The Worker brings the schema, since objects may run the code of the release before it for some time. So an object
 * that sleeps for a year needs nobody to migrate it: the first call of a release does. A release finds a newer schema
 * as it finds one in D1, and works with it.
 */
export interface ObjectDatabase {
  /** `newest`: the name of the migration that the statements need. */
  execute(newest: string, statements: readonly SentStatement[]): Promise<ObjectAnswer>;
  /** All migrations of a release, in order. Those that were applied are left out. Answers what failed, if any did. */
  migrate(migrations: readonly Migration[]): Promise<string | undefined>;
}

export type SqlValue = SqlStorageValue;

export interface SentStatement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

export type ObjectAnswer =
  | { readonly kind: "done"; readonly results: readonly StatementResult[]; readonly sizeBytes: number }
  | { readonly kind: "older" }
  /** As SQLite says it. The transaction was rolled back. */
  | { readonly kind: "failed"; readonly message: string };

export interface StatementResult {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly SqlValue[])[];
  /** As D1 counts them: with those of triggers. */
  readonly changes: number;
  readonly lastRowId: number;
  /** As they are billed. */
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

export interface Migration {
  /** The name of its file in migrations/. */
  readonly name: string;
  readonly sql: string;
}
