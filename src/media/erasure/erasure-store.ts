import { OWNED, ownedBy } from "../files/file-store.ts";
import { firstFileId, type Visibility, type FileCaller } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import type { Selected } from "../search/filter-store.ts";
import { provableAt, REMOVED_FILE, toRemoved, type RemovedFile, type RemovedRow } from "./removed-store.ts";

/**
 * Deletions and their reports. A removal and its report are written in one batch, which does nothing if the report
 * exists already. So a removal whose answer was lost can be repeated under the same id.
 */
export type ErasureStore = ReturnType<typeof createErasureStore>;

export interface NewErasure {
  readonly id: string;
  readonly requestedAt: number;
}

export type SelectedFiles = Extract<Selected, { readonly kind: "selected" }>;

/** The number of committed files, and the bytes of their masters. */
export interface FileCount {
  readonly files: number;
  readonly bytes: number;
}

export interface Erasure {
  readonly id: string;
  readonly tenant: string;
  readonly visibility: Visibility;
  readonly kind: "file" | "query" | "all";
  readonly requestedAt: number;
  readonly deletedAt: number | null;
  readonly verifiedAt: number | null;
  readonly files: number;
  readonly deletedFiles: number;
  readonly verifiedFiles: number;
  /** Bytes of the masters of committed files. */
  readonly bytes: number;
  readonly deletedBytes: number;
  readonly lateObjects: number;
}

const ERASURE = `SELECT id, tenant, visibility, kind, requested_at AS requestedAt, files, bytes,
  deleted_files AS deletedFiles, deleted_bytes AS deletedBytes, deleted_at AS deletedAt,
  verified_files AS verifiedFiles, verified_at AS verifiedAt, late_objects AS lateObjects FROM erasure`;

/** SQL: the deletion has no row yet. */
const isNew = (id: string): string => `NOT EXISTS (SELECT 1 FROM erasure WHERE erasure.id = ${id})`;

/** SQL: the file belongs to this owner, and the owner is not retired. */
const isLive = (ownerId: string): string =>
  `EXISTS (SELECT 1 FROM owner WHERE owner.id = file.owner_id AND owner.id = ${ownerId} AND owner.erasure_id IS NULL)`;

/** SQL: the owner has no committed file left. */
const IS_EMPTY = `NOT EXISTS (SELECT 1 FROM file WHERE file.owner_id = owner.id AND file.state = 'committed')`;

/** The client of this name. Triggers on the table of clients rename and delete it with the client. */
export const requesterOf = (client: string): string => `(SELECT id FROM requester WHERE client = ${client})`;

/** SQL: the file is the caller's (?1 to ?5 as in OWNED) and not removed, and the deletion ?6 has no row yet. */
const REMOVABLE = `${OWNED} AND file.state <> 'removed' AND ${isNew("?6")}`;

const NEW_COLUMNS =
  "id, requester_id, tenant, visibility, kind, requested_at, due_at, files, bytes, deleted_at, verified_at";

const SQL = {
  ensureRequester: `INSERT INTO requester (client) SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM requester WHERE client = ?1)`,
  // The row is due at the time of its proof, so it changes once.
  removeFile: `UPDATE file SET state = 'removed', removed_at = ?7, due_at = ${provableAt("created_at", "?7")},
    erased_by = ?6, file_name = NULL, commit_digest = NULL, metadata = NULL, attributes = NULL, unindexed_pairs = NULL
    WHERE ${REMOVABLE}`,
  // The report has no due time, because the file's row has one. A pending file counts for the caller's tenant.
  recordFile: `INSERT INTO erasure (${NEW_COLUMNS})
    SELECT ?1, ${requesterOf("?4")}, iif(owner.tenant = '', ?3, owner.tenant), owner.visibility, 'file', ?2, NULL,
      1, coalesce(file.size_bytes, 0), NULL, NULL
    FROM file JOIN owner ON owner.id = file.owner_id WHERE file.id = ?5 AND file.erased_by = ?1
    ON CONFLICT DO NOTHING`,
  countMatching: (ids: string) => `SELECT count(*) AS files, coalesce(sum(size_bytes), 0) AS bytes FROM file
    WHERE id IN (${ids}) AND state = 'committed' AND ${isLive("?2")}`,
  countAll: `SELECT coalesce(sum(files), 0) AS files, coalesce(sum(bytes), 0) AS bytes FROM owner
    WHERE client = ?1 AND tenant = ?2 AND visibility = ?3 AND erasure_id IS NULL`,
  removeMatching: (ids: string) => `UPDATE file SET state = 'removed', removed_at = ?3, due_at = ?3, erasure_id = ?2
    WHERE id IN (${ids}) AND state = 'committed' AND ${isNew("?2")} AND ${isLive("?4")}`,
  // A deletion of nothing is verified at once.
  recordMatching: `INSERT INTO erasure (${NEW_COLUMNS})
    SELECT ?1, ${requesterOf("?2")}, ?3, ?4, 'query', ?5, iif(count(*) = 0, ?6, ?5), count(*), coalesce(sum(size_bytes), 0),
      iif(count(*) = 0, ?5, NULL), iif(count(*) = 0, ?5, NULL)
    FROM file WHERE erasure_id = ?1 ON CONFLICT DO NOTHING`,
  retireOwner: `UPDATE owner SET erasure_id = ?1 WHERE client = ?2 AND tenant = ?3 AND visibility = ?4
    AND erasure_id IS NULL AND ${isNew("?1")}`,
  recordAll: `INSERT INTO erasure (${NEW_COLUMNS})
    SELECT ?1, ${requesterOf("?2")}, ?3, ?4, 'all', ?5, ?5, coalesce(sum(files), 0), coalesce(sum(bytes), 0),
      iif(coalesce(sum(files), 0) = 0, ?5, NULL), iif(coalesce(sum(files), 0) = 0, ?5, NULL)
    FROM owner WHERE erasure_id = ?1 ON CONFLICT DO NOTHING`,
  read: `${ERASURE} WHERE id = ?1`,
  find: `${ERASURE} WHERE id = ?1 AND requester_id = ${requesterOf("?2")}`,
  list: `${ERASURE} WHERE requester_id = ${requesterOf("?1")} AND tenant = ?2 AND id < ?3
    ORDER BY id DESC LIMIT ?4 OFFSET ?5`,
  removePage: `UPDATE file SET state = 'removed', due_at = ?2, erasure_id = ?1,
    removed_at = (SELECT requested_at FROM erasure WHERE id = ?1)
    WHERE id IN (SELECT file.id FROM owner CROSS JOIN file ON file.owner_id = owner.id
      WHERE owner.erasure_id = ?1 AND file.state = 'committed' LIMIT ?3)`,
  duePage: `SELECT ${REMOVED_FILE} FROM file WHERE erasure_id = ?1 AND due_at <= ?2 AND state = 'removed'
    ORDER BY due_at LIMIT ?3`,
  postpone: `UPDATE erasure SET due_at = ?2 WHERE id = ?1 AND kind <> 'file'`,
  deleteAttributes: `DELETE FROM attribute WHERE (owner_id, key, value, file_id) IN (
    SELECT attribute.owner_id, attribute.key, attribute.value, attribute.file_id
    FROM owner CROSS JOIN attribute ON attribute.owner_id = owner.id
    WHERE owner.erasure_id = ?1 AND ${IS_EMPTY} LIMIT ?2)`,
  deleteKeySets: `DELETE FROM key_set WHERE id IN (
    SELECT key_set.id FROM owner CROSS JOIN key_set ON key_set.owner_id = owner.id
    WHERE owner.erasure_id = ?1 AND ${IS_EMPTY} LIMIT ?2)`,
  deleteOwner: `DELETE FROM owner WHERE erasure_id = ?1 AND ${IS_EMPTY}
    AND NOT EXISTS (SELECT 1 FROM attribute WHERE attribute.owner_id = owner.id)
    AND NOT EXISTS (SELECT 1 FROM key_set WHERE key_set.owner_id = owner.id)`,
  // Due with its next file, or else when the report expires, but not before a message of this step counts as lost.
  scheduleNext: `UPDATE erasure SET due_at = max(?2, coalesce(
      (SELECT min(file.due_at) FROM file WHERE file.erasure_id = ?1 AND erasure.kind <> 'file'), requested_at + ?3))
    WHERE id = ?1`,
  isOwnerLeft: `SELECT 1 FROM owner WHERE erasure_id = ?1`,
  due: `SELECT id FROM erasure WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2`,
  postponeListed: `UPDATE erasure SET due_at = ?2 WHERE id IN (SELECT value FROM json_each(?1))`,
  deleteExpired: `DELETE FROM erasure WHERE id IN (SELECT id FROM erasure
    WHERE due_at <= ?1 AND requested_at <= ?2 AND verified_at IS NOT NULL ORDER BY due_at LIMIT ?3) RETURNING id`,
  // Ids begin with the time, so the oldest reports come first.
  deleteExpiredAlone: `DELETE FROM erasure WHERE id IN (SELECT id FROM erasure
    WHERE id < ?1 AND due_at IS NULL AND requested_at <= ?3 AND verified_at IS NOT NULL ORDER BY id LIMIT ?2) RETURNING id`,
} as const;

export function createErasureStore(db: D1Database) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  /** Runs the statements and returns the deletion's row after them. */
  const recorded = async (
    id: string,
    client: string,
    statements: readonly D1PreparedStatement[],
  ): Promise<Erasure | undefined> => {
    const ensured = prepared(SQL.ensureRequester, client);
    const results = await db.batch<Erasure>([ensured, ...statements, prepared(SQL.read, id)]);
    return results.at(-1)?.results[0];
  };
  return {
    /**
     * Pending or committed → removed. Undefined: the caller has no such file. The report belongs to the client that
     * requested the deletion, which may be another client that the file is shared with.
     */
    removeFile: (
      { id, requestedAt }: NewErasure,
      fileId: string,
      caller: FileCaller,
      requestedBy: string,
    ): Promise<Erasure | undefined> => {
      const file = [...ownedBy(fileId, caller), id];
      return recorded(id, requestedBy, [
        prepared(SQL.removeFile, ...file, requestedAt),
        prepared(SQL.recordFile, id, requestedAt, caller.tenant, requestedBy, fileId),
      ]);
    },

    /** Committed → removed, for all matching files in one write. */
    async removeMatching(
      { id, requestedAt }: NewErasure,
      { client, tenant, visibility }: FileCaller,
      selected: SelectedFiles | undefined,
    ): Promise<Erasure> {
      const record = [id, client, tenant, visibility, requestedAt, requestedAt + LIMITS.erasureKeptMs];
      const removal = (files: SelectedFiles) =>
        prepared(SQL.removeMatching(files.idsSql), files.parameter, id, requestedAt, files.ownerId);
      const removals = selected === undefined ? [] : [removal(selected)];
      return expectRow(await recorded(id, client, [...removals, prepared(SQL.recordMatching, ...record)]));
    },

    /** Retires the owner: from then on nobody can read any of its files. */
    async removeAll({ id, requestedAt }: NewErasure, { client, tenant, visibility }: FileCaller): Promise<Erasure> {
      const owner = [id, client, tenant, visibility];
      const removal = [prepared(SQL.retireOwner, ...owner), prepared(SQL.recordAll, ...owner, requestedAt)];
      return expectRow(await recorded(id, client, removal));
    },

    /** Counts the files that `removeMatching` would remove. */
    async countMatching(files: SelectedFiles | undefined): Promise<FileCount> {
      if (files === undefined) return NONE;
      const counting = prepared(SQL.countMatching(files.idsSql), files.parameter, files.ownerId);
      return (await counting.first<FileCount>()) ?? NONE;
    },

    /** Counts the files that `removeAll` would remove. */
    async countAll({ client, tenant, visibility }: FileCaller): Promise<FileCount> {
      return (await prepared(SQL.countAll, client, tenant, visibility).first<FileCount>()) ?? NONE;
    },

    /** Finds a deletion of a client by the client's current name. */
    async find(id: string, client: string): Promise<Erasure | undefined> {
      return (await prepared(SQL.find, id, client).first<Erasure>()) ?? undefined;
    },

    /** Lists the deletions of a client in one tenant, newest first. */
    async list(
      client: string,
      tenant: string,
      beforeId: string,
      maxRows: number,
      skip: number,
    ): Promise<readonly Erasure[]> {
      return (await prepared(SQL.list, client, tenant, beforeId, maxRows, skip).all<Erasure>()).results;
    },

    /** Removes a page of files of a retired owner, and returns the next page of removed files that are due. */
    async takePage(id: string, nowMs: number, maxRows: number): Promise<readonly RemovedFile[]> {
      const [, due] = await db.batch<RemovedRow>([
        prepared(SQL.removePage, id, nowMs, maxRows),
        prepared(SQL.duePage, id, nowMs, maxRows),
        prepared(SQL.postpone, id, nowMs + LIMITS.workResendMs),
      ]);
      return (due?.results ?? []).map(toRemoved);
    },

    /** Runs after the last page that was due. Deletes rows of the retired owner, and returns whether any are left. */
    async finishPages(id: string, nowMs: number): Promise<boolean> {
      const results = await db.batch([
        prepared(SQL.deleteAttributes, id, LIMITS.rowsPerDelete),
        prepared(SQL.deleteKeySets, id, LIMITS.rowsPerDelete),
        prepared(SQL.deleteOwner, id),
        prepared(SQL.scheduleNext, id, nowMs + LIMITS.workResendMs, LIMITS.erasureKeptMs),
        prepared(SQL.isOwnerLeft, id),
      ]);
      return results.at(-1)?.results.length === 1;
    },

    /** Takes deletions that are due, each once until its message counts as lost. */
    async takeDue(nowMs: number, maxRows: number): Promise<readonly string[]> {
      const due = (await prepared(SQL.due, nowMs, maxRows).all<{ id: string }>()).results.map((row) => row.id);
      // They are postponed before the messages are sent, so a failed send is repeated later.
      if (due.length > 0) await prepared(SQL.postponeListed, JSON.stringify(due), nowMs + LIMITS.workResendMs).run();
      return due;
    },

    /**
     * Deletes a page of each kind of expired reports. Returns the larger number: if it is `maxRows`, more may be left.
     */
    async deleteExpired(nowMs: number, maxRows: number): Promise<number> {
      const keptFromMs = nowMs - LIMITS.erasureKeptMs;
      const [due, alone] = await db.batch([
        prepared(SQL.deleteExpired, nowMs, keptFromMs, maxRows),
        prepared(SQL.deleteExpiredAlone, firstFileId(keptFromMs + 1_000), maxRows, keptFromMs),
      ]);
      return Math.max(due?.results.length ?? 0, alone?.results.length ?? 0);
    },
  };
}

const NONE: FileCount = { files: 0, bytes: 0 };

function expectRow(erasure: Erasure | undefined): Erasure {
  if (erasure === undefined) throw new Error("a deletion left no row");
  return erasure;
}
