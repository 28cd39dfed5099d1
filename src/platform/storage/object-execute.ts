import { hasTable } from "./has-table.ts";
import type { Migration, ObjectAnswer, SentStatement, SqlValue, StatementResult } from "./object-protocol.ts";

/** The storage of an object. Nothing in this file awaits, so no other call of the object runs in between. */
export type ObjectStorage = Pick<DurableObjectStorage, "sql" | "transactionSync">;

/**
 * Maximum size of an answer: four times the largest one of the platform. An isolate has 128 MB for all of its objects,
 * and Cloudflare refuses answers of 32 MiB.
 */
export const MOST_ANSWER_BYTES = 16 * 1024 * 1024;

/** The table of `wrangler d1 migrations`, as D1 has it. */
const LIST = `CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE,
  applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)`;
const APPLIED = `SELECT name FROM d1_migrations WHERE id > 0`;
const COUNTS = `SELECT total_changes() AS changes, last_insert_rowid() AS lastRowId`;

export function appliedMigrations(sql: SqlStorage): ReadonlySet<string> {
  if (!hasTable(sql, "d1_migrations")) return new Set();
  return new Set(Array.from(sql.exec<{ name: string }>(APPLIED), ({ name }) => name));
}

/** Applies the missing migrations, each in a transaction. Returns the error if one fails; the next call retries it. */
export function applyMigrations(
  { sql, transactionSync }: ObjectStorage,
  migrations: readonly Migration[],
): string | undefined {
  sql.exec(LIST);
  const applied = appliedMigrations(sql);
  try {
    for (const { name, sql: text } of migrations) {
      if (applied.has(name)) continue;
      transactionSync(() => {
        sql.exec(text);
        sql.exec(`INSERT INTO d1_migrations (name) VALUES (?)`, name);
      });
    }
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

/** Runs all statements in one transaction: all of them or none. */
export function executeAll(
  { sql, transactionSync }: ObjectStorage,
  statements: readonly SentStatement[],
): Exclude<ObjectAnswer, { readonly kind: "older" }> {
  let bytes = 0;
  let counts = countsOf(sql);
  const executeOne = ({ sql: text, values }: SentStatement): StatementResult => {
    const cursor = sql.exec(text, ...values);
    const rows: SqlValue[][] = [];
    for (const row of cursor.raw<SqlValue[]>()) {
      for (const value of row) bytes += sizeOf(value);
      if (bytes > MOST_ANSWER_BYTES) throw new Error(`the answer has more than ${MOST_ANSWER_BYTES} bytes`);
      rows.push(row);
    }
    const before = counts;
    counts = countsOf(sql);
    return {
      columns: cursor.columnNames,
      rows,
      changes: counts.changes - before.changes,
      lastRowId: counts.lastRowId,
      rowsRead: cursor.rowsRead,
      rowsWritten: cursor.rowsWritten,
    };
  };
  try {
    const results = transactionSync(() => statements.map(executeOne));
    return { kind: "done", results, sizeBytes: sql.databaseSize };
  } catch (thrown) {
    return { kind: "failed", message: messageOf(thrown) };
  }
}

const countsOf = (sql: SqlStorage) => sql.exec<{ changes: number; lastRowId: number }>(COUNTS).one();

const sizeOf = (value: SqlValue): number =>
  typeof value === "string" ? value.length : value instanceof ArrayBuffer ? value.byteLength : 8;

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
