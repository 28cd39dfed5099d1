import type { Env } from "../../src/env.ts";

/**
 * Bindings whose every call fails once: it takes effect, and its answer is lost. A call is told by what it does and by
 * its arguments, so its repeat succeeds.
 */
export function losingAnswers(env: Env): { readonly env: Env; readonly lost: () => number } {
  const seen = new Set<string>();
  const answered = async <T>(what: string, call: () => Promise<T>): Promise<T> => {
    const answer = await call();
    if (seen.has(what)) return answer;
    seen.add(what);
    throw new Error(`lost: ${what.slice(0, 200)}`);
  };
  const namespace = (name: string, given: object) =>
    wrap(given, {
      getByName: (object: string) =>
        methodsOf((given as DurableObjectNamespace).getByName(object), `${name} ${object}`, answered),
    });
  return {
    env: {
      ...env,
      DB: losingDatabase(env.DB, answered),
      MEDIA: methodsOf(env.MEDIA, "MEDIA", answered),
      BACKUP: methodsOf(env.BACKUP!, "BACKUP", answered),
      TOPIC_LOG: namespace("log", env.TOPIC_LOG) as Env["TOPIC_LOG"],
      TOPIC_CONSUMER: namespace("consumer", env.TOPIC_CONSUMER) as Env["TOPIC_CONSUMER"],
      PUSH_SUBSCRIPTION: namespace("push", env.PUSH_SUBSCRIPTION) as Env["PUSH_SUBSCRIPTION"],
      SHARD_DATABASE: namespace("shard", env.SHARD_DATABASE) as Env["SHARD_DATABASE"],
      METRICS_STORE: namespace("metrics", env.METRICS_STORE) as Env["METRICS_STORE"],
    },
    lost: () => seen.size,
  };
}

type Answered = <T>(what: string, call: () => Promise<T>) => Promise<T>;

/** The object with some properties replaced. */
const wrap = <T extends object>(given: T, own: Readonly<Record<string, unknown>>): T =>
  new Proxy(given, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return own[name as string];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });

const textOf = (args: readonly unknown[]): string =>
  args.map((arg) => (typeof arg === "string" ? arg : (JSON.stringify(arg) ?? ""))).join(" ");

/** Every method loses its first answer. */
function methodsOf<T extends object>(given: T, what: string, answered: Answered): T {
  return new Proxy(given, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function" || typeof name !== "string") return value;
      return (...args: unknown[]) =>
        // What is written under a key may hold the time, so it is not what tells a repeat.
        answered(
          `${what} ${name} ${textOf(name === "put" ? args.slice(0, 1) : args)}`,
          async () => Reflect.apply(value, target, args) as Promise<unknown>,
        );
    },
  });
}

interface Known {
  readonly statement: D1PreparedStatement;
  readonly text: string;
}

function losingDatabase(db: D1Database, answered: Answered): D1Database {
  const known = new WeakMap<object, Known>();
  const wrapped = (statement: D1PreparedStatement, text: string): D1PreparedStatement => {
    const losing = wrap(statement, {
      bind: (...values: unknown[]) => wrapped(statement.bind(...values), `${text} ${textOf(values)}`),
      run: () => answered(text, () => statement.run()),
      all: () => answered(text, () => statement.all()),
      first: (column?: string) =>
        answered(text, () => (column === undefined ? statement.first() : statement.first(column))),
    });
    known.set(losing, { statement, text });
    return losing;
  };
  return wrap(db, {
    prepare: (sql: string) => wrapped(db.prepare(sql), sql),
    batch: (statements: readonly D1PreparedStatement[]) => {
      const all = statements.map((statement) => known.get(statement)!);
      return answered(all.map(({ text }) => text).join("; "), () => db.batch(all.map(({ statement }) => statement)));
    },
  });
}
