import type { FileKeys } from "../blobs/blob-store.ts";
import { ATTRIBUTE_SQL } from "../metadata/index-sql.ts";
import type { VariantJob } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";

/**
 * Rows of removed files, from the removal to the listing that proves them gone. Works on sets of files: the number of
 * statements does not depend on the number of files. Each change tests the state that it counts, so a repeated one
 * counts once.
 */
export type RemovedFileStore = ReturnType<typeof createRemovedFileStore>;

export interface RemovedFile {
  readonly id: string;
  /** The master's key if it is not the usual one. */
  readonly blobKey: string | null;
  /** The ETag of a copy that a commit may have begun. */
  readonly pinnedEtag: string | null;
  /** When its bytes were deleted; then only the proof is due. */
  readonly purgedAt: number | null;
}

export const REMOVED_FILE = "id, blob_key AS blobKey, pinned_etag AS pinnedEtag, purged_at AS purgedAt";

/** ?1 is a JSON list of ids. */
const EACH_LISTED = "json_each(?1) AS listed CROSS JOIN file ON file.id = listed.value";
const LISTED = "IN (SELECT value FROM json_each(?1))";
const NOT_PURGED = "file.state = 'removed' AND file.purged_at IS NULL";
const PURGED = "file.state = 'removed' AND file.purged_at IS NOT NULL";

const SQL = {
  expirePending: `UPDATE file SET state = 'removed', removed_at = ?1 WHERE
    id IN (SELECT id FROM file WHERE due_at <= ?1 AND state = 'pending'
      AND created_at > coalesce((SELECT restored_to FROM restore_point WHERE id = 1 AND held = 1), -1)
      ORDER BY due_at LIMIT ?2)`,
  due: `SELECT ${REMOVED_FILE} FROM file WHERE due_at <= ?1 AND state = 'removed' ORDER BY due_at LIMIT ?2`,
  renditionsOf: `SELECT file_id AS fileId, nonce FROM variant WHERE file_id ${LISTED}`,
  countPurged: `UPDATE erasure SET deleted_files = deleted_files + page.files, deleted_bytes = deleted_bytes + page.bytes,
    deleted_at = CASE WHEN deleted_files + page.files >= erasure.files THEN ?2 END
    FROM (SELECT file.erasure_id, count(*) AS files, sum(coalesce(file.size_bytes, 0)) AS bytes
      FROM ${EACH_LISTED} WHERE ${NOT_PURGED} AND file.erasure_id IS NOT NULL GROUP BY file.erasure_id) AS page
    WHERE erasure.id = page.erasure_id`,
  deleteVariants: `DELETE FROM variant WHERE file_id IN (SELECT file.id FROM ${EACH_LISTED} WHERE ${NOT_PURGED})`,
  markPurged: `UPDATE file SET purged_at = ?2, due_at = max(created_at + ?3, removed_at + ?4), file_name = NULL,
    commit_digest = NULL, metadata = NULL, attributes = NULL, unindexed_pairs = NULL
    WHERE id ${LISTED} AND ${NOT_PURGED}`,
  // A union, so that no key counts twice.
  recordLate: `UPDATE file SET late_keys = (SELECT json_group_array(value) FROM (
      SELECT value FROM json_each(coalesce(file.late_keys, '[]')) UNION SELECT value FROM json_each(found.keys)))
    FROM (SELECT value ->> 'fileId' AS file_id, value -> 'keys' AS keys FROM json_each(?1)) AS found
    WHERE file.id = found.file_id AND ${PURGED}`,
  postpone: `UPDATE file SET due_at = ?2 WHERE id ${LISTED} AND ${PURGED}`,
  countVerified: `UPDATE erasure SET verified_files = verified_files + page.files,
    late_objects = late_objects + page.late,
    verified_at = CASE WHEN verified_files + page.files >= erasure.files THEN ?2 END
    FROM (SELECT file.erasure_id, count(*) AS files,
        sum(json_array_length(coalesce(file.late_keys, '[]'))) AS late
      FROM ${EACH_LISTED} WHERE ${PURGED} AND file.erasure_id IS NOT NULL GROUP BY file.erasure_id) AS page
    WHERE erasure.id = page.erasure_id`,
  delete: `DELETE FROM file WHERE id ${LISTED} AND ${PURGED}`,
} as const;

export function createRemovedFileStore(db: D1Database) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  return {
    /**
     * Pending → removed for files without a commit after a day, unless a restore may have undone their commit. Then
     * the removed files that are due, oldest first.
     */
    async due(nowMs: number, maxRows: number): Promise<readonly RemovedFile[]> {
      const [, due] = await db.batch<RemovedFile>([
        prepared(SQL.expirePending, nowMs, maxRows),
        prepared(SQL.due, nowMs, maxRows),
      ]);
      return due?.results ?? [];
    },

    /** All renditions that the files have rows of. */
    async renditionsOf(fileIds: readonly string[]): Promise<readonly VariantJob[]> {
      return (await prepared(SQL.renditionsOf, JSON.stringify(fileIds)).all<VariantJob>()).results;
    },

    /** After the bytes are deleted: counts the files as deleted, and deletes all that the rows say of their content. */
    async markPurged(fileIds: readonly string[], nowMs: number): Promise<void> {
      const ids = JSON.stringify(fileIds);
      await db.batch([
        prepared(SQL.countPurged, ids, nowMs),
        prepared(SQL.deleteVariants, ids),
        prepared(ATTRIBUTE_SQL.remove, ids),
        prepared(ATTRIBUTE_SQL.removeKeySets, ids),
        prepared(SQL.markPurged, ids, nowMs, LIMITS.uncommittedTtlMs, LIMITS.lastWriteMs),
      ]);
    },

    /** Records keys that a later listing found, before they are deleted. */
    async recordLate(found: readonly FileKeys[]): Promise<void> {
      await prepared(SQL.recordLate, JSON.stringify(found)).run();
    },

    async postpone(fileIds: readonly string[], dueAt: number): Promise<void> {
      await prepared(SQL.postpone, JSON.stringify(fileIds), dueAt).run();
    },

    /** After a listing that found no bytes: counts the files as verified, and deletes their rows. */
    async markVerified(fileIds: readonly string[], nowMs: number): Promise<void> {
      const ids = JSON.stringify(fileIds);
      await db.batch([prepared(SQL.countVerified, ids, nowMs), prepared(SQL.delete, ids)]);
    },
  };
}
