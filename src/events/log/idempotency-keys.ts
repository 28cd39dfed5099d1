import { LOG, PUBLISH } from "../model/limits.ts";
import { packIds, unpackIds } from "./event-id.ts";
import { KEY_BYTES } from "./schema.ts";
import type { Once } from "./types.ts";

/**
 * The idempotency keys of one log, with the ids they returned.
 *
 * A key is kept for 24 hours. If keys take more than an eighth of the log's maximum, the oldest are removed earlier, so
 * that keys leave space for events. The log's row has the size of all keys.
 *
 * With several shards, each log that stored a part of the request has the key. The key must expire in all of them at
 * the same time, or a repeat would store one part and skip another. So only the log of the key's home shard compares
 * the expiry with its clock. It returns the expiry, and the other logs match a key only together with it. If a log
 * removed its key early, a repeat stores its part again.
 */
export class IdempotencyKeys {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Finds the earlier result of the key if it is still known. */
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

  /** Stores a key, and removes others if all take too much space. Call it in a transaction, like `clear` and `trim`. */
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

  /** Removes some expired keys. */
  clear(nowMs: number, limit: number): void {
    this.#remove(
      `key IN (SELECT key FROM publish_key WHERE expires_at <= ? ORDER BY expires_at LIMIT ${limit})`,
      nowMs - LOG.keyGraceMs,
    );
  }

  /** Removes a step of expired or surplus keys. */
  trim(nowMs: number, maxBytes: number): void {
    this.clear(nowMs, LOG.rowsTrimmedAStep);
    this.#shrink(maxBytes);
  }

  /** When the next key must be removed: 0 if keys take too much space, Infinity if there is none. */
  dueMs(maxBytes: number): number {
    const next = this.#sql
      .exec<{ expiresAtMs: number }>(`SELECT expires_at AS expiresAtMs FROM publish_key ORDER BY expires_at LIMIT 1`)
      .toArray()[0];
    if (next === undefined) return Infinity;
    return this.#excessBytes(maxBytes) > 0 ? 0 : clearedAtMs(next.expiresAtMs);
  }

  /** Removes the oldest keys except `kept` until the rest fit, but at most one step. */
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

  /** Bytes of keys beyond their share. */
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

/** When a request's key expires: as the home shard's log decided, or, in that log, 24 hours from now. */
export const expiryOf = (once: Once, nowMs: number): number => once.expiresAtMs ?? nowMs + PUBLISH.idempotencyMs;

export const clearedAtMs = (expiresAtMs: number): number => expiresAtMs + LOG.keyGraceMs;

/** Half of a SHA-256 in hex is enough to tell requests apart. */
const shortened = (digest: string): string => digest.slice(0, 32);

export interface KnownKey {
  /** True if the earlier request was the same. */
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
