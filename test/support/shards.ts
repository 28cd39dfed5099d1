import { env } from "cloudflare:workers";
import type { Env } from "../../src/env.ts";
import { homeOf } from "../../src/platform/storage/home.ts";
import { shardBinding, shardsOf } from "../../src/platform/storage/shards.ts";

/** `make` anew until it gives an address or topic whose home is this shard: grants and push records lie there. */
export function addressIn(shard: number, make: () => string): string {
  for (;;) {
    const email = make();
    if (homeOf(email, shardsOf(env).length) === shard) return email;
  }
}

/** A cookie, code or refresh token: of the directory, or of another shard. */
export const HELD = /^(?:[\w-]{43}|[\w-]{44}(?:~[\w-]+){3})$/;

/** The database with a number. */
export const shardDb = (number: number): D1Database => shardsOf(env)[number]!.db;

/** The bindings of a platform with the first `count` databases, as before the others were added. */
export const onlyShards = (count: number): Partial<Env> => ({
  ...Object.fromEntries(shardsOf(env).map(({ number, db }) => [shardBinding(number), number < count ? db : undefined])),
  OBJECT_SHARDS: "",
});

/** Values of a statement, to be bound in each database. */
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
    const answers = await Promise.all(shardsOf(env).map(({ db }) => this.in(db).all<T>()));
    return { results: answers.flatMap(({ results }) => results) };
  }

  run = () => this.all();

  /** The row of the one database that has it; a count named `n` is that of all. */
  async first<T = Record<string, unknown>>(column?: string): Promise<T | null> {
    const rows = (await this.all<Record<string, unknown>>()).results;
    if (column === "n") return rows.reduce((sum, { n }) => sum + Number(n), 0) as T;
    const [row] = rows;
    if (row === undefined) return null;
    return (column === undefined ? row : row[column]) as T;
  }
}

/**
 * All databases as one, to look at rows and to change them by a key that only one of them has. What is inserted here is
 * inserted in each.
 */
export const everywhere = {
  prepare: (sql: string) => new Statement(sql),
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- As of a database.
  async batch<T = unknown>(statements: readonly Statement[]): Promise<{ results: T[] }[]> {
    const answers = await Promise.all(
      shardsOf(env).map(({ db }) => db.batch<T>(statements.map((statement) => statement.in(db)))),
    );
    return statements.map((_, at) => ({ results: answers.flatMap((answer) => answer[at]!.results) }));
  },
};
