import { MASTER_KEY } from "../files/file-store.ts";
import type { ExpectedObject, KeyspaceName } from "./keyspaces.ts";

/** The objects that the rows expect in R2. */
export type ExpectedStore = ReturnType<typeof createExpectedStore>;

/** The objects that the rows of all databases expect in R2 (shards/every-shard.ts). */
export interface ExpectedEverywhere extends ExpectedStore {
  /** As `named`, but of tenant objects alone. */
  inObjects: ExpectedStore["named"];
}

/** SQL: the file is committed and not deleted. A retired owner's row may go before the rows of its removed files. */
const LIVES = `(file.state = 'committed' AND owner.id IS NOT NULL AND owner.erasure_id IS NULL)`;
const VARIANT_KEY = `'variant/' || variant.file_id || '/' || variant.nonce`;
const ROW = `file.id AS fileId, owner.client, owner.tenant`;

/** `any` for a removed file: its erasure deletes all its objects, with or without rows of variants. */
const VARIANT_NEED = `CASE WHEN NOT ${LIVES} THEN 'any' WHEN variant.state = 'ready' THEN 'bytes'
  WHEN variant.state IS NULL OR variant.state = 'failed' THEN 'none' ELSE 'any' END`;
/**
 * Nobody reads an incoming object of a committed file. While the file has a `due_at`, its link may still write there.
 */
const INCOMING_NEED = `CASE WHEN ${LIVES} AND file.due_at IS NULL THEN 'none' ELSE 'any' END`;

const MASTER = `SELECT file.id AS rowKey, ${MASTER_KEY} AS key, CASE WHEN ${LIVES} THEN 'bytes' ELSE 'any' END AS need,
  file.size_bytes AS sizeBytes, file.etag, NULL AS nonce, ${ROW}`;
const variant = (rowKey: string): string => `SELECT ${rowKey} AS rowKey, ${VARIANT_KEY} AS key,
  ${VARIANT_NEED} AS need, variant.size_bytes AS sizeBytes, NULL AS etag, variant.nonce, ${ROW}`;
const INCOMING = `SELECT file.id AS rowKey, '' AS key, ${INCOMING_NEED} AS need,
  NULL AS sizeBytes, NULL AS etag, NULL AS nonce, ${ROW}`;

/** CROSS JOIN fixes the order of the tables, so a page is read along a primary key. */
const OWNER = `LEFT JOIN owner ON owner.id = file.owner_id`;
const NAMED_FILES = `FROM json_each(?1) AS named CROSS JOIN file ON file.id = named.value ${OWNER}`;

/** SQL: pending files that have left this shard and not arrived in another one may have bytes. */
const ON_THEIR_WAY = `UNION ALL SELECT moved_file.id, '', 'any', NULL, NULL, NULL, moved_file.id, NULL, NULL
  FROM json_each(?1) AS named CROSS JOIN moved_file ON moved_file.id = named.value AND moved_file.row IS NOT NULL`;

/** ?1 is the first file, ?2 the key to begin after (a page may end between objects of one file), ?4 the last key. */
const PAGES = {
  files: `${MASTER} FROM file ${OWNER} WHERE file.id >= ?1 AND ${MASTER_KEY} > ?2
    AND (?4 IS NULL OR file.id <= substr(?4, 6, 24) AND ${MASTER_KEY} <= ?4) ORDER BY file.id LIMIT ?3`,
  variants: `${variant(`variant.file_id || '/' || variant.nonce`)}
    FROM variant CROSS JOIN file ON file.id = variant.file_id ${OWNER}
    WHERE variant.file_id >= ?1 AND ${VARIANT_KEY} > ?2
      AND (?4 IS NULL OR variant.file_id <= substr(?4, 9, 24) AND ${VARIANT_KEY} <= ?4) ORDER BY variant.file_id, variant.nonce LIMIT ?3`,
} as const;

const NAMED = {
  files: `${MASTER} ${NAMED_FILES} ${ON_THEIR_WAY}`,
  variants: `${variant("named.value")} FROM json_each(?1) AS named
    CROSS JOIN file ON file.id = substr(named.value, 1, 24) ${OWNER}
    LEFT JOIN variant ON variant.file_id = file.id AND variant.nonce = substr(named.value, 26)`,
  incoming: `${INCOMING} ${NAMED_FILES} ${ON_THEIR_WAY}`,
} as const satisfies Record<KeyspaceName, string>;

export function createExpectedStore(db: D1Database) {
  return {
    /**
     * Returns the expected objects with keys after `after` up to `until`, in key order. `fromFileId` is the file of
     * `after`.
     */
    async page(
      keyspace: "files" | "variants",
      after: string,
      fromFileId: string,
      limit: number,
      until?: string,
    ): Promise<readonly ExpectedObject[]> {
      return (
        await db
          .prepare(PAGES[keyspace])
          .bind(fromFileId, after, limit, until ?? null)
          .all<ExpectedObject>()
      ).results;
    },
    /** Returns the objects that these rows expect, without rows that do not exist. A file on its way has a row too. */
    async named(keyspace: KeyspaceName, rowKeys: readonly string[]): Promise<readonly ExpectedObject[]> {
      if (rowKeys.length === 0) return [];
      return (await db.prepare(NAMED[keyspace]).bind(JSON.stringify(rowKeys)).all<ExpectedObject>()).results;
    },
  };
}
