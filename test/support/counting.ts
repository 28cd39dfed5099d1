import type { Env } from "../../src/env.ts";
import { shardBinding, shardsOf } from "../../src/platform/storage/shards.ts";

/**
 * The same bindings, with a tally of D1 statements and round trips, calls of Durable Object methods, and R2 operations.
 * The bindings work as before.
 */
export interface Tally {
  d1Statements: number;
  d1RoundTrips: number;
  /** The rows that D1 bills, also those of audit rows. */
  d1RowsRead: number;
  d1RowsWritten: number;
  /** Audit rows that are written after an answer. The statements and round trips do not include them. */
  auditRows: number;
  /** Calls by binding and method, such as `TOPIC_LOG.read`. */
  objectCalls: Record<string, number>;
  /** Calls by method, such as `get`. */
  r2Operations: Record<string, number>;
}

export function counting(env: Env, hold?: Hold): { env: Env; tally: Tally; reset: () => void } {
  const tally: Tally = emptyTally();
  const objects = (binding: Objects): object =>
    aroundObjects(env[binding], (method, call) => {
      add(tally.objectCalls, `${binding}.${method}`);
      return hold === undefined ? call() : hold("object").then(call);
    });
  const bindings: Partial<Record<keyof Env, unknown>> = {
    ...Object.fromEntries(
      shardsOf(env).map(({ number, db }) => [
        shardBinding(number),
        countDatabase(db, tally, hold && (() => hold(number))),
      ]),
    ),
    MEDIA: countMethods(env.MEDIA, (method) => add(tally.r2Operations, method)),
    TOPIC_LOG: objects("TOPIC_LOG"),
    PUSH_SUBSCRIPTION: objects("PUSH_SUBSCRIPTION"),
    LOGIN_ATTEMPTS: objects("LOGIN_ATTEMPTS"),
    GUESS_COUNTER: objects("GUESS_COUNTER"),
    TOPIC_CONSUMER: objects("TOPIC_CONSUMER"),
  };
  return { env: { ...env, ...bindings } as Env, tally, reset: () => void Object.assign(tally, emptyTally()) };
}

export const emptyTally = (): Tally => ({
  d1Statements: 0,
  d1RoundTrips: 0,
  d1RowsRead: 0,
  d1RowsWritten: 0,
  auditRows: 0,
  objectCalls: {},
  r2Operations: {},
});

type Objects = "TOPIC_LOG" | "PUSH_SUBSCRIPTION" | "LOGIN_ATTEMPTS" | "GUESS_COUNTER" | "TOPIC_CONSUMER";

const add = (counts: Record<string, number>, key: string): void => void (counts[key] = (counts[key] ?? 0) + 1);

/** The statement of an audit row alone. Within a transaction, an audit row counts with the transaction. */
const AUDIT_ROW = /^\s*INSERT INTO audit_entry\b/;

/** The key of the real statement and its text in a counted statement, because `batch` takes only real ones. */
const REAL = Symbol("real statement");
const SQL = Symbol("its text");
type Counted = D1PreparedStatement & { readonly [REAL]: D1PreparedStatement; readonly [SQL]: string };

/** The target of a round trip: a database, by its number, or a Durable Object. */
export type Place = number | "object";

/** Runs before each round trip of D1 and each call of an object. */
export type Hold = (place: Place) => Promise<void>;

/**
 * Holds round trips until no other one begins, lets them run together, and reports the targets of each round. The round
 * trips of one round did not wait for each other. Calls of objects take part only `withObjects`.
 */
export function inRounds({ withObjects = false } = {}): { readonly hold: Hold; readonly rounds: (readonly Place[])[] } {
  const rounds: (readonly Place[])[] = [];
  const held: { readonly place: Place; readonly run: () => void }[] = [];
  const letGo = async (): Promise<void> => {
    for (let known = 0, quiet = 0; quiet < QUIET_TURNS; quiet++) {
      if (held.length > known) [known, quiet] = [held.length, 0];
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    rounds.push(held.map(({ place }) => place));
    for (const { run } of held.splice(0)) run();
  };
  const hold: Hold = async (place) => {
    if (place === "object" && !withObjects) return;
    await new Promise<void>((run) => {
      if (held.push({ place, run }) === 1) void letGo();
    });
  };
  return { hold, rounds };
}

/** Turns of the event loop without a new round trip. A busy machine takes longer for a turn, so nothing is missed. */
const QUIET_TURNS = 10;

function countDatabase(db: D1Database, tally: Tally, hold?: () => Promise<void>): D1Database {
  const count = (statements: number) => {
    tally.d1Statements += statements;
    tally.d1RoundTrips += 1;
  };
  const countRows = <T>(results: readonly D1Result<T>[]) => {
    for (const { meta } of results) {
      tally.d1RowsRead += meta.rows_read;
      tally.d1RowsWritten += meta.rows_written;
    }
  };
  const statement = (real: D1PreparedStatement, sql: string): D1PreparedStatement =>
    new Proxy(real, {
      get(target, name) {
        if (name === REAL) return target;
        if (name === SQL) return sql;
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name === "bind") return (...args: unknown[]) => statement(target.bind(...args), sql);
        const trip = (...args: unknown[]): unknown => {
          if (AUDIT_ROW.test(sql)) tally.auditRows += 1;
          else count(1);
          if (name === "all" || name === "run")
            return target[name]().then((result) => {
              countRows([result]);
              return result;
            });
          // `first` does not report the rows that it read. The runtime sends the same query for `first` and `all`.
          if (name === "first")
            return target.all().then((result) => {
              countRows([result]);
              const [row] = result.results;
              return row === undefined ? null : args[0] === undefined ? row : row[args[0] as string];
            });
          return value.apply(target, args) as unknown;
        };
        return hold === undefined ? trip : (...args: unknown[]) => hold().then(() => trip(...args));
      },
    });
  return new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (name === "prepare") return (sql: string) => statement(target.prepare(sql), sql);
      if (name === "withSession")
        return (...args: [string?]) => countDatabase(target.withSession(...args) as unknown as D1Database, tally, hold);
      if (name === "batch")
        return async (statements: Counted[]) => {
          const isAudit = statements.every((item) => AUDIT_ROW.test(item[SQL]));
          if (isAudit) tally.auditRows += statements.length;
          else count(statements.length);
          await hold?.();
          const results = await target.batch(statements.map((item) => item[REAL]));
          if (!isAudit) countRows(results);
          return results;
        };
      return (...args: unknown[]) => {
        if (name === "exec") count(1);
        return value.apply(target, args) as unknown;
      };
    },
  });
}

const countMethods = <T extends object>(real: T, counted: (method: string) => void): T =>
  aroundMethods(real, (method, call) => {
    counted(method);
    return call();
  });

/** Runs code around a call. It must make the call itself. */
export type Around = (method: string, call: () => unknown) => unknown;

/** Returns the namespace with `around` around each call of a method of its objects. */
export function aroundObjects<T extends object>(namespace: T, around: Around): T {
  return new Proxy(namespace, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const made: unknown = value.apply(target, args);
        return name === "get" || name === "getByName" ? aroundMethods(made as object, around) : made;
      };
    },
  });
}

export function aroundMethods<T extends object>(real: T, around: Around): T {
  return new Proxy(real, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) =>
        // The method is called on the stub itself, which makes a new one at each access, without `apply`.
        around(String(name), () => (target as Record<PropertyKey, (...given: unknown[]) => unknown>)[name]!(...args));
    },
  });
}
