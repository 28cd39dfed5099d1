import type { PageRequest } from "./resource.ts";

/** The number of rows that a search by name reads at most. A longer text finds the other rows. */
const MAX_BY_NAME = 1_000;

interface Searched {
  readonly table: string;
  readonly columns: string;
  readonly key: string;
  /** True if ids have only lower-case letters: then the text may be in any case. */
  readonly smallKeys: boolean;
  /** The columns with names, each with an index that ignores case. */
  readonly names: readonly string[];
  /** SQL: a condition that all shown rows meet. */
  readonly shown?: string;
  /** The columns with other ids, each with an index. */
  readonly ids?: readonly string[];
}

/**
 * The search of a list finds rows whose id or name begins with a text. Names match in any case. Each part reads a range
 * of an index and ends after a number of rows, so the cost does not depend on the size of the table.
 */
export function search(db: D1Database, searched: Searched) {
  const { table, columns, key, smallKeys, names, ids = [], shown = "TRUE" } = searched;
  const byId = (column: string): string => `${column} >= ?4 AND ${column} < ?5`;
  const byName = (column: string): string => `${column} >= ?6 COLLATE NOCASE AND ${column} < ?7 COLLATE NOCASE`;
  const others = [...ids.map(byId), ...names.map(byName)];
  const found = others.map(
    (one) => `SELECT ${key} FROM (SELECT ${key} FROM ${table} WHERE ${one} LIMIT ${MAX_BY_NAME})`,
  );
  const everywhere = `
    SELECT ${columns}, ${key} AS page_key FROM ${table}
    WHERE ${key} > ?1 AND ${shown} AND ${key} IN (
      SELECT ${key} FROM (SELECT ${key} FROM ${table}
        WHERE ${key} > ?1 AND ${key} >= max(?1, ?4) AND ${key} < ?5 ORDER BY ${key} LIMIT ?2 + ?3)
      UNION ${found.join(" UNION ")})
    ORDER BY ${key} LIMIT ?2 OFFSET ?3`;
  const within = (condition: string): string => `
    SELECT ${columns}, ${key} AS page_key FROM ${table}
    WHERE ${condition} AND +${key} > ?1 AND (${[byId(`+${key}`), ...others].map((one) => `(${one})`).join(" OR ")})
    ORDER BY +${key} LIMIT ?2 OFFSET ?3`;
  const values = ({ after, limit, skip }: PageRequest, q: string) => {
    const id = smallKeys ? q.toLowerCase() : q;
    return [after, limit, skip, id, `${id}\u{10FFFF}`, q, `${q}\u{10FFFF}`];
  };
  return {
    /** Selects a page of all rows. `plain` is the statement of the list without a text. */
    page: (plain: string, { q, ...range }: PageRequest) =>
      q === undefined
        ? db.prepare(plain).bind(range.after, range.limit, range.skip)
        : db.prepare(everywhere).bind(...values(range, q)),
    /** Selects rows of an organization or tenant: `?4` of `plain`, `?8` of `condition`, which must use an index. */
    own: (plain: string, condition: string, of: readonly string[], { q, ...range }: PageRequest) =>
      q === undefined
        ? db.prepare(plain).bind(range.after, range.limit, range.skip, ...of)
        : db.prepare(within(condition)).bind(...values(range, q), ...of),
  };
}
