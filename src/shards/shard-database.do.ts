import { DurableObject } from "cloudflare:workers";
import { appliedMigrations, applyMigrations, executeAll } from "../platform/storage/object-execute.ts";
import type { Migration, ObjectAnswer, ObjectDatabase, SentStatement } from "../platform/storage/object-protocol.ts";
import {
  prepareRestore,
  type PrepareOutcome,
  type Restorable,
  type RestoreTo,
} from "../platform/storage/object-restore.ts";
import type { ObjectSchema } from "../platform/storage/object-schema.ts";

/**
 * A shard that is a Durable Object with SQLite in it, where another one is a database of D1. It knows no table: its
 * callers bring statements and schema (platform/storage/object-protocol.ts). Each call is one turn and one transaction,
 * and is answered when SQLite has stored what it wrote.
 */
export class ShardDatabase extends DurableObject<unknown> implements Local<ObjectDatabase>, Restorable {
  /** Migrations that are known to be applied. */
  #applied: ReadonlySet<string> = new Set();

  execute(newest: string, statements: readonly SentStatement[]): ObjectAnswer {
    if (!this.#applied.has(newest)) this.#applied = appliedMigrations(this.ctx.storage.sql);
    return this.#applied.has(newest) ? executeAll(this.#storage, statements) : { kind: "older" };
  }

  migrate(migrations: readonly Migration[]): string | undefined {
    return applyMigrations(this.#storage, migrations);
  }

  prepareRestore(to: RestoreTo): Promise<PrepareOutcome> {
    return prepareRestore(this.ctx.storage, to);
  }

  /** Ends this session; the next one begins with what was prepared. */
  restart(): void {
    this.ctx.abort("restored to another time");
  }

  get #storage() {
    const { storage } = this.ctx;
    return { sql: storage.sql, transactionSync: <T>(work: () => T): T => storage.transactionSync(work) };
  }
}

/** An object as it is written; its callers wait for each method. */
type Local<T> = {
  [Name in keyof T]: T[Name] extends (...args: infer Args) => Promise<infer Answer> ? (...args: Args) => Answer : never;
};

/** Only the list of migrations says what the tables are, and each release works with those of the next one. */
export const SHARD_SCHEMA: ObjectSchema = { object: "ShardDatabase", table: "d1_migrations", version: 1 };
