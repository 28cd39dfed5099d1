import { NEWEST_MIGRATION } from "./schema.ts";
import type {
  Migration,
  ObjectAnswer,
  ObjectDatabase,
  SentStatement,
  SqlValue,
  StatementResult,
} from "./object-protocol.ts";

/**
 * A database in a Durable Object, with the part of D1's interface that stores use: `prepare`, `bind`, `first`, `all`,
 * `run`, `batch`, and the fields `changes`, `rows_read`, `rows_written` and `size_after` of `meta`. Errors have D1's
 * texts. A statement or a batch is one call of the object and one transaction.
 *
 * Each call gets a new stub, since a stub is broken after its object has restarted. As with D1, a call that only reads
 * is repeated once if the object was restarting. A call that writes is not, since it may have been carried out.
 *
 * `wakes`: see `ObjectDatabase`.
 */
export function objectDatabase(stub: () => ObjectDatabase, wakes?: number): D1Database {
  const database: Executing = {
    async execute(statements) {
      const sent = statements.map(({ sql, values }) => ({ sql, values }));
      const answer = await withSchema(stub, sent, wakes);
      if (answer.kind !== "done")
        throw new Error(`D1_ERROR: ${answer.kind === "failed" ? answer.message : "the object takes no migrations"}`);
      return answer.results.map((result) => toD1(result, answer.sizeBytes));
    },
  };
  const shape = {
    prepare: (sql: string) => new ObjectStatement(database, sql, []),
    batch: (statements: readonly ObjectStatement[]) => database.execute(statements),
  };
  return shape as unknown as D1Database;
}

interface Executing {
  execute(statements: readonly SentStatement[]): Promise<D1Result<Record<string, unknown>>[]>;
}

class ObjectStatement implements SentStatement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
  readonly #database: Executing;

  constructor(database: Executing, sql: string, values: readonly SqlValue[]) {
    this.#database = database;
    this.sql = sql;
    this.values = values;
  }

  bind(...values: unknown[]): ObjectStatement {
    return new ObjectStatement(this.#database, this.sql, values.map(toSql));
  }

  async all(): Promise<D1Result<Record<string, unknown>>> {
    const [result] = await this.#database.execute([this]);
    return result!;
  }

  run(): Promise<D1Result<Record<string, unknown>>> {
    return this.all();
  }

  async first(column?: string): Promise<unknown> {
    const [row] = (await this.all()).results;
    if (row === undefined) return null;
    if (column === undefined) return row;
    if (!Object.hasOwn(row, column)) throw new Error(`D1_COLUMN_NOTFOUND: no column ${column}`);
    return row[column];
  }
}

/** Converts a value to one that SQLite stores; refuses values that D1 refuses. */
function toSql(value: unknown): SqlValue {
  if (value === null || typeof value === "number" || typeof value === "string") return value;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (value instanceof ArrayBuffer) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice().buffer;
  throw new Error(`D1_TYPE_ERROR: Type '${typeof value}' not supported for value '${JSON.stringify(value)}'`);
}

function toD1(
  { columns, rows, changes, lastRowId, rowsRead, rowsWritten }: StatementResult,
  sizeBytes: number,
): D1Result<Record<string, unknown>> {
  const results = rows.map((row) => Object.fromEntries(row.map((value, at) => [columns[at]!, fromSql(value)])));
  const meta = {
    changes,
    last_row_id: lastRowId,
    changed_db: changes > 0,
    rows_read: rowsRead,
    rows_written: rowsWritten,
    size_after: sizeBytes,
    duration: 0,
  };
  return { success: true, results, meta };
}

/** Converts bytes to an array of numbers, as D1 returns them. */
const fromSql = (value: SqlValue): unknown => (value instanceof ArrayBuffer ? [...new Uint8Array(value)] : value);

async function withSchema(
  stub: () => ObjectDatabase,
  statements: readonly SentStatement[],
  wakes: number | undefined,
): Promise<ObjectAnswer> {
  const execute = (): Promise<ObjectAnswer> =>
    again(statements, () => stub().execute(NEWEST_MIGRATION, statements, wakes));
  const answer = await execute();
  if (answer.kind !== "older") return answer;
  const fault = await stub().migrate(await readMigrations());
  if (fault !== undefined) return { kind: "failed", message: fault };
  return execute();
}

async function again<T>(statements: readonly SentStatement[], call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (thrown) {
    const { retryable, overloaded } = thrown as { readonly retryable?: boolean; readonly overloaded?: boolean };
    if (retryable !== true || overloaded === true || !statements.every(({ sql }) => onlyReads(sql))) throw thrown;
    return call();
  }
}

/** True if a statement only reads. May be false for some statements that only read; these are not repeated. */
const onlyReads = (sql: string): boolean =>
  /^\s*(SELECT|WITH)\b/i.test(sql) && !/\b(INSERT|UPDATE|DELETE|REPLACE)\b/i.test(sql);

/** The migrations, from the file of `npm run schema`. Loaded only when needed: once for each object and release. */
const readMigrations = async (): Promise<readonly Migration[]> =>
  (await import("./migrations.json", { with: { type: "json" } })).default;
