import { RestorableObject } from "../platform/storage/restorable-object.do.ts";
import { appliedMigrations, applyMigrations, executeAll } from "../platform/storage/object-execute.ts";
import type { Migration, ObjectAnswer, ObjectDatabase, SentStatement } from "../platform/storage/object-protocol.ts";
import type { ObjectSchema } from "../platform/storage/object-schema.ts";

/**
 * A shard that is a Durable Object with SQLite instead of a D1 database. It has no table of its own: its callers send
 * statements and migrations (platform/storage/object-protocol.ts). Each call runs in one transaction without
 * interruption, and is answered when its writes are stored.
 */
export class ShardDatabase extends RestorableObject<unknown> implements Local<ObjectDatabase> {
  /** Migrations that this instance has seen as applied. */
  #applied: ReadonlySet<string> = new Set();

  execute(newest: string, statements: readonly SentStatement[]): ObjectAnswer {
    if (!this.#applied.has(newest)) this.#applied = appliedMigrations(this.ctx.storage.sql);
    return this.#applied.has(newest) ? executeAll(this.#storage, statements) : { kind: "older" };
  }

  migrate(migrations: readonly Migration[]): string | undefined {
    return applyMigrations(this.#storage, migrations);
  }

  get #storage() {
    const { storage } = this.ctx;
    return { sql: storage.sql, transactionSync: <T>(work: () => T): T => storage.transactionSync(work) };
  }
}

/** The object implements these methods synchronously; its callers get promises. */
type Local<T> = {
  [Name in keyof T]: T[Name] extends (...args: infer Args) => Promise<infer Answer> ? (...args: Args) => Answer : never;
};

/** The version never changes: migrations change the tables, and each release works with the migrations of the next. */
export const SHARD_SCHEMA: ObjectSchema = { object: "ShardDatabase", table: "d1_migrations", version: 1 };
