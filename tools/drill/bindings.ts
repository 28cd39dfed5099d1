import { faults } from "./faults.ts";

/** Error messages of D1 and R2. The platform distinguishes errors by these texts. */
const OVERLOADED = "D1_ERROR: D1 DB is overloaded. Requests queued for too long.";
const FULL = "D1_ERROR: Exceeded maximum DB size: SQLITE_FULL";
const DOWN = "We encountered an internal error. Please try again. (10001)";

const WRITES = /^\s*(INSERT|UPDATE|DELETE|REPLACE|WITH\b[^]*\b(INSERT|UPDATE|DELETE))\b/i;

async function pass(sqls: readonly string[]): Promise<void> {
  const how = faults.now("database");
  if (how === "overloaded") throw new Error(OVERLOADED);
  if (how === "full" && sqls.some((sql) => WRITES.test(sql))) throw new Error(FULL);
  await faults.stalled("database");
}

const real = new WeakMap<object, { readonly statement: D1PreparedStatement; readonly sql: string }>();
const RUNS = ["first", "all", "run", "raw"] as const;

function faultyStatement(statement: D1PreparedStatement, sql: string): D1PreparedStatement {
  const made = {
    bind: (...values: unknown[]) => faultyStatement(statement.bind(...values), sql),
    ...Object.fromEntries(
      RUNS.map((run) => [
        run,
        async (...args: unknown[]): Promise<unknown> => {
          await pass([sql]);
          return (statement[run] as (...all: unknown[]) => unknown)(...args);
        },
      ]),
    ),
  } as unknown as D1PreparedStatement;
  real.set(made, { statement, sql });
  return made;
}

export const faultyDatabase = (db: D1Database): D1Database =>
  ({
    prepare: (sql: string) => faultyStatement(db.prepare(sql), sql),
    async batch(statements: readonly D1PreparedStatement[]) {
      const all = statements.map((statement) => real.get(statement)!);
      await pass(all.map(({ sql }) => sql));
      return db.batch(all.map(({ statement }) => statement));
    },
  }) as unknown as D1Database;

export const faultyBucket = (bucket: R2Bucket): R2Bucket =>
  new Proxy(bucket, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return async (...args: unknown[]): Promise<unknown> => {
        if (faults.now("bucket") === "down") throw new Error(`${String(name)}: ${DOWN}`);
        return (value as (...all: unknown[]) => unknown).apply(target, args);
      };
    },
  });
