import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { ROOT } from "../root.ts";
import { UserError } from "../user-error.ts";

/** The methods of D1 that are used here. */
interface Database {
  prepare(sql: string): Statement;
  batch(statements: Statement[]): Promise<unknown>;
}
interface Statement {
  bind(...values: unknown[]): Statement;
  run(): Promise<unknown>;
  all(): Promise<{ results: unknown[] }>;
}

/** The table that `wrangler d1 migrations` uses too, so that each can continue the other's work. */
const CREATE_TABLE =
  "CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, " +
  "applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)";

const migrationNames = (): string[] => readdirSync(join(ROOT, "migrations")).filter((name) => name.endsWith(".sql"));

/**
 * Applies new files of migrations/ in one transaction; returns their names. A database that has migrations of another
 * version is refused: this version does not know its tables.
 */
export async function applyMigrations(db: Database, known = migrationNames()): Promise<string[]> {
  await db.prepare(CREATE_TABLE).run();
  const { results } = await db.prepare("SELECT name FROM d1_migrations").all();
  const applied = new Set(results.map((row) => (row as { name: string }).name));
  const foreign = [...applied].filter((name) => !known.includes(name));
  if (foreign.length > 0)
    throw new UserError(
      `The stored state was made by another version of Plinth (${foreign.join(", ")}). Start that version, or name a new STATE_DIR.`,
    );
  const files = known.filter((name) => !applied.has(name)).toSorted();
  // Sent as one text: a call from Node into the runtime for each statement would be a thousand for a new database.
  if (files.length > 0) await db.batch([db.prepare(files.map(textOf).join("\n"))]);
  return files;
}

const textOf = (name: string): string => `${readFileSync(join(ROOT, "migrations", name), "utf8")}
INSERT INTO d1_migrations (name) VALUES ('${name}');`;

/**
 * The local queue is in memory, so its messages are lost with the last run. Marks variants that had one as due, so that
 * the first sweep sends it again; those that wait for their turn are due later. (Deployed, queues keep their messages.)
 */
export async function forgetLostMessages(db: Database, nowMs: number): Promise<void> {
  const sentUntilMs = nowMs + LIMITS.variantResendMs;
  const sql = "UPDATE variant SET due_at = ?1 WHERE state = 'pending' AND due_at > ?1 AND due_at <= ?2";
  await db.prepare(sql).bind(nowMs, sentUntilMs).run();
}
