import type { FileKeys } from "../blobs/blob-store.ts";
import { ATTRIBUTE_SQL } from "../metadata/index-sql.ts";
import type { VariantJob } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";

/**
 * The rows of removed files, from the removal to the last look for bytes, in sets: what a call costs does not depend on
 * how many files it names. Each change is conditional on what it counts for, so that one that is repeated counts once.
 */
export interface RemovedFileStore {
  /**
   * Pending → removed for files whose day is over, which is what a commit races with; then the removed files that have
   * to be looked at, those that wait longest first.
   */
  due(nowMs: number, maxRows: number): Promise<readonly RemovedFile[]>;
  /** All renditions that the files have rows of. */
  renditionsOf(fileIds: readonly string[]): Promise<readonly VariantJob[]>;
  /** Their bytes are gone: they count as deleted, all that they said goes from the rows, and they wait for a second look. */
  markPurged(fileIds: readonly string[], nowMs: number): Promise<void>;
  /** Keys that a second look found, before they are deleted. */
  recordLate(found: readonly FileKeys[]): Promise<void>;
  lookLater(fileIds: readonly string[], dueAt: number): Promise<void>;
  /** A listing has shown that nothing is there: they count as verified and are forgotten. */
  markVerified(fileIds: readonly string[], nowMs: number): Promise<void>;
}

export interface RemovedFile {
  readonly id: string;
  /** Where the master lies, if not at its usual place. */
  readonly blobKey: string | null;
  /** Of a copy that a commit may have begun. */
  readonly pinnedEtag: string | null;
  /** Its bytes were deleted once; what is due is the second look. */
  readonly isPurged: boolean;
}

export const REMOVED_COLUMNS = "id, blob_key, pinned_etag, purged_at IS NOT NULL AS is_purged";

/** ?1 is a JSON list of ids. */
const EACH_LISTED = "json_each(?1) AS listed CROSS JOIN file ON file.id = listed.value";
const LISTED = "IN (SELECT value FROM json_each(?1))";
const NOT_PURGED = "file.state = 'removed' AND file.purged_at IS NULL";
const PURGED = "file.state = 'removed' AND file.purged_at IS NOT NULL";

const SQL = {
  expirePending: `UPDATE file SET state = 'removed', removed_at = ?1 WHERE
    id IN (SELECT id FROM file WHERE due_at <= ?1 AND state = 'pending' ORDER BY due_at LIMIT ?2)`,
  due: `SELECT ${REMOVED_COLUMNS} FROM file WHERE due_at <= ?1 AND state = 'removed' ORDER BY due_at LIMIT ?2`,
  renditionsOf: `SELECT file_id AS fileId, nonce FROM variant WHERE file_id ${LISTED}`,
  countPurged: `UPDATE erasure SET deleted_files = deleted_files + page.files, deleted_bytes = deleted_bytes + page.bytes,
    deleted_at = CASE WHEN deleted_files + page.files >= erasure.files THEN ?2 END
    FROM (SELECT file.erasure_id, count(*) AS files, sum(coalesce(file.size_bytes, 0)) AS bytes
      FROM ${EACH_LISTED} WHERE ${NOT_PURGED} AND file.erasure_id IS NOT NULL GROUP BY file.erasure_id) AS page
    WHERE erasure.id = page.erasure_id`,
  forgetVariants: `DELETE FROM variant WHERE file_id IN (SELECT file.id FROM ${EACH_LISTED} WHERE ${NOT_PURGED})`,
  purged: `UPDATE file SET purged_at = ?2, due_at = max(created_at + ?3, removed_at + ?4), file_name = NULL,
    commit_digest = NULL, metadata = NULL, attributes = NULL WHERE id ${LISTED} AND ${NOT_PURGED}`,
  // The union of what is known and what was found, so that no key counts twice.
  recordLate: `UPDATE file SET late_keys = (SELECT json_group_array(value) FROM (
      SELECT value FROM json_each(coalesce(file.late_keys, '[]')) UNION SELECT value FROM json_each(found.keys)))
    FROM (SELECT value ->> 'fileId' AS file_id, value -> 'keys' AS keys FROM json_each(?1)) AS found
    WHERE file.id = found.file_id AND ${PURGED}`,
  lookLater: `UPDATE file SET due_at = ?2 WHERE id ${LISTED} AND ${PURGED}`,
  countVerified: `UPDATE erasure SET verified_files = verified_files + page.files,
    late_objects = late_objects + page.late,
    verified_at = CASE WHEN verified_files + page.files >= erasure.files THEN ?2 END
    FROM (SELECT file.erasure_id, count(*) AS files,
        sum(json_array_length(coalesce(file.late_keys, '[]'))) AS late
      FROM ${EACH_LISTED} WHERE ${PURGED} AND file.erasure_id IS NOT NULL GROUP BY file.erasure_id) AS page
    WHERE erasure.id = page.erasure_id`,
  forget: `DELETE FROM file WHERE id ${LISTED} AND ${PURGED}`,
} as const;

export function createRemovedFileStore(db: D1Database): RemovedFileStore {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  return {
    async due(nowMs, maxRows) {
      const [, due] = await db.batch<RemovedColumns>([
        prepared(SQL.expirePending, nowMs, maxRows),
        prepared(SQL.due, nowMs, maxRows),
      ]);
      return (due?.results ?? []).map(toRemovedFile);
    },
    async renditionsOf(fileIds) {
      return (await prepared(SQL.renditionsOf, JSON.stringify(fileIds)).all<VariantJob>()).results;
    },
    async markPurged(fileIds, nowMs) {
      const ids = JSON.stringify(fileIds);
      await db.batch([
        prepared(SQL.countPurged, ids, nowMs),
        prepared(SQL.forgetVariants, ids),
        prepared(ATTRIBUTE_SQL.forget, ids),
        prepared(ATTRIBUTE_SQL.forgetKeySets, ids),
        prepared(SQL.purged, ids, nowMs, LIMITS.uncommittedTtlMs, LIMITS.lastWriteMs),
      ]);
    },
    async recordLate(found) {
      await prepared(SQL.recordLate, JSON.stringify(found)).run();
    },
    async lookLater(fileIds, dueAt) {
      await prepared(SQL.lookLater, JSON.stringify(fileIds), dueAt).run();
    },
    async markVerified(fileIds, nowMs) {
      const ids = JSON.stringify(fileIds);
      await db.batch([prepared(SQL.countVerified, ids, nowMs), prepared(SQL.forget, ids)]);
    },
  };
}

export interface RemovedColumns {
  readonly id: string;
  readonly blob_key: string | null;
  readonly pinned_etag: string | null;
  readonly is_purged: 0 | 1;
}

export const toRemovedFile = (row: RemovedColumns): RemovedFile => ({
  id: row.id,
  blobKey: row.blob_key,
  pinnedEtag: row.pinned_etag,
  isPurged: row.is_purged === 1,
});
