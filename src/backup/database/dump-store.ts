import { LIMITS } from "../model/limits.ts";
import type { Table } from "../model/tables.ts";

export interface TableShape {
  readonly columns: readonly string[];
  /** The columns of the primary key, in its order. */
  readonly key: readonly string[];
}

export interface DumpedRow {
  /** The primary key, as JSON. */
  readonly key: string;
  /** The row: a JSON array in the order of the columns. */
  readonly text: string;
}

export type DumpStore = ReturnType<typeof createDumpStore>;

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Reads rows for a backup. SQLite writes the JSON, so that no integer loses digits in a JavaScript number. */
export function createDumpStore(db: D1Database) {
  return {
    async shape(table: Table): Promise<TableShape> {
      const { results } = await db
        .prepare(`SELECT name, pk FROM pragma_table_info(?1) ORDER BY cid`)
        .bind(table)
        .all<{ name: string; pk: number }>();
      const key = results.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk);
      return { columns: results.map(({ name }) => name), key: key.map(({ name }) => name) };
    },

    /** Reads as many rows after a key as fit into a page, at least one if there is one. `atEnd`: no row follows. */
    async page(
      table: Table,
      { columns, key }: TableShape,
      after: string,
    ): Promise<{ readonly rows: readonly DumpedRow[]; readonly atEnd: boolean }> {
      const names = key.map(quoted).join(", ");
      const aliases = key.map((_, at) => `k${at}`);
      const aliased = key.map((name, at) => `${quoted(name)} AS k${at}`).join(", ");
      const behind = key.map((_, at) => `?1 ->> ${at}`).join(", ");
      // LIMIT comes before the sum of sizes, so that a page reads only its own rows.
      const sql = `
        WITH page AS (SELECT ${aliased}, json_array(${columns.map(quoted).join(", ")}) AS text FROM ${quoted(table)}
          WHERE ${after === "" ? "?1 = ''" : `(${names}) > (${behind})`} ORDER BY ${names} LIMIT ?2),
        summed AS (SELECT *, sum(length(text)) OVER (ORDER BY ${aliases.join(", ")}) AS total FROM page)
        SELECT json_array(${aliases.join(", ")}) AS key, text, (SELECT count(*) FROM page) AS found FROM summed
        WHERE total <= ?3 OR total = length(text) ORDER BY ${aliases.join(", ")}`;
      const { results } = await db
        .prepare(sql)
        .bind(after, LIMITS.pageRows, LIMITS.pageChars)
        .all<DumpedRow & { found: number }>();
      const found = results[0]?.found ?? 0;
      const rows = results.map((row) => ({ key: row.key, text: row.text }));
      return { rows, atEnd: found < LIMITS.pageRows && rows.length === found };
    },

    async sequences(): Promise<Readonly<Record<string, number>>> {
      const sql = `
        SELECT name, seq FROM sqlite_sequence WHERE name NOT IN ('d1_migrations', 'audit')
        UNION ALL SELECT 'audit_entry', max(seq) FROM audit_entry HAVING max(seq) > 0`;
      const { results } = await db.prepare(sql).all<{ name: string; seq: number }>();
      return Object.fromEntries(results.map(({ name, seq }) => [name, seq]));
    },
  };
}
