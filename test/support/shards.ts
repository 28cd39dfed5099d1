import { env } from "cloudflare:workers";
import { it } from "vitest";
import type { Env } from "../../src/env.ts";
import { homeOf } from "../../src/platform/storage/home.ts";
import { shardBinding, shardsOf, type Shard } from "../../src/platform/storage/shards.ts";
import { tenantObjects, type TenantObjects } from "../../src/platform/storage/tenant-objects.ts";

/** Calls `make` until it returns an address or topic whose home is this shard, where its grants or push records lie. */
export function addressIn(shard: number, make: () => string): string {
  for (;;) {
    const email = make();
    if (homeOf(email, shardsOf(env).length) === shard) return email;
  }
}

/** The form of a cookie, code or refresh token, of the directory or of another shard. */
export const HELD = /^(?:[\w-]{43}|[\w-]{44}(?:~[\w-]+){3})$/;

/** Returns the database with this number. */
export const shardDb = (number: number): D1Database => (shardsOf(env)[number] ?? objects.at(number)).db;

/** Returns the bindings of a platform with only the first `count` databases, as before the others were added. */
export const onlyShards = (count: number): Partial<Env> => ({
  ...Object.fromEntries(shardsOf(env).map(({ number, db }) => [shardBinding(number), number < count ? db : undefined])),
  OBJECT_SHARDS: "",
});

/** `SHARDS=own`: the tenants of the media tests have objects of their own. */
export const isOwn = env.TENANT_OBJECTS.startsWith("new:");

/** A test that counts calls of the databases of D1, or names one. */
// oxlint-disable-next-line jest/no-disabled-tests -- It is disabled where there is nothing to count.
export const inShards = it.skipIf(isOwn);

/** The tenant objects that tests of this runtime have used. A new file empties them (runtime/fresh-start.ts). */
const runtime = globalThis as { usedObjects?: Set<number> };
export const usedObjects = (runtime.usedObjects ??= new Set());

const objects = tenantObjects(env.SHARD_DATABASE);
export const testObjects: TenantObjects = {
  ...objects,
  at(number) {
    usedObjects.add(number);
    return objects.at(number);
  },
};

/** The databases of the shards, and the tenant objects in use. */
export const allDatabases = (): readonly Shard[] => [
  ...shardsOf(env),
  ...[...usedObjects].map((number) => objects.at(number)),
];

/** A statement with values, to be run in each database. */
class Statement {
  readonly #sql: string;
  readonly values: readonly unknown[];

  constructor(sql: string, values: readonly unknown[] = []) {
    this.#sql = sql;
    this.values = values;
  }

  bind(...values: unknown[]): Statement {
    return new Statement(this.#sql, values);
  }

  in(db: D1Database): D1PreparedStatement {
    return db.prepare(this.#sql).bind(...this.values);
  }

  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- As of a statement of D1.
  async all<T>(): Promise<{ results: T[] }> {
    const answers = await Promise.all(allDatabases().map(({ db }) => this.in(db).all<T>()));
    return { results: answers.flatMap(({ results }) => results) };
  }

  run = () => this.all();

  /** Returns the row of the only database that has it. A count named `n` is the sum of all databases. */
  async first<T = Record<string, unknown>>(column?: string): Promise<T | null> {
    const rows = (await this.all<Record<string, unknown>>()).results;
    if (column === "n") return rows.reduce((sum, { n }) => sum + Number(n), 0) as T;
    const [row] = rows;
    if (row === undefined) return null;
    return (column === undefined ? row : row[column]) as T;
  }
}

/**
 * All databases as one, to read rows, and to change rows by a key that only one database has. An insert goes to each
 * database.
 */
export const everywhere = {
  prepare: (sql: string) => new Statement(sql),
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- As of a database.
  async batch<T = unknown>(statements: readonly Statement[]): Promise<{ results: T[] }[]> {
    const answers = await Promise.all(
      allDatabases().map(({ db }) => db.batch<T>(statements.map((statement) => statement.in(db)))),
    );
    return statements.map((_, at) => ({ results: answers.flatMap((answer) => answer[at]!.results) }));
  },
};
