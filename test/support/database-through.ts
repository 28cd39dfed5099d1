import { env } from "cloudflare:workers";

/** Lets a call fail before it takes effect, after it, or not at all. */
export type Fault = <T>(call: () => Promise<T>) => Promise<T>;

/** Returns the database with `fault` around each call. A transaction is one call. */
export function databaseThrough(fault: Fault, db = env.DB): D1Database {
  const real = new WeakMap<object, D1PreparedStatement>();
  const statement = (target: D1PreparedStatement): D1PreparedStatement => {
    const through = {
      bind: (...values: unknown[]) => statement(target.bind(...values)),
      all: () => fault(() => target.all()),
      run: () => fault(() => target.run()),
      first: (column?: string) => fault(() => (column === undefined ? target.first() : target.first(column))),
    } as unknown as D1PreparedStatement;
    real.set(through, target);
    return through;
  };
  return {
    prepare: (sql: string) => statement(db.prepare(sql)),
    batch: (statements: D1PreparedStatement[]) => fault(() => db.batch(statements.map((one) => real.get(one)!))),
  } as unknown as D1Database;
}
