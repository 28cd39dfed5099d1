import { faults, type FaultName } from "./faults.ts";

/** Error messages of D1 and of R2, queues and Images. The platform distinguishes errors of D1 by these texts. */
const OVERLOADED = "D1_ERROR: D1 DB is overloaded. Requests queued for too long.";
const FULL = "D1_ERROR: Exceeded maximum DB size: SQLITE_FULL";
const DOWN = "We encountered an internal error. Please try again. (10001)";

const WRITES = /^\s*(INSERT|UPDATE|DELETE|REPLACE|WITH\b[^]*\b(INSERT|UPDATE|DELETE))\b/i;

/** Fails, or waits, as these statements do now. */
export async function passDatabase(what: "database" | "shards", sqls: readonly string[]): Promise<void> {
  const how = faults.now(what);
  if (how === "overloaded") throw new Error(OVERLOADED);
  if (how === "full" && sqls.some((sql) => WRITES.test(sql))) throw new Error(FULL);
  await faults.stalled(what);
}

type Pass = (sqls: readonly string[]) => Promise<void>;

const real = new WeakMap<object, { readonly statement: D1PreparedStatement; readonly sql: string }>();
const RUNS = ["first", "all", "run", "raw"] as const;

function faultyStatement(statement: D1PreparedStatement, sql: string, pass: Pass): D1PreparedStatement {
  const made = {
    bind: (...values: unknown[]) => faultyStatement(statement.bind(...values), sql, pass),
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

export function faultyDatabase(db: D1Database, what: "database" | "shards"): D1Database {
  const pass: Pass = (sqls) => passDatabase(what, sqls);
  const shape = {
    prepare: (sql: string) => faultyStatement(db.prepare(sql), sql, pass),
    async batch(statements: readonly D1PreparedStatement[]) {
      const all = statements.map((statement) => real.get(statement)!);
      await pass(all.map(({ sql }) => sql));
      return db.batch(all.map(({ statement }) => statement));
    },
  };
  return shape as unknown as D1Database;
}

/** Names of methods that prepare a call and return what makes it. */
const PREPARING = new Set(["input", "transform"]);

/** A bucket, the queue's sender or the Images binding: its calls wait, or fail, while the part does. */
export const faultyBinding = <T extends object>(binding: T, what: FaultName): T =>
  new Proxy(binding, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      const run = (args: unknown[]): unknown => (value as (...all: unknown[]) => unknown).apply(target, args);
      if (PREPARING.has(String(name))) return (...args: unknown[]) => faultyBinding(run(args) as object, what);
      return async (...args: unknown[]): Promise<unknown> => {
        await faults.stalled(what);
        if (faults.now(what) === "down") throw new Error(`${String(name)}: ${DOWN}`);
        return run(args);
      };
    },
  });
