/**
 * A database that failed to answer: the caller gets 503 and may repeat the request, since every write is conditional or
 * may run twice. The error of D1 is the cause, for the log.
 */
export class StoreUnavailable extends Error {
  override name = "StoreUnavailable";
}

/** The database's own time in ms since 1970, as a part of a statement. */
export const DATABASE_NOW_MS = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`;
export const AS_OF = `SELECT ${DATABASE_NOW_MS} AS asOfMs`;

/**
 * Wraps D1, so that failed calls throw `StoreUnavailable`. A message does not show that D1 failed: the binding prefixes
 * its own errors with `D1_ERROR`, but throws the runtime's error unchanged if the connection to D1 is lost.
 */
export function guardDatabase(
  db: D1Database,
  onTrip: OnTrip = () => {},
  around: AroundTrip = (_, call) => call(),
): D1Database {
  const how = { onTrip, around };
  const guarded = {
    prepare: (sql: string) => new GuardedStatement(db.prepare(sql), sql, how),
    /** Unwraps the statements, since D1 accepts only its own. */
    batch: (statements: readonly (GuardedStatement | D1PreparedStatement)[]) =>
      trip(how, `batch of ${statements.length}`, () =>
        db.batch(statements.map((one) => (one instanceof GuardedStatement ? one.statement : one))),
      ),
  };
  return guarded as unknown as D1Database;
}

/** Called after each round trip with the results of its statements; with undefined if it failed. */
export type OnTrip = (results: readonly D1Result[] | undefined) => void;

/** Runs a round trip. `what`: the statement, without its bound values, or the number of statements. */
export type AroundTrip = <T>(what: string, call: () => Promise<T>) => Promise<T>;

interface How {
  readonly onTrip: OnTrip;
  readonly around: AroundTrip;
}

/** A deployment applies migrations first. A Worker that was uploaded in another way may run without them. */
const OLDER = "D1 has older tables than this release: apply migrations/";

class GuardedStatement implements Pick<D1PreparedStatement, "run" | "all" | "first"> {
  readonly statement: D1PreparedStatement;
  readonly #sql: string;
  readonly #how: How;

  constructor(statement: D1PreparedStatement, sql: string, how: How) {
    this.statement = statement;
    this.#sql = sql;
    this.#how = how;
  }

  bind(...values: unknown[]): GuardedStatement {
    return new GuardedStatement(this.statement.bind(...values), this.#sql, this.#how);
  }

  async run<T>(): Promise<D1Result<T>> {
    const [result] = await trip(this.#how, this.#sql, async () => [await this.statement.run<T>()] as const);
    return result;
  }

  async all<T>(): Promise<D1Result<T>> {
    const [result] = await trip(this.#how, this.#sql, async () => [await this.statement.all<T>()] as const);
    return result;
  }

  /** Uses `all`, which is the same call and, unlike the binding's `first`, returns the number of rows read. */
  async first<T>(column?: string): Promise<T | null> {
    const { results } = await this.all<Record<string, T>>();
    const row = results[0];
    if (row === undefined) return null;
    if (column === undefined) return row as T;
    if (!Object.hasOwn(row, column)) throw new Error(`the statement has no column ${column}`);
    return row[column] ?? null;
  }
}

async function trip<Results extends readonly D1Result[]>(
  { onTrip, around }: How,
  what: string,
  call: () => Promise<Results>,
): Promise<Results> {
  try {
    const results = await around(what, call);
    onTrip(results);
    return results;
  } catch (thrown) {
    onTrip(undefined);
    const isOlder = /\bno such (table|column)\b|\bhas no column named\b/.test(String(thrown));
    throw new StoreUnavailable(isOlder ? OLDER : "D1 did not execute the statement", { cause: thrown });
  }
}
