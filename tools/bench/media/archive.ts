import { deepEqual, equal } from "node:assert/strict";
import { attributesOf, type FileAttributes, KEYS_KEY, TYPE_KEY } from "../../../src/media/metadata/attributes.ts";

/**
 * Fills an archive by bulk SQL with the rows that uploads and commits would leave; there are no bytes. The metadata of
 * file `i` is `{color, order, price}`: one of four colours, `o-<i>`, and `i` modulo 50,000. An order names one file, a
 * colour a quarter of them, and neighbours by price lie far apart.
 */
const COLORS = ["blue", "green", "red", "white"];
export const PRICES = 50_000;
const CONTENT_TYPES = ["application/pdf", "image/jpeg"];
/** The time of the first file; a thousand follow each second. */
const START_SEC = 1_763_000_000;
const COPIES_START_SEC = 1_753_000_000;
/** Files that one batch of statements makes. */
const CHUNK = 100_000;

const ORDER_DIGITS = 8;

/** The number of the shard in hex, as ids contain it. */
const shardByte = (shard: number): string => shard.toString(16).padStart(2, "0");
const idOf = (startSec: number, index: number, shard = 0): string =>
  `${(startSec + Math.floor(index / 1_000)).toString(16)}${shardByte(shard)}${index.toString(16).padStart(14, "0")}`;
const idInSql = (startSec: number, shard = 0): string =>
  `printf('%08x${shardByte(shard)}%014x', ${startSec} + i / 1000, i)`;

/** One file of an archive. */
export const archived = (index: number, shard = 0) => ({
  id: idOf(START_SEC, index, shard),
  contentType: CONTENT_TYPES[index % CONTENT_TYPES.length]!,
  metadata: {
    color: COLORS[index % COLORS.length],
    order: `o-${String(index).padStart(ORDER_DIGITS, "0")}`,
    price: index % PRICES,
  },
});

/** A template of the attribute record; each file's values replace these. */
const BLANK = { color: "COLOR", order: "ORDER", price: 123_456_789, type: "content/type" } as const;
const BLANK_ATTRIBUTES = recordOf(BLANK);
/** All files have the same keys. */
const KEYS_DIGEST = String(BLANK_ATTRIBUTES.rows.find(([key]) => key === KEYS_KEY)?.[1]);
const KEYS = JSON.stringify([".color", ".order", ".price"]);

/** The column `attributes` of a file. */
function recordOf({ type, ...metadata }: { readonly type: string }): Pick<FileAttributes, "rows" | "at"> {
  const { rows, at } = attributesOf(JSON.stringify(metadata), type);
  return { rows, at };
}

/** The part of D1 that is needed here. */
export interface Database {
  prepare(sql: string): Statement;
  batch(statements: Statement[]): Promise<unknown>;
}
interface Statement {
  bind(...values: unknown[]): Statement;
  first<T>(column: string): Promise<T | null>;
}

export interface Archive {
  readonly client: string;
  readonly tenant: string;
  /** The number of private files wanted. */
  readonly files: number;
  /** The number of the database; the first one unless told. */
  readonly shard?: number;
}

/** Brings an archive to its number of files. */
export async function fillArchive(db: Database, { client, tenant, files, shard = 0 }: Archive): Promise<void> {
  const ask = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  await db.batch([ask(ENSURE_OWNER, client, tenant), ask(ENSURE_KEY_SET, client, tenant, KEYS_DIGEST, KEYS)]);
  const owner = Number(await ask(`SELECT id ${OWNER}`, client, tenant).first<number>("id"));
  const there = await ask(`SELECT files ${OWNER}`, client, tenant).first<number>("files");
  for (let from = there ?? 0; from < files; from += CHUNK)
    await db.batch(insertsOf(owner, shard, from, Math.min(from + CHUNK, files)).map((sql) => ask(sql)));
  await expectAsCommitted(db, owner, shard, files - 1);
}

/** Throws if the file's rows differ from those that a commit writes. */
async function expectAsCommitted(db: Database, owner: number, shard: number, index: number): Promise<void> {
  const { id, metadata, contentType } = archived(index, shard);
  const expected = recordOf({ ...metadata, type: contentType });
  const record = await db.prepare(`SELECT attributes FROM file WHERE id = ?`).bind(id).first<string>("attributes");
  deepEqual(JSON.parse(record ?? ""), expected);
  const found = db.prepare(`SELECT count(*) AS rows FROM json_each(?1) AS pair CROSS JOIN attribute
    ON attribute.owner_id = ?2 AND attribute.key = pair.value ->> 0 AND attribute.value = pair.value ->> 1
    AND attribute.file_id = ?3 AND attribute.leads = pair.value ->> 2`);
  equal(await found.bind(JSON.stringify(expected.rows), owner, id).first<number>("rows"), expected.rows.length);
}

const OWNER = `FROM owner WHERE client = ?1 AND tenant = ?2 AND visibility = 'private' AND erasure_id IS NULL`;
const ENSURE_OWNER = `INSERT INTO owner (client, tenant, visibility) VALUES (?1, ?2, 'private') ON CONFLICT DO NOTHING`;
const ENSURE_KEY_SET = `INSERT INTO key_set (owner_id, digest, keys) SELECT id, ?3, ?4 ${OWNER} ON CONFLICT DO NOTHING`;

const ORDER = `printf('o-%0${ORDER_DIGITS}d', i)`;
const choice = (values: readonly string[], index: string): string =>
  `CASE ${index} ${values.map((value, at) => `WHEN ${at} THEN '${value}'`).join(" ")} END`;

/** Inserts the files of a range. The interpolated values are numbers of our own. */
function insertsOf(owner: number, shard: number, from: number, to: number): string[] {
  const fileId = idInSql(START_SEC, shard);
  const color = choice(COLORS, `i % ${COLORS.length}`);
  const type = choice(CONTENT_TYPES, `i % ${CONTENT_TYPES.length}`);
  const atMs = `${START_SEC * 1_000} + i`;
  const pairs: readonly Pair[] = [
    { key: ".color", value: color, groups: COLORS.length, leads: 1 },
    { key: ".order", value: ORDER, groups: 1, leads: 1 },
    { key: ".price", value: `i % ${PRICES}`, groups: PRICES, leads: 1 },
    { key: TYPE_KEY, value: type, groups: CONTENT_TYPES.length, leads: 1 },
    { key: KEYS_KEY, value: `'${KEYS_DIGEST}'`, groups: 1, leads: 0 },
  ];
  const values = { color, order: ORDER, price: `i % ${PRICES}`, type };
  let attributes = `'${JSON.stringify(BLANK_ATTRIBUTES)}'`;
  for (const blank of ["color", "order", "price", "type"] as const)
    attributes = `replace(${attributes}, '${BLANK[blank]}', ${values[blank]})`;
  // A file's triggers find its index rows, which is faster than to let them write each.
  return [
    ...pairs.map(
      ({ key, value, groups, leads }) =>
        `INSERT INTO attribute (owner_id, key, value, file_id, leads) ${groupedSeries(from, to, groups)}
          SELECT ${owner}, '${key}', ${value}, ${fileId}, ${leads} FROM series WHERE g < ${groups} AND i < ${to}`,
    ),
    `INSERT INTO file (id, owner_id, state, content_type, created_at, committed_at, size_bytes, etag, file_name,
      commit_digest, metadata, attributes) ${groupedSeries(from, to, 1)}
      SELECT ${fileId}, ${owner}, 'committed', ${type}, ${atMs}, ${atMs}, 65536, printf('%032x', i), ${ORDER} || '.bin',
        printf('%064x', i), json_object('color', ${color}, 'order', ${ORDER}, 'price', i % ${PRICES}),
        ${attributes}
      FROM series WHERE g < 1`,
    `UPDATE owner SET files = ${to}, bytes = ${to} * 65536 WHERE id = ${owner}`,
  ];
}

/** `value` is SQL over the index `i`; files with equal values form a group. */
interface Pair {
  readonly key: string;
  readonly value: string;
  readonly groups: number;
  readonly leads: 0 | 1;
}

/**
 * Generates the indices `i` of a range, group after group (`i` modulo `groups`). This is the order of the primary key
 * of `attribute`, which is several times as fast as any other.
 */
function groupedSeries(from: number, to: number, groups: number): string {
  const firstOf = (group: string): string => `${from} + (${group} - ${from % groups} + ${groups}) % ${groups}`;
  return `WITH RECURSIVE series (g, i) AS (
    SELECT 0, ${firstOf("0")} UNION ALL
    SELECT g + (i + ${groups} >= ${to}), CASE WHEN i + ${groups} < ${to} THEN i + ${groups} ELSE ${firstOf("g + 1")} END
    FROM series WHERE g < ${groups})`;
}

export interface Copies {
  /** The public file whose row is copied. */
  readonly of: string;
  readonly files: number;
}

export const copyId = (index: number): string => idOf(COPIES_START_SEC, index);

/** Makes files whose rows name the same R2 object. */
export async function makeCopies(db: Database, { of, files }: Copies): Promise<void> {
  const columns = "owner_id, state, content_type, created_at, committed_at, size_bytes, etag, attributes";
  const sql = `INSERT INTO file (id, blob_key, ${columns}) ${groupedSeries(0, files, 1)}
    SELECT ${idInSql(COPIES_START_SEC)}, 'blob/' || ?1, ${columns} FROM series CROSS JOIN file WHERE g < 1 AND file.id = ?1`;
  await db.batch([db.prepare(sql).bind(of)]);
}
