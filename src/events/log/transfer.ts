import {
  fillPage,
  PAGE_FORMAT,
  takePage,
  type ImportOutcome,
  type ImportPlace,
} from "../../platform/storage/object-import.ts";
import { ResetTable, type Reset } from "./resets.ts";
import { createLogTables, KEY_BYTES, logExists, readLog } from "./schema.ts";
import { SegmentTable } from "./segment-table.ts";
import type { Segment } from "./segments.ts";
import type { Retention } from "./types.ts";

/**
 * A topic log as pages: consumers, push subscriptions and idempotency keys ("register"), and its events.
 *
 * Export the register first, the objects of consumers and push subscriptions next and the events last. Then every key
 * has its events, and no cursor lies beyond the exported events. With a key but without its events, a repeated publish
 * would report events as stored that are not.
 *
 * A log stays closed during an import, so it answers "gone" until the last page. Event pages come in the order of
 * positions, also from several backups; segments that the log already has are skipped. If retention left a gap between
 * two backups, the log starts after the gap, since readers rely on positions without gaps.
 */
export interface RegisterPage extends LogHead {
  readonly kind: "register";
  readonly consumers: readonly string[];
  readonly subscribers: readonly string[];
  readonly keys: readonly StoredKey[];
  /** Where the next page starts; undefined on the last one. */
  readonly next: string | undefined;
}

export interface EventsPage extends LogHead {
  readonly kind: "events";
  /** The position before the first segment, and when the event there was published. */
  readonly beforeSeq: number;
  readonly beforeAtMs: number;
  readonly segments: readonly Segment[];
  /** The position of the last event of this page. The next page starts after it. */
  readonly endSeq: number;
  readonly atEnd: boolean;
}

interface LogHead {
  readonly format: number;
  readonly shard: number;
  readonly retention: Retention;
  /** The log's last event when the page was made, and its time. */
  readonly lastSeq: number;
  readonly lastAtMs: number;
  /** Resets that the log has had. A reader that has not seen one goes back to it after the import, too. */
  readonly resets?: readonly Reset[] | undefined;
}

interface StoredKey extends Record<string, SqlStorageValue> {
  key: string;
  digest: string;
  ids: string;
  expiresAtMs: number;
}

export interface LogEnd {
  readonly seq: number;
  readonly createdAtMs: number;
}

export function exportRegister(sql: SqlStorage, end: LogEnd, after: string | undefined): RegisterPage {
  const [section = "consumer", last = ""] = after === undefined ? [] : split(after);
  const page = { consumers: [] as string[], subscribers: [] as string[], keys: [] as StoredKey[] };
  let next: string | undefined;
  const { page: rows, isAll } = fillPage(registerRows(sql, section, last), ({ chars }) => chars);
  for (const { section: of, name, key } of rows) {
    if (key !== undefined) page.keys.push(key);
    else (of === "consumer" ? page.consumers : page.subscribers).push(name);
    next = `${of} ${name}`;
  }
  return { kind: "register", ...headOf(sql, end), ...page, next: isAll ? undefined : next };
}

export function exportEvents(sql: SqlStorage, end: LogEnd, afterSeq: number): EventsPage {
  const segments = new SegmentTable(sql);
  const { page, isAll } = fillPage(
    afterSeq < end.seq ? segments.from(afterSeq + 1) : [],
    (segment) => segment.events.length,
  );
  const first = page[0];
  const { trimmed } = readLog(sql);
  const beforeSeq = first === undefined ? end.seq : first.firstSeq - 1;
  return {
    kind: "events",
    ...headOf(sql, end),
    beforeSeq,
    beforeAtMs: timeAt(segments, beforeSeq) ?? trimmed.createdAtMs,
    segments: page,
    endSeq: page.at(-1)?.lastSeq ?? end.seq,
    atEnd: isAll,
  };
}

export function importLogPage(
  storage: DurableObjectStorage,
  place: ImportPlace,
  page: RegisterPage | EventsPage,
): ImportOutcome {
  const { sql } = storage;
  return takePage(storage, place, page, !logExists(sql), () => {
    if (!logExists(sql)) {
      createLogTables(storage, page.shard, page.retention);
      sql.exec(`UPDATE log SET closed = 1`);
    }
    if (page.kind === "register") importRegister(sql, page);
    else importEvents(sql, page);
    const resets = new ResetTable(sql);
    for (const { id, seq } of page.resets ?? []) resets.add(id, seq);
    if (!place.isLast) return;
    sql.exec(`UPDATE log SET closed = 0, key_bytes = (SELECT coalesce(sum(${KEY_BYTES}), 0) FROM publish_key)`);
    const { trimmed } = readLog(sql);
    // Objects of readers that were not lost may have cursors beyond the backup.
    resets.add(place.id, new SegmentTable(sql).newest()?.lastSeq ?? trimmed.seq);
  });
}

function importRegister(sql: SqlStorage, { consumers, subscribers, keys, lastSeq, lastAtMs }: RegisterPage): void {
  for (const name of consumers) sql.exec(`INSERT OR IGNORE INTO consumer (client_id) VALUES (?)`, name);
  // A subscription that is woken at 0 reads from its cursor, so this wake misses nothing and repeats nothing.
  for (const name of subscribers) sql.exec(`INSERT OR IGNORE INTO subscriber (name, woken_seq) VALUES (?, 0)`, name);
  for (const { key, digest, ids, expiresAtMs } of keys)
    sql.exec(
      `INSERT OR IGNORE INTO publish_key (key, digest, ids, expires_at) VALUES (?, ?, ?, ?)`,
      key,
      digest,
      ids,
      expiresAtMs,
    );
  // A log without events still continues after the last position it gave out.
  if (new SegmentTable(sql).newest() === undefined) beginBehind(sql, lastSeq, lastAtMs);
}

function importEvents(sql: SqlStorage, { segments, beforeSeq, beforeAtMs }: EventsPage): void {
  const table = new SegmentTable(sql);
  const newest = table.newest();
  if (newest === undefined || newest.lastSeq < beforeSeq) {
    if (newest !== undefined) table.removeThrough(newest);
    beginBehind(sql, beforeSeq, beforeAtMs);
  }
  const endSeq = Math.max(newest?.lastSeq ?? 0, beforeSeq);
  for (const segment of segments) if (segment.firstSeq > endSeq) table.append(segment);
}

/** Stores where a log without segments ends. */
const beginBehind = (sql: SqlStorage, seq: number, atMs: number): void =>
  void sql.exec(`UPDATE log SET trimmed_seq = ?, trimmed_at = ?`, seq, atMs);

interface RegisterRow {
  readonly section: "consumer" | "subscriber" | "key";
  readonly name: string;
  readonly key?: StoredKey;
  readonly chars: number;
}

function* registerRows(sql: SqlStorage, section: string, after: string): Iterable<RegisterRow> {
  const from = SECTIONS.indexOf(section as (typeof SECTIONS)[number]);
  const names = (statement: string, of: number) =>
    sql.exec<{ name: string }>(statement, of === from ? after : "").toArray();
  if (from <= 0)
    for (const { name } of names(`SELECT client_id AS name FROM consumer WHERE client_id > ? ORDER BY client_id`, 0))
      yield { section: "consumer", name, chars: name.length };
  if (from <= 1)
    for (const { name } of names(`SELECT name FROM subscriber WHERE name > ? ORDER BY name`, 1))
      yield { section: "subscriber", name, chars: name.length };
  const keys = sql.exec<StoredKey>(
    `SELECT key, digest, ids, expires_at AS expiresAtMs FROM publish_key WHERE key > ? ORDER BY key`,
    from === 2 ? after : "",
  );
  for (const key of keys)
    yield { section: "key", name: key.key, key, chars: key.key.length + key.digest.length + key.ids.length };
}

const SECTIONS = ["consumer", "subscriber", "key"] as const;

const split = (after: string): [string, string] => {
  const at = after.indexOf(" ");
  return [after.slice(0, at), after.slice(at + 1)];
};

function headOf(sql: SqlStorage, { seq, createdAtMs }: LogEnd): LogHead {
  const { shard, retention } = readLog(sql);
  const resets = new ResetTable(sql).all;
  return { format: PAGE_FORMAT, shard, retention, lastSeq: seq, lastAtMs: createdAtMs, resets };
}

function timeAt(segments: SegmentTable, seq: number): number | undefined {
  const place = segments.placeFrom(seq);
  return place !== undefined && place.firstSeq <= seq ? place.createdAtMs : undefined;
}
