import { LIMITS } from "../model/limits.ts";
import { TABLES_OF_AN_EMPTY_PLATFORM, type Table } from "../model/tables.ts";
import { quoted } from "./dump-store.ts";
import { inParts } from "../../platform/runtime/parts.ts";

interface ForeignKey {
  readonly table: string;
  readonly columns: readonly { readonly from: string; readonly to: string }[];
}

/** Rows of a table, each a JSON array in the order of the columns. */
export interface LoadedPart {
  readonly table: Table;
  readonly columns: readonly string[];
  readonly rows: readonly string[];
}

export type LoadStore = ReturnType<typeof createLoadStore>;

const MOVE_AUDIT = `UPDATE audit_entry SET seq = seq + max(?1, (SELECT max(seq) FROM audit_entry)) WHERE seq <= ?1`;
const BEGIN_SEQUENCE = `
  INSERT INTO sqlite_sequence (name, seq) SELECT ?1, 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)`;
const RAISE_SEQUENCE = `UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1`;

/**
 * Columns without a foreign key that name a numbered row, which may be gone: the pending files and the reports of a
 * client that was removed. A new client with such a number would get them. The last numbers themselves are in a backup,
 * but not those of tenant objects.
 */
const NUMBERS_NAMED: Partial<Record<Table, { readonly column: string; readonly table: Table }>> = {
  file: { column: "owner_id", table: "owner" },
  erasure: { column: "requester_id", table: "requester" },
};
/** SQL: new numbers of a table continue after those in this column of the rows ?1. */
const raiseOver = (table: Table, column: number): string => `
  UPDATE sqlite_sequence SET seq = max(seq, (SELECT coalesce(max(r.value ->> ${column}), 0) FROM json_each(?1) AS r))
    WHERE name = '${table}'`;

/** Writes a backup's rows into empty tables. Each write may run twice. */
export function createLoadStore(db: D1Database) {
  return {
    /** The tables that have rows, except those that have rows on an empty platform too. */
    async filled(tables: readonly Table[]): Promise<readonly Table[]> {
      const asked = tables.filter((table) => !TABLES_OF_AN_EMPTY_PLATFORM.has(table));
      const answers = await db.batch<{ n: number }>(
        asked.map((table) => db.prepare(`SELECT EXISTS (SELECT 1 FROM ${quoted(table)}) AS n`)),
      );
      return asked.filter((_, at) => answers[at]?.results[0]?.n === 1);
    },

    /** True if a tenant object is another tenant's, for ever (src/shards/copy-store.ts). It may have no row yet. */
    async isAnothers(tenant: string): Promise<boolean> {
      return (await db.prepare(`SELECT 1 FROM tenant_copy WHERE tenant <> ?1 LIMIT 1`).bind(tenant).first()) !== null;
    },

    /** The columns of tables. */
    async columns(tables: readonly Table[]): Promise<ReadonlyMap<Table, readonly string[]>> {
      const { results } = await db
        .prepare(
          `SELECT asked.value AS "table", name FROM json_each(?1) AS asked, pragma_table_info(asked.value)
            ORDER BY asked.key, cid`,
        )
        .bind(JSON.stringify(tables))
        .all<{ table: Table; name: string }>();
      return new Map(
        tables.map((table) => [table, results.filter((one) => one.table === table).map(({ name }) => name)]),
      );
    },

    /**
     * Prepares numbered tables, before the first row is loaded: new numbers continue after the greatest one that the
     * backup's platform ever gave. The few rows of this platform's own audit log move after that number too.
     */
    async raiseSequences(sequences: Readonly<Record<string, number>>): Promise<void> {
      const statements = Object.entries(sequences).flatMap(([table, last]) =>
        // This table has no SQLite sequence: its next number follows the greatest one of a row or a copy.
        table === "audit_entry"
          ? [db.prepare(MOVE_AUDIT).bind(last)]
          : [db.prepare(BEGIN_SEQUENCE).bind(table), db.prepare(RAISE_SEQUENCE).bind(table, last)],
      );
      if (statements.length > 0) await db.batch(statements);
    },

    /**
     * Inserts rows that do not exist yet, part after part. A row that refers to a missing row is left out. Numbers of
     * owners and requesters that are gone are given to no new one.
     */
    async load(parts: readonly LoadedPart[]): Promise<void> {
      const { results } = await db
        .prepare(
          `SELECT asked.value AS owner, list.id, list."table", list."from", list."to"
            FROM json_each(?1) AS asked, pragma_foreign_key_list(asked.value) AS list
            ORDER BY asked.key, list.id, list.seq`,
        )
        .bind(JSON.stringify([...new Set(parts.map(({ table }) => table))]))
        .all<{ owner: Table; id: number; table: string; from: string; to: string }>();
      const writes = parts.flatMap(({ table, columns, rows }) => {
        const insert = insertInto(table, columns, foreignKeys(results.filter(({ owner }) => owner === table)));
        const named = NUMBERS_NAMED[table];
        const sqls = named === undefined ? [insert] : [insert, raiseOver(named.table, columns.indexOf(named.column))];
        const begin = named && { statement: db.prepare(BEGIN_SEQUENCE).bind(named.table), chars: 0 };
        const ofParts = inParts(rows, LIMITS.bindChars, ({ length }) => length).flatMap((part) => {
          const json = `[${part.join(",")}]`;
          return sqls.map((sql) => ({ statement: db.prepare(sql).bind(json), chars: json.length }));
        });
        return begin === undefined ? ofParts : [begin, ...ofParts];
      });
      for (const some of inParts(writes, LIMITS.bindChars, ({ chars }) => chars))
        await db.batch(some.map(({ statement }) => statement));
    },

    /** Counts the rows of tables; in a numbered table, those up to `last`. */
    async counts(tables: readonly { readonly table: Table; readonly last: number | undefined }[]): Promise<number[]> {
      const answers = await db.batch<{ n: number }>(
        tables.map(({ table, last }) => {
          const count = `SELECT count(*) AS n FROM ${quoted(table)}`;
          return last === undefined ? db.prepare(count) : db.prepare(`${count} WHERE rowid <= ?1`).bind(last);
        }),
      );
      return answers.map(({ results }) => results[0]?.n ?? 0);
    },

    async markDeleted(incarnation: string): Promise<void> {
      await db.prepare(`UPDATE topic SET state = 'deleting' WHERE incarnation = ?1`).bind(incarnation).run();
    },

    /** Counts the files of some owners again, since triggers did not. Returns the last owner; undefined at the end. */
    async countOwners(after: number): Promise<number | undefined> {
      const { results } = await db
        .prepare(
          `UPDATE owner SET
            files = (SELECT count(*) FROM file WHERE owner_id = owner.id AND state = 'committed'),
            bytes = (SELECT coalesce(sum(size_bytes), 0) FROM file WHERE owner_id = owner.id AND state = 'committed')
          WHERE id IN (SELECT id FROM owner WHERE id > ?1 ORDER BY id LIMIT ?2) RETURNING id`,
        )
        .bind(after, LIMITS.countedOwners)
        .all<{ id: number }>();
      return results.length === 0 ? undefined : Math.max(...results.map(({ id }) => id));
    },

    /**
     * Counts the pending files of release 0.1.0 again, which kept sums of them. Also removes the older of two valid
     * refresh tokens of a grant, which are in the backup if the grant was used while it was read. A token that was
     * given back stays: it is valid beside its successor.
     */
    async settle(): Promise<void> {
      await db.batch([
        db.prepare(`DELETE FROM reservation`),
        db.prepare(
          `INSERT INTO reservation (tenant, owner_id, files, bytes)
            SELECT reserved_for, owner_id, count(*), coalesce(sum(reserved_bytes), 0) FROM file
            WHERE state = 'pending' AND reserved_for IS NOT NULL AND known_places IS NULL GROUP BY reserved_for, owner_id`,
        ),
        db.prepare(
          `DELETE FROM refresh_token WHERE used_at IS NULL AND successor_hash IS NULL AND EXISTS (
            SELECT 1 FROM refresh_token AS newer WHERE newer.grant_id = refresh_token.grant_id
              AND newer.used_at IS NULL
              AND (newer.created_at, newer.token_hash) > (refresh_token.created_at, refresh_token.token_hash))`,
        ),
      ]);
    },
  };
}

function insertInto(table: Table, columns: readonly string[], keys: readonly ForeignKey[]): string {
  const value = (name: string): string => `r.value ->> ${columns.indexOf(name)}`;
  const isThere = keys.map(({ table: parent, columns: pairs }) => {
    const isNull = pairs.map(({ from }) => `${value(from)} IS NULL`).join(" OR ");
    const match = pairs.map(({ from, to }) => `p.${quoted(to)} = ${value(from)}`).join(" AND ");
    return `(${isNull} OR EXISTS (SELECT 1 FROM ${quoted(parent)} AS p WHERE ${match}))`;
  });
  const fits = isThere.length === 0 ? "true" : isThere.join(" AND ");
  return `
    INSERT INTO ${quoted(table)} (${columns.map(quoted).join(", ")})
    SELECT ${columns.map(value).join(", ")} FROM json_each(?1) AS r WHERE ${fits} ON CONFLICT DO NOTHING`;
}

function foreignKeys(
  rows: readonly { readonly id: number; readonly table: string; readonly from: string; readonly to: string }[],
): readonly ForeignKey[] {
  const ids = [...new Set(rows.map(({ id }) => id))];
  return ids.map((id) => {
    const columns = rows.filter((row) => row.id === id);
    return { table: columns[0]!.table, columns };
  });
}
