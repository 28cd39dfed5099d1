import { hasTable } from "./has-table.ts";

/**
 * The import of a Durable Object from a backup, page by page.
 *
 *   empty ── page 0 ──→ importing ── the next page ──→ importing ── the last page ──→ open
 *   importing, open ── a page that was taken before ──→ unchanged: "again"
 *   any other state, another import ──→ unchanged: refused
 *
 * A page and the count of pages are written in one transaction, so after a lost answer or a crash the call is simply
 * repeated. An object does nothing else before its last page. The count stays, so that a late repeat adds nothing to
 * an open object.
 */
export interface ImportPlace {
  /** The id of an import of an object. */
  readonly id: string;
  /** Pages are numbered from 0 without a gap. */
  readonly number: number;
  readonly isLast: boolean;
}

export type ImportOutcome =
  | "imported"
  /** The page was taken before. */
  | "again"
  /** A page before this one is missing. */
  | "out_of_order"
  /** The object has something that this import did not bring. */
  | "not_empty"
  /** The page has a format that this release does not know. */
  | "other_format";

/** Format of all pages. A release reads the pages of earlier ones. */
export const PAGE_FORMAT = 1;

export const PAGE = {
  /** Maximum characters of a page, unless one row has more. An answer may have 32 MiB, and a row 2 MB. */
  chars: 4 * 1024 * 1024,
} as const;

/** Takes a page by `write`, in one transaction, if it is the next one. */
export function takePage(
  storage: DurableObjectStorage,
  place: ImportPlace,
  page: { readonly format: number },
  isEmpty: boolean,
  write: () => void,
): ImportOutcome {
  if (page.format !== PAGE_FORMAT) return "other_format";
  const known = progressOf(storage.sql);
  if (known === undefined ? !isEmpty : known.id !== place.id) return "not_empty";
  const next = known?.next ?? 0;
  if (place.number < next) return "again";
  if (known?.done === 1) return "not_empty";
  if (place.number > next) return "out_of_order";
  storage.transactionSync(() => {
    if (known === undefined) storage.sql.exec(TABLE);
    write();
    storage.sql.exec(SAVE, place.id, place.number + 1, place.isLast ? 1 : 0);
  });
  return "imported";
}

/** Collects rows until a page is full. `isAll` is true if all rows fit. */
export function fillPage<T>(rows: Iterable<T>, charsOf: (row: T) => number): { page: T[]; isAll: boolean } {
  const page: T[] = [];
  let chars = 0;
  for (const row of rows) {
    chars += charsOf(row);
    if (page.length > 0 && chars > PAGE.chars) return { page, isAll: false };
    page.push(row);
  }
  return { page, isAll: true };
}

function progressOf(sql: SqlStorage): Progress | undefined {
  if (!hasTable(sql, "import_progress")) return undefined;
  return sql.exec<Progress>(`SELECT import_id AS id, next_page AS next, done FROM import_progress`).toArray()[0];
}

interface Progress extends Record<string, SqlStorageValue> {
  id: string;
  next: number;
  done: number;
}

const TABLE = `CREATE TABLE IF NOT EXISTS import_progress (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  import_id TEXT NOT NULL,
  next_page INTEGER NOT NULL,
  done INTEGER NOT NULL
) STRICT`;
const SAVE = `INSERT OR REPLACE INTO import_progress (id, import_id, next_page, done) VALUES (1, ?, ?, ?)`;
