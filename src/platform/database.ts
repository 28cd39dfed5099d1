/**
 * D1 as the stores see it: a call that fails throws `StoreUnavailable`, which the outside sees as 503 and may repeat,
 * since every write here is conditional or may run twice. What D1 said is the cause, for the log.
 */
export class StoreUnavailable extends Error {
  override name = "StoreUnavailable";
}

/** The database's own time in ms since 1970, as a part of a statement. */
export const DATABASE_NOW_MS = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`;

export function guardDatabase(db: D1Database): D1Database {
  /** The statement behind a guarded one: `batch` takes real ones only. */
  const real = new WeakMap<D1PreparedStatement, D1PreparedStatement>();

  const guardStatement = (statement: D1PreparedStatement): D1PreparedStatement => {
    const guarded = new Proxy(statement, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name === "bind") return (...values: unknown[]) => guardStatement(target.bind(...values));
        return (...args: unknown[]) => orUnavailable(() => value.apply(target, args) as Promise<unknown>);
      },
    });
    real.set(guarded, statement);
    return guarded;
  };

  return new Proxy(db, {
    get(target, name) {
      if (name === "prepare") return (sql: string) => guardStatement(target.prepare(sql));
      if (name === "batch")
        return (statements: D1PreparedStatement[]) =>
          orUnavailable(() => target.batch(statements.map((statement) => real.get(statement) ?? statement)));
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

async function orUnavailable<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (thrown) {
    throw new StoreUnavailable("D1 did not do what it was asked", { cause: thrown });
  }
}
