import type { FileKeys } from "../blobs/blob-store.ts";
import { firstFileId } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";

/**
 * Rows of removed files, from the removal to the proof that their bytes are gone. The methods work on sets of files:
 * the number of statements does not depend on the number of files. Each change tests the state that it counts, so a
 * repeated change counts once.
 */
export type RemovedFileStore = ReturnType<typeof createRemovedFileStore>;

export interface RemovedFile {
  readonly id: string;
  readonly createdAt: number;
  /** The master's key if it is not the usual one. */
  readonly blobKey: string | null;
  /** The ETag of a copy that a commit may have begun. */
  readonly pinnedEtag: string | null;
  /** The time at which its bytes were deleted; after that only the proof is due. */
  readonly purgedAt: number | null;
  /** 1: rows name all places where the file can have bytes. 0: all but copies of several pinned uploads. */
  readonly knownPlaces: number | null;
  /** 1: a deletion of this file alone removed it, and its row changed then (erasure-store.ts). */
  readonly isAlone: 0 | 1;
  /** 1: the file came from another shard. */
  readonly hasMoved: 0 | 1;
  /** All renditions that have a row. */
  readonly nonces: readonly string[];
}

export type RemovedRow = Omit<RemovedFile, "nonces"> & { readonly nonces: string };

/** If a file was deleted alone, its report has the time at which its bytes were deleted. */
export const REMOVED_FILE = `id, created_at AS createdAt, blob_key AS blobKey, pinned_etag AS pinnedEtag,
  known_places AS knownPlaces,
  erased_by IS NOT NULL AS isAlone, EXISTS (SELECT 1 FROM moved_file WHERE moved_file.id = file.id) AS hasMoved,
  coalesce(purged_at, (SELECT deleted_at FROM erasure WHERE erasure.id = file.erased_by)) AS purgedAt,
  (SELECT json_group_array(nonce) FROM variant WHERE variant.file_id = file.id) AS nonces`;

export const toRemoved = (row: RemovedRow): RemovedFile => ({ ...row, nonces: JSON.parse(row.nonces) as string[] });

/** ?1 is a JSON list of ids. */
const EACH_LISTED = "json_each(?1) AS listed CROSS JOIN file ON file.id = listed.value";
const LISTED = "IN (SELECT value FROM json_each(?1))";
const NOT_PURGED = "file.state = 'removed' AND file.purged_at IS NULL AND file.erased_by IS NULL";
const PURGED = "file.state = 'removed' AND (file.purged_at IS NOT NULL OR file.erased_by IS NOT NULL)";
const ERASURE_OF = "coalesce(file.erased_by, file.erasure_id)";
/** SQL: the time from which on nobody can write bytes of the file any more. */
export const provableAt = (createdAt: string, removedAt: string): string =>
  `max(${createdAt} + ${LIMITS.uncommittedTtlMs}, ${removedAt} + ${LIMITS.lastWriteMs})`;

/** SQL: no restore may have undone the file's commit. The directory reads the time of the restore, others get ?5. */
const NOT_HELD = `created_at > coalesce(?5, (SELECT restored_to FROM restore_point WHERE id = 1 AND held = 1), -1)`;

/** SQL: removed files that are due, from one end of their order. */
const dueFiles = (order: "ASC" | "DESC", limit: string): string =>
  `SELECT rowid FROM file WHERE due_at <= ?1 AND state = 'removed' ORDER BY due_at ${order} LIMIT ${limit}`;

const SQL = {
  // Files of the previous release have a due time. All others are found by the time in their ids.
  expirePending: `UPDATE file SET state = 'removed', removed_at = ?1, due_at = ?1 WHERE id IN (
    SELECT id FROM (SELECT id FROM file WHERE due_at <= ?1 AND state = 'pending' AND ${NOT_HELD}
      ORDER BY due_at LIMIT ?2)
    UNION SELECT id FROM (SELECT id FROM file INDEXED BY file_pending
      WHERE state = 'pending' AND id < ?3 AND due_at IS NULL AND created_at <= ?4 AND ${NOT_HELD} LIMIT ?2))`,
  due: `SELECT ${REMOVED_FILE} FROM file WHERE rowid IN (SELECT rowid FROM (${dueFiles("ASC", "?2 - ?2 / 2")})
    UNION SELECT rowid FROM (${dueFiles("DESC", "?2 / 2")})) ORDER BY due_at`,
  named: `SELECT ${REMOVED_FILE} FROM file WHERE id ${LISTED} AND state = 'removed'`,
  countAlone: `UPDATE erasure SET deleted_files = files, deleted_bytes = bytes, deleted_at = ?2
    WHERE deleted_at IS NULL AND id IN (SELECT file.erased_by FROM ${EACH_LISTED} WHERE file.erased_by IS NOT NULL)`,
  dueWithProof: `UPDATE file SET due_at = ${provableAt("created_at", "removed_at")}
    WHERE id ${LISTED} AND state = 'removed' AND erased_by IS NOT NULL
      AND due_at < ${provableAt("created_at", "removed_at")}`,
  countPurged: `UPDATE erasure SET deleted_files = deleted_files + page.files, deleted_bytes = deleted_bytes + page.bytes,
    deleted_at = CASE WHEN deleted_files + page.files >= erasure.files THEN ?2 END
    FROM (SELECT file.erasure_id, count(*) AS files, sum(coalesce(file.size_bytes, 0)) AS bytes
      FROM ${EACH_LISTED} WHERE ${NOT_PURGED} AND file.erasure_id IS NOT NULL GROUP BY file.erasure_id) AS page
    WHERE erasure.id = page.erasure_id`,
  // No job is sent for these variants any more. Their rows stay if the proof needs the places that they name. One in a
  // lane has a message on the way, which does the same.
  endVariants: `UPDATE variant SET due_at = NULL WHERE file_id ${LISTED} AND due_at IS NOT NULL AND lane IS NULL`,
  deleteUnasked: `DELETE FROM variant WHERE lane IS NULL AND file_id IN (
    SELECT file.id FROM ${EACH_LISTED} WHERE file.state = 'removed' AND file.known_places IS NULL)`,
  deleteVariants: `DELETE FROM variant WHERE file_id IN (SELECT file.id FROM ${EACH_LISTED} WHERE ${PURGED})`,
  markPurged: `UPDATE file SET purged_at = ?2, due_at = ${provableAt("created_at", "removed_at")}, file_name = NULL,
    commit_digest = NULL, metadata = NULL, attributes = NULL, unindexed_pairs = NULL
    WHERE id ${LISTED} AND ${NOT_PURGED}`,
  // The UNION drops duplicates, so no key counts twice.
  recordLate: `UPDATE file SET late_keys = (SELECT json_group_array(value) FROM (
      SELECT value FROM json_each(coalesce(file.late_keys, '[]')) UNION SELECT value FROM json_each(found.keys)))
    FROM (SELECT value ->> 'fileId' AS file_id, value -> 'keys' AS keys FROM json_each(?1)) AS found
    WHERE file.id = found.file_id AND ${PURGED}`,
  postpone: `UPDATE file SET due_at = ?2 WHERE id ${LISTED} AND ${PURGED}`,
  countVerified: `UPDATE erasure SET verified_files = verified_files + page.files,
    late_objects = late_objects + page.late,
    verified_at = CASE WHEN verified_files + page.files >= erasure.files THEN ?2 END
    FROM (SELECT ${ERASURE_OF} AS erasure_id, count(*) AS files,
        sum(json_array_length(coalesce(file.late_keys, '[]'))) AS late
      FROM ${EACH_LISTED} WHERE ${PURGED} AND ${ERASURE_OF} IS NOT NULL GROUP BY ${ERASURE_OF}) AS page
    WHERE erasure.id = page.erasure_id`,
  delete: `DELETE FROM file WHERE id ${LISTED} AND ${PURGED}`,
  deleteMoves: `DELETE FROM moved_file WHERE id ${LISTED}
    AND NOT EXISTS (SELECT 1 FROM file WHERE file.id = moved_file.id)`,
} as const;

/**
 * Deletes the notes of other shards about files. Returns the files about which a shard that does not answer may still
 * have one.
 */
export type ForgetMoves = (fileIds: readonly string[]) => Promise<readonly string[]>;

export function createRemovedFileStore(db: D1Database, forgetMoves: ForgetMoves = async () => []) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  return {
    /**
     * Pending → removed for files without a commit after a day, unless a restore may have undone their commit. Returns
     * the removed files that are due, in the order of their due time. If there are more, half of them are those that
     * became due last: all files of a great deletion are due at one moment, and others would wait for its end.
     */
    async due(nowMs: number, maxRows: number, heldFrom?: number): Promise<readonly RemovedFile[]> {
      const createdBeforeMs = nowMs - LIMITS.uncommittedTtlMs;
      const firstId = firstFileId(createdBeforeMs + 1_000);
      const [, due] = await db.batch<RemovedRow>([
        prepared(SQL.expirePending, nowMs, maxRows, firstId, createdBeforeMs, heldFrom ?? null),
        prepared(SQL.due, nowMs, maxRows),
      ]);
      return (due?.results ?? []).map(toRemoved);
    },

    /** Returns those of the files that are removed. */
    async named(fileIds: readonly string[]): Promise<readonly RemovedFile[]> {
      return (await prepared(SQL.named, JSON.stringify(fileIds)).all<RemovedRow>()).results.map(toRemoved);
    },

    /** Runs after the bytes are deleted. Counts the files as deleted, and clears the columns about their content. */
    async markPurged(files: readonly RemovedFile[], nowMs: number): Promise<void> {
      const idsOf = (some: readonly RemovedFile[]): string => JSON.stringify(some.map(({ id }) => id));
      const alone = files.filter(({ isAlone }) => isAlone === 1);
      const others = idsOf(files.filter(({ isAlone }) => isAlone === 0));
      const known = files.filter(({ knownPlaces }) => knownPlaces !== null);
      const unknown = files.filter(({ knownPlaces }) => knownPlaces === null);
      await db.batch([
        ...(alone.length === 0
          ? []
          : [prepared(SQL.countAlone, idsOf(alone), nowMs), prepared(SQL.dueWithProof, idsOf(alone))]),
        ...(known.length === 0 ? [] : [prepared(SQL.endVariants, idsOf(known))]),
        ...(unknown.length === 0 ? [] : [prepared(SQL.deleteUnasked, idsOf(unknown))]),
        ...(alone.length === files.length
          ? []
          : [prepared(SQL.countPurged, others, nowMs), prepared(SQL.markPurged, others, nowMs)]),
      ]);
    },

    /** Records keys that the proof found, before their objects are deleted. */
    async recordLate(found: readonly FileKeys[]): Promise<void> {
      await prepared(SQL.recordLate, JSON.stringify(found)).run();
    },

    async postpone(fileIds: readonly string[], dueAt: number): Promise<void> {
      await prepared(SQL.postpone, JSON.stringify(fileIds), dueAt).run();
    },

    /**
     * Runs after a proof that found no bytes. Counts the files as verified and deletes their rows. It deletes the rows
     * of other shards first: if it breaks off, the file's row is still there and the sweep repeats it. Returns the
     * files that wait for a shard that does not answer.
     */
    async markVerified(files: readonly RemovedFile[], nowMs: number): Promise<readonly string[]> {
      const moved = files.filter(({ hasMoved }) => hasMoved === 1).map(({ id }) => id);
      const held = new Set(moved.length === 0 ? [] : await forgetMoves(moved));
      const ids = files.map(({ id }) => id).filter((id) => !held.has(id));
      if (ids.length === 0) return [...held];
      const listed = JSON.stringify(ids);
      await db.batch([
        prepared(SQL.countVerified, listed, nowMs),
        prepared(SQL.deleteVariants, listed),
        prepared(SQL.delete, listed),
        ...(moved.length === held.size ? [] : [prepared(SQL.deleteMoves, listed)]),
      ]);
      return [...held];
    },
  };
}
