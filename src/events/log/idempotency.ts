import { LOG, PUBLISH } from "../model/limits.ts";
import { packIds, unpackIds } from "./event-id.ts";
import { KEY_BYTES } from "./schema.ts";
import type { Once } from "./types.ts";

/**
 * The idempotency keys that one log knows, and which ids they gave.
 *
 * A key is remembered for 24 hours, unless more than an eighth of the log's maximum would be keys: then the oldest go
 * before their time, so that keys never push out the events. What all of them take is counted in the row of the log.
 *
 * A key of a topic with several shards is known to each log that stored a part of the request. They must forget it
 * together, or a part would be stored and another part refused. So the log of the key's home alone judges by the
 * clock and says when the key expires; the others store that time and know the key of exactly that use. Of a key that
 * one of them had to give up before its time, a repeat stores that part once more.
 */
export class IdempotencyKeys {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** What the key gave before, if it is still known. */
  find(once: Once, nowMs: number): KnownKey | undefined {
    const [condition, timeMs] =
      once.expiresAtMs === undefined ? ["expires_at > ?", nowMs] : ["expires_at = ?", once.expiresAtMs];
    const row = this.#sql
      .exec<KeyRow>(
        `SELECT digest, ids, expires_at AS expiresAtMs FROM publish_key WHERE key = ? AND ${condition}`,
        once.key,
        timeMs,
      )
      .toArray()[0];
    if (row === undefined) return undefined;
    const { digest, ids, expiresAtMs } = row;
    return { isSame: digest === shortened(once.digest), ids: unpackIds(ids), expiresAtMs };
  }

  /** To be called in a transaction, like all that follows. Other keys make room for this one. */
  remember(key: Once & { readonly expiresAtMs: number }, ids: readonly string[], maxBytes: number): void {
    this.#remove(`key = ?`, key.key);
    const stored = this.#sql.exec<SizeRow>(
      `INSERT INTO publish_key (key, digest, ids, expires_at) VALUES (?, ?, ?, ?) RETURNING ${KEY_BYTES} AS bytes`,
      key.key,
      shortened(key.digest),
      packIds(ids),
      key.expiresAtMs,
    );
    this.#count(stored.one().bytes);
    this.#shrink(maxBytes, key.key);
  }

  /** Removes some of the keys that are over. */
  clear(nowMs: number, limit: number): void {
    this.#remove(
      `key IN (SELECT key FROM publish_key WHERE expires_at <= ? ORDER BY expires_at LIMIT ${limit})`,
      nowMs - LOG.keyGraceMs,
    );
  }

  /** Removes a step of what is over, or too much. */
  trim(nowMs: number, maxBytes: number): void {
    this.clear(nowMs, LOG.rowsTrimmedAStep);
    this.#shrink(maxBytes);
  }

  /** When the next key is to be removed: 0 when there are too many, Infinity when there is none. */
  dueMs(maxBytes: number): number {
    const next = this.#sql
      .exec<{ expiresAtMs: number }>(`SELECT expires_at AS expiresAtMs FROM publish_key ORDER BY expires_at LIMIT 1`)
      .toArray()[0];
    if (next === undefined) return Infinity;
    return this.#excessBytes(maxBytes) > 0 ? 0 : clearedAtMs(next.expiresAtMs);
  }

  /** Removes the oldest keys, but not `kept`, until all of them take no more than they may: at most a step. */
  #shrink(maxBytes: number, kept = ""): void {
    let excessBytes = this.#excessBytes(maxBytes);
    if (excessBytes <= 0) return;
    const oldest = (columns: string, limit: number) =>
      `SELECT ${columns} FROM publish_key WHERE key <> ? ORDER BY expires_at LIMIT ${limit}`;
    let count = 0;
    for (const { bytes } of this.#sql.exec<SizeRow>(oldest(`${KEY_BYTES} AS bytes`, LOG.rowsTrimmedAStep), kept)) {
      count += 1;
      excessBytes -= bytes;
      if (excessBytes <= 0) break;
    }
    this.#remove(`key IN (${oldest("key", count)})`, kept);
  }

  /** How much more the keys take than they may. */
  #excessBytes(maxBytes: number): number {
    const { bytes } = this.#sql.exec<SizeRow>(`SELECT key_bytes AS bytes FROM log`).one();
    return bytes - maxBytes * LOG.keysPart;
  }

  #remove(condition: string, binding: string | number): void {
    const removed = this.#sql
      .exec<SizeRow>(`DELETE FROM publish_key WHERE ${condition} RETURNING ${KEY_BYTES} AS bytes`, binding)
      .toArray();
    if (removed.length > 0) this.#count(-removed.reduce((sum, { bytes }) => sum + bytes, 0));
  }

  #count(bytes: number): void {
    this.#sql.exec(`UPDATE log SET key_bytes = key_bytes + ?`, bytes);
  }
}

/** When a key of the request expires: the home log decides at its first use. */
export const expiryOf = (once: Once, nowMs: number): number => once.expiresAtMs ?? nowMs + PUBLISH.idempotencyMs;

export const clearedAtMs = (expiresAtMs: number): number => expiresAtMs + LOG.keyGraceMs;

/** Half of a SHA-256 in hex tells requests apart. */
const shortened = (digest: string): string => digest.slice(0, 32);

export interface KnownKey {
  /** Whether it came with the same request. */
  readonly isSame: boolean;
  readonly ids: readonly string[];
  readonly expiresAtMs: number;
}

interface KeyRow extends Record<string, SqlStorageValue> {
  digest: string;
  ids: string;
  expiresAtMs: number;
}

interface SizeRow extends Record<string, SqlStorageValue> {
  bytes: number;
}
