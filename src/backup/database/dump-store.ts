import { LIMITS } from "../model/limits.ts";
import type { Table } from "../model/tables.ts";

interface TableShape {
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

export interface DumpedPage {
  readonly columns: readonly string[];
  readonly rows: readonly DumpedRow[];
  readonly atEnd: boolean;
}

export type DumpStore = ReturnType<typeof createDumpStore>;

/** A name in SQL. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Reads rows for a backup. SQLite writes the JSON, so that no integer loses digits in a JavaScript number. */
export function createDumpStore(db: D1Database) {
  async function shapesOf(tables: readonly Table[]): Promise<readonly TableShape[]> {
    const { results } = await db
      .prepare(
        `SELECT asked.key AS at, name, pk FROM json_each(?1) AS asked, pragma_table_info(asked.value)
          ORDER BY asked.key, cid`,
      )
      .bind(JSON.stringify(tables))
      .all<{ at: number; name: string; pk: number }>();
    return tables.map((_, at) => {
      const columns = results.filter((column) => column.at === at);
      const key = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk);
      return { columns: columns.map(({ name }) => name), key: key.map(({ name }) => name) };
    });
  }

  return {
    /**
     * Reads as many rows as fit into a page: of one table after a key, at least one if there is one; or the first rows
     * of several tables, each of which gets its share of the page, or up to `most`. `atEnd`: no row follows.
     */
    async pages(
      tables: readonly Table[],
      after: string,
      most = { rows: LIMITS.pageRows / tables.length, chars: LIMITS.pageChars / tables.length },
    ): Promise<readonly DumpedPage[]> {
      const shapes = await shapesOf(tables);
      const [rows, chars] = [most.rows, most.chars].map(Math.floor);
      const answers = await db.batch<DumpedRow & { found: number }>(
        tables.map((table, at) => db.prepare(pageOf(table, shapes[at]!, after)).bind(after, rows, chars)),
      );
      return answers.map(({ results }, at) => {
        const found = results[0]?.found ?? 0;
        return {
          columns: shapes[at]!.columns,
          rows: results.map((row) => ({ key: row.key, text: row.text })),
          atEnd: found < rows! && results.length === found,
        };
      });
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

/** The statement takes the key before the first row as JSON, and the most rows and characters. */
function pageOf(table: Table, { columns, key }: TableShape, after: string): string {
  const names = key.map(quoted).join(", ");
  const aliases = key.map((_, at) => `k${at}`);
  const aliased = key.map((name, at) => `${quoted(name)} AS k${at}`).join(", ");
  const behind = key.map((_, at) => `?1 ->> ${at}`).join(", ");
  // LIMIT comes before the sum of sizes, so that a page reads only its own rows.
  return `
    WITH page AS (SELECT ${aliased}, json_array(${columns.map(quoted).join(", ")}) AS text FROM ${quoted(table)}
      WHERE ${after === "" ? "?1 = ''" : `(${names}) > (${behind})`} ORDER BY ${names} LIMIT ?2),
    summed AS (SELECT *, sum(length(text)) OVER (ORDER BY ${aliases.join(", ")}) AS total FROM page)
    SELECT json_array(${aliases.join(", ")}) AS key, text, (SELECT count(*) FROM page) AS found FROM summed
    WHERE total <= ?3 OR total = length(text) ORDER BY ${aliases.join(", ")}`;
}
