import { MASTER_KEY } from "../files/file-store.ts";
import type { ExpectedObject, KeyspaceName } from "./keyspaces.ts";

/** The objects that the rows expect in R2. */
export type ExpectedStore = ReturnType<typeof createExpectedStore>;

/** The row of a retired owner may be deleted before the last of its files. */
const LIVES = `(file.state = 'committed' AND owner.id IS NOT NULL AND owner.erasure_id IS NULL)`;
const VARIANT_KEY = `'variant/' || variant.file_id || '/' || variant.nonce`;
const ROW = `file.id AS fileId, owner.client, owner.tenant`;

/** All objects of a removed file are deleted with it, with or without rows of variants. */
const VARIANT_NEED = `CASE WHEN NOT ${LIVES} THEN 'any' WHEN variant.state = 'ready' THEN 'bytes'
  WHEN variant.state IS NULL OR variant.state = 'failed' THEN 'none' ELSE 'any' END`;
/** Nobody reads these once the file is committed. A `due_at` says that its upload link may still write there. */
const INCOMING_NEED = `CASE WHEN ${LIVES} AND file.due_at IS NULL THEN 'none' ELSE 'any' END`;

const MASTER = `SELECT file.id AS rowKey, ${MASTER_KEY} AS key, CASE WHEN ${LIVES} THEN 'bytes' ELSE 'any' END AS need,
  file.size_bytes AS sizeBytes, file.etag, NULL AS nonce, ${ROW}`;
const variant = (rowKey: string): string => `SELECT ${rowKey} AS rowKey, ${VARIANT_KEY} AS key,
  ${VARIANT_NEED} AS need, variant.size_bytes AS sizeBytes, NULL AS etag, variant.nonce, ${ROW}`;
const INCOMING = `SELECT file.id AS rowKey, '' AS key, ${INCOMING_NEED} AS need,
  NULL AS sizeBytes, NULL AS etag, NULL AS nonce, ${ROW}`;

/** CROSS JOIN fixes the order, so that a page is read along a primary key. */
const OWNER = `LEFT JOIN owner ON owner.id = file.owner_id`;
const NAMED_FILES = `FROM json_each(?1) AS named CROSS JOIN file ON file.id = named.value ${OWNER}`;

/** ?1 is where the walk begins, ?2 the exact key: a page may end between the objects of one file. ?4: the last key. */
const PAGES = {
  files: `${MASTER} FROM file ${OWNER} WHERE file.id >= ?1 AND ${MASTER_KEY} > ?2
    AND (?4 IS NULL OR file.id <= substr(?4, 6, 24) AND ${MASTER_KEY} <= ?4) ORDER BY file.id LIMIT ?3`,
  variants: `${variant(`variant.file_id || '/' || variant.nonce`)}
    FROM variant CROSS JOIN file ON file.id = variant.file_id ${OWNER}
    WHERE variant.file_id >= ?1 AND ${VARIANT_KEY} > ?2
      AND (?4 IS NULL OR variant.file_id <= substr(?4, 9, 24) AND ${VARIANT_KEY} <= ?4) ORDER BY variant.file_id, variant.nonce LIMIT ?3`,
} as const;

const NAMED = {
  files: `${MASTER} ${NAMED_FILES}`,
  variants: `${variant("named.value")} FROM json_each(?1) AS named
    CROSS JOIN file ON file.id = substr(named.value, 1, 24) ${OWNER}
    LEFT JOIN variant ON variant.file_id = file.id AND variant.nonce = substr(named.value, 26)`,
  incoming: `${INCOMING} ${NAMED_FILES}`,
} as const satisfies Record<KeyspaceName, string>;

export function createExpectedStore(db: D1Database) {
  return {
    /** Expected objects with a key behind `after` and not behind `until`, in the order of keys, from a file on. */
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
    /** The objects that these rows expect; rows that do not exist are left out. */
    async named(keyspace: KeyspaceName, rowKeys: readonly string[]): Promise<readonly ExpectedObject[]> {
      if (rowKeys.length === 0) return [];
      return (await db.prepare(NAMED[keyspace]).bind(JSON.stringify(rowKeys)).all<ExpectedObject>()).results;
    },
  };
}
