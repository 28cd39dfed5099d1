import { env } from "cloudflare:workers";
import { guardDatabase } from "../../../src/platform/storage/database.ts";

/**
 * A database whose next statements of a kind fail: before they run, or after they ran, as when the answer is lost.
 * `run` is called before each of them.
 */
export function faultyDatabase(
  sql: string,
  fault: { readonly fails?: "before" | "after"; readonly times?: number; run?(): Promise<unknown> },
): D1Database {
  let left = fault.times ?? 1;
  const real = new WeakMap<object, { statement: D1PreparedStatement; matches: boolean }>();
  const step = async <T>(matches: boolean, run: () => Promise<T>): Promise<T> => {
    if (!matches || left === 0) return run();
    left -= 1;
    await fault.run?.();
    if (fault.fails === "before") throw new Error("injected: not run");
    const outcome = await run();
    if (fault.fails === "after") throw new Error("injected: answer lost");
    return outcome;
  };
  const wrap = (statement: D1PreparedStatement, matches: boolean): D1PreparedStatement => {
    const wrapped = new Proxy(statement, {
      get(target, name) {
        const value = Reflect.get(target, name, target) as (...given: unknown[]) => any;
        if (name === "bind") return (...given: unknown[]) => wrap(target.bind(...given), matches);
        return (...given: unknown[]) => step(matches, () => value.apply(target, given));
      },
    });
    real.set(wrapped, { statement, matches });
    return wrapped;
  };
  const db = {
    prepare: (text: string) => wrap(env.DB.prepare(text), text === sql),
    batch: (statements: D1PreparedStatement[]) => {
      const known = statements.map((one) => real.get(one)!);
      return step(
        known.some(({ matches }) => matches),
        () => env.DB.batch(known.map(({ statement }) => statement)),
      );
    },
  };
  return guardDatabase(db as unknown as D1Database);
}
