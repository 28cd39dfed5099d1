import type { CursorPart } from "../../../src/http/input/paging.ts";
import { conditionsOf, parseQuery } from "../../../src/media/search/query.ts";
import { parseSort } from "../../../src/media/search/sort-parameter.ts";
import { createListingStore } from "../../../src/media/search/listing-store.ts";
import { createFilterStore } from "../../../src/media/search/filter-store.ts";
import type { Result } from "../../../src/platform/model/result.ts";

/** A page requested by HTTP, and its caller. */
export interface PageRead {
  readonly client: string;
  readonly tenant: string;
  /** The query of the request's address. */
  readonly query: string;
}

/** Rows that D1 reads for a page, by the platform's own statements, outside the Worker. */
export async function rowsReadFor(db: D1Database, rowBudget: number, { client, tenant, query }: PageRead) {
  const counted = countRows(db);
  const parameters = new URLSearchParams(query);
  const conditions = conditionsOf({ q: valueOf(parseQuery(parameters.get("q") ?? "")) });
  const sort = valueOf(parseSort(parameters.get("sort") ?? ""));
  const paging = pagingOf(parameters);
  const store = createListingStore(counted.db, createFilterStore(counted.db, rowBudget), rowBudget);
  const caller = { client, tenant, visibility: "private", isPerson: false } as const;
  const page = await store.page(caller, { conditions, sort, paging });
  if (page === "too_broad") throw new Error(`${query}: ${page}`);
  return counted.rowsRead();
}

/** Parses the cursor like http/input/paging.ts, whose base64 functions Node lacks. */
function pagingOf(parameters: URLSearchParams) {
  const cursor = parameters.get("cursor");
  const parts = cursor === null ? undefined : JSON.parse(Buffer.from(cursor, "base64url").toString());
  return { pageSize: Number(parameters.get("pageSize")), skip: 0, cursor: parts as CursorPart[] | undefined };
}

function valueOf<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

/** Wraps a database to add up the rows that its statements read. Has only the methods that the stores above call. */
function countRows(db: D1Database): { readonly db: D1Database; rowsRead(): number } {
  let rowsRead = 0;
  const count = <T>(result: D1Result<T>): D1Result<T> => {
    rowsRead += result.meta.rows_read;
    return result;
  };
  const originals = new WeakMap<object, D1PreparedStatement>();
  const statement = (original: D1PreparedStatement) => {
    const counted = {
      bind: (...values: unknown[]) => statement(original.bind(...values)),
      first: async () => count(await original.all()).results[0] ?? null,
      all: async () => count(await original.all()),
    };
    originals.set(counted, original);
    return counted;
  };
  const counting = {
    prepare: (sql: string) => statement(db.prepare(sql)),
    batch: async (statements: object[]) => (await db.batch(statements.map((one) => originals.get(one)!))).map(count),
  };
  return { db: counting as unknown as D1Database, rowsRead: () => rowsRead };
}
