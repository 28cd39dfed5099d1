import { LOG, PUBLISH } from "./limits.ts";
import type { Once } from "./topic-log.ts";

/**
 * The idempotency keys that one log knows, and which ids they gave.
 *
 * A key of a topic with several shards is known to each log that stored a part of the request. They must forget it
 * together, or a part would be stored and another part refused. So the log of the key's home alone judges by the
 * clock and says when the key expires; the others store that time and know the key of exactly that use.
 */
export class PublishKeys {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** What the key gave before, if it is still known. */
  find(once: Once, nowMs: number): KnownKey | undefined {
    const [condition, timeMs] =
      once.expiresAtMs === undefined ? ["expires_at > ?", nowMs] : ["expires_at = ?", once.expiresAtMs];
    const row = this.#sql
      .exec<KeyRow>(`SELECT digest, ids, expires_at FROM publish_key WHERE key = ? AND ${condition}`, once.key, timeMs)
      .toArray()[0];
    if (row === undefined) return undefined;
    return { digest: row.digest, ids: JSON.parse(row.ids) as string[], expiresAtMs: row.expires_at };
  }

  remember(key: Once & { readonly expiresAtMs: number }, ids: readonly string[]): void {
    this.#sql.exec(
      `INSERT OR REPLACE INTO publish_key (key, digest, ids, expires_at) VALUES (?, ?, ?, ?)`,
      key.key,
      key.digest,
      JSON.stringify(ids),
      key.expiresAtMs,
    );
  }

  /** Removes some of the keys that are over. */
  clear(nowMs: number, limit: number): void {
    this.#sql.exec(
      `DELETE FROM publish_key WHERE key IN
        (SELECT key FROM publish_key WHERE expires_at <= ? ORDER BY expires_at LIMIT ${limit})`,
      nowMs - LOG.keyGraceMs,
    );
  }

  /** When the next key is to be cleared; Infinity when there is none. */
  dueMs(): number {
    const next = this.#sql
      .exec<{ expires_at: number }>(`SELECT expires_at FROM publish_key ORDER BY expires_at LIMIT 1`)
      .toArray()[0];
    return next === undefined ? Infinity : clearedAtMs(next.expires_at);
  }
}

/** When a key of the request expires: the home log decides at its first use. */
export const expiryOf = (once: Once, nowMs: number): number => once.expiresAtMs ?? nowMs + PUBLISH.idempotencyMs;

export const clearedAtMs = (expiresAtMs: number): number => expiresAtMs + LOG.keyGraceMs;

export interface KnownKey {
  readonly digest: string;
  readonly ids: readonly string[];
  readonly expiresAtMs: number;
}

interface KeyRow extends Record<string, SqlStorageValue> {
  digest: string;
  ids: string;
  expires_at: number;
}
