import { systemClock } from "../runtime/clock.ts";
import { createLog } from "../runtime/log.ts";

/**
 * The schema of a Durable Object's tables, and which release may open them.
 *
 *   empty ── first write ──→ version N ── a newer release opens the object ──→ version N + 1
 *   version N + 1 ── an older release opens the object ──→ refused, and left as it is
 *
 * A refused object writes nothing, since old code would misread its tables. Its calls throw an error that callers turn
 * into a 503. Its alarm is postponed, since the runtime drops an alarm that fails several times. So the newer release
 * finds everything as it was.
 */
export interface ObjectSchema {
  /** The class, by the name that it keeps in a minified bundle. */
  readonly object: string;
  /** The table whose rows carry `schema_version`. Rows without that column have version 1. */
  readonly table: string;
  /** The newest version that this release reads and writes. */
  readonly version: number;
  /** Steps to the next version. A version without a step stays: a release may know one that it does not create yet. */
  readonly steps?: Readonly<Record<number, (sql: SqlStorage) => void>>;
}

/** A refused object. `retryable` makes it a 503, like an object that restarts. */
class NewerSchema extends Error {
  override name = "NewerSchema";
  readonly retryable = true;
}

const REFUSED_ALARM_MS = 60_000;

/** The class to export in place of `Class`. It refuses objects of a newer schema than its own. */
export function refusingNewer<T extends ObjectClass>(Class: T, schema: ObjectSchema): T {
  return class extends Class {
    static readonly schema = schema;

    // oxlint-disable-next-line typescript/no-explicit-any
    constructor(...args: any[]) {
      const [context, env] = args as [DurableObjectState, unknown];
      const stored = openSchema(context.storage, schema);
      if (stored !== undefined) return refuse(Class, schema, context, env, stored);
      super(...args);
    }
  };
}

// TypeScript extends a class of unknown parameters only by `any`.
// oxlint-disable-next-line typescript/no-explicit-any
export type ObjectClass = new (...args: any[]) => object;

/** Takes the steps that are due, in one transaction. Returns the stored version if this release does not know it. */
export function openSchema(storage: Storage, { table, version, steps = {} }: ObjectSchema): number | undefined {
  const { sql } = storage;
  const stored = storedVersion(sql, table);
  if (stored === undefined) return undefined;
  if (stored > version) return stored;
  if (steps[stored] === undefined) return undefined;
  storage.transactionSync(() => {
    let reached = stored;
    for (let step = steps[reached]; step !== undefined; step = steps[reached]) {
      step(sql);
      reached += 1;
    }
    sql.exec(`UPDATE ${table} SET schema_version = ?`, reached);
  });
  return undefined;
}

type Storage = Pick<DurableObjectStorage, "sql" | "transactionSync">;

function storedVersion(sql: SqlStorage, table: string): number | undefined {
  const definition = `SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?`;
  const [found] = sql.exec<{ sql: string }>(definition, table).toArray();
  if (found === undefined) return undefined;
  const column = /\bschema_version\b/.test(found.sql) ? "max(schema_version)" : "max(1)";
  const { version } = sql.exec<{ version: number | null }>(`SELECT ${column} AS version FROM ${table}`).one();
  if (version !== null) return version;
  // A table without rows has no version. The first write creates it again.
  sql.exec(`DROP TABLE ${table}`);
  return undefined;
}

/** An object with the same methods, which throw, except `alarm`. `Class` is not constructed: it would read tables. */
function refuse(
  Class: ObjectClass,
  { object, version: known }: ObjectSchema,
  context: DurableObjectState,
  env: unknown,
  stored: number,
): object {
  const chain = [...ancestors(Class)];
  class Refusing extends chain.at(-1)! {
    async alarm(): Promise<void> {
      await context.storage.setAlarm(systemClock.nowMs() + REFUSED_ALARM_MS);
    }
  }
  const value = () => {
    throw new NewerSchema(`${object} has schema ${stored}, and this release knows ${known}`);
  };
  for (const method of chain.flatMap((one) => Object.getOwnPropertyNames(one.prototype)))
    if (!(method in Refusing.prototype)) Object.defineProperty(Refusing.prototype, method, { value });
  const name = context.id.name ?? String(context.id);
  createLog("error").error("object has a newer schema", { class: object, name, stored, known });
  return new Refusing(context, env);
}

/** The class and those that it extends. The last one is the runtime's. */
function* ancestors(Class: ObjectClass): Generator<ObjectClass> {
  for (let at = Class; at !== Function.prototype; at = Object.getPrototypeOf(at) as ObjectClass) yield at;
}
