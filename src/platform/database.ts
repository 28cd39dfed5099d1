/**
 * A database that failed to answer: the caller gets 503 and may repeat the request, since every write is conditional or
 * may run twice. The error of D1 is the cause, for the log.
 */
export class StoreUnavailable extends Error {
  override name = "StoreUnavailable";
}

/** The database's own time in ms since 1970, as a part of a statement. */
export const DATABASE_NOW_MS = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`;

/**
 * D1 whose failed calls throw `StoreUnavailable`. The message cannot tell them: the binding prefixes its own errors
 * with `D1_ERROR`, but throws the runtime's error as it is if the connection to D1 is lost.
 */
export function guardDatabase(db: D1Database, onTrip: OnTrip = () => {}): D1Database {
  const guarded = {
    prepare: (sql: string) => new GuardedStatement(db.prepare(sql), onTrip),
    /** D1 takes only its own statements. */
    batch: (statements: readonly (GuardedStatement | D1PreparedStatement)[]) =>
      trip(onTrip, () => db.batch(statements.map((one) => (one instanceof GuardedStatement ? one.statement : one)))),
  };
  return guarded as unknown as D1Database;
}

/** Is told of each round trip: the results of its statements, or undefined if it failed. */
export type OnTrip = (results: readonly D1Result[] | undefined) => void;

/** The deployment applies migrations first; whoever uploads a Worker by another way may leave that out. */
const OLDER = "D1 has older tables than this release: apply migrations/";

class GuardedStatement implements Pick<D1PreparedStatement, "run" | "all" | "first"> {
  readonly statement: D1PreparedStatement;
  readonly #onTrip: OnTrip;

  constructor(statement: D1PreparedStatement, onTrip: OnTrip) {
    this.statement = statement;
    this.#onTrip = onTrip;
  }

  bind(...values: unknown[]): GuardedStatement {
    return new GuardedStatement(this.statement.bind(...values), this.#onTrip);
  }

  async run<T>(): Promise<D1Result<T>> {
    const [result] = await trip(this.#onTrip, async () => [await this.statement.run<T>()] as const);
    return result;
  }

  async all<T>(): Promise<D1Result<T>> {
    const [result] = await trip(this.#onTrip, async () => [await this.statement.all<T>()] as const);
    return result;
  }

  /** The binding sends the same for `all`, but tells only there how many rows were read. */
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
  onTrip: OnTrip,
  call: () => Promise<Results>,
): Promise<Results> {
  try {
    const results = await call();
    onTrip(results);
    return results;
  } catch (thrown) {
    onTrip(undefined);
    const isOlder = /\bno such (table|column)\b|\bhas no column named\b/.test(String(thrown));
    throw new StoreUnavailable(isOlder ? OLDER : "D1 did not execute the statement", { cause: thrown });
  }
}
