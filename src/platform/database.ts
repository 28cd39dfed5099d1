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
export function guardDatabase(db: D1Database): D1Database {
  const guarded = {
    prepare: (sql: string) => new GuardedStatement(db.prepare(sql)),
    /** D1 takes only its own statements. */
    batch: (statements: readonly (GuardedStatement | D1PreparedStatement)[]) =>
      orUnavailable(() => db.batch(statements.map((one) => (one instanceof GuardedStatement ? one.statement : one)))),
  };
  return guarded as unknown as D1Database;
}

class GuardedStatement implements Pick<D1PreparedStatement, "run" | "all" | "first"> {
  readonly statement: D1PreparedStatement;

  constructor(statement: D1PreparedStatement) {
    this.statement = statement;
  }

  bind(...values: unknown[]): GuardedStatement {
    return new GuardedStatement(this.statement.bind(...values));
  }

  run<T>(): Promise<D1Result<T>> {
    return orUnavailable(() => this.statement.run<T>());
  }

  all<T>(): Promise<D1Result<T>> {
    return orUnavailable(() => this.statement.all<T>());
  }

  first<T>(column?: string): Promise<T | null> {
    return orUnavailable(() => (column === undefined ? this.statement.first<T>() : this.statement.first<T>(column)));
  }
}

async function orUnavailable<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (thrown) {
    throw new StoreUnavailable("D1 did not execute the statement", { cause: thrown });
  }
}
