import { OWNED, ownedBy } from "../files/file-store.ts";
import type { Visibility, FileCaller } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import type { Selected } from "../search/filter-store.ts";
import { REMOVED_COLUMNS, toRemovedFile, type RemovedColumns, type RemovedFile } from "./removed-store.ts";

/**
 * Deletions and their proof. Each removal is one batch: what is removed, and the row that says so. It does nothing when
 * the row is there already, so one whose answer was lost is repeated under the same id.
 */
export interface ErasureStore {
  /** Pending or committed → removed; undefined where the caller has no such file. */
  removeFile(erasure: NewErasure, fileId: string, caller: FileCaller): Promise<Erasure | undefined>;
  /** Committed → removed, all that match in one write. */
  removeMatching(erasure: NewErasure, caller: FileCaller, selected: SelectedFiles | undefined): Promise<Erasure>;
  /** Retires the owner: every file of it is nobody's from then on. */
  removeAll(erasure: NewErasure, caller: FileCaller): Promise<Erasure>;
  /** What the two of them would remove. */
  countMatching(selected: SelectedFiles | undefined): Promise<FileCount>;
  countAll(caller: FileCaller): Promise<FileCount>;
  /** Of a client, by the name that it has now. */
  find(id: string, client: string): Promise<Erasure | undefined>;
  /** The same of one of its tenants, the newest first. */
  list(client: string, tenant: string, beforeId: string, maxRows: number, skip: number): Promise<readonly Erasure[]>;
  /** The next page of files to look at: those of a retired owner become removed page by page. */
  takePage(id: string, nowMs: number, maxRows: number): Promise<readonly RemovedFile[]>;
  /** After the last page that was due: forgets the retired owner, and says whether more of it is left to forget. */
  finishPages(id: string, nowMs: number): Promise<boolean>;
  /** Deletions that nobody works at though they have something to do; taken, so that the next call finds others. */
  takeDue(nowMs: number, maxRows: number): Promise<readonly string[]>;
  /** Forgets reports that were kept long enough; how many they were. */
  forgetOld(nowMs: number, maxRows: number): Promise<number>;
}

export interface NewErasure {
  readonly id: string;
  readonly requestedAt: number;
}

export type SelectedFiles = Extract<Selected, { readonly kind: "selected" }>;

/** Committed files, and the bytes of their masters. */
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
  /** Of the masters of committed files. */
  readonly bytes: number;
  readonly deletedBytes: number;
  readonly lateObjects: number;
}

const COLUMNS = `id, tenant, visibility, kind, requested_at, files, bytes, deleted_files, deleted_bytes, deleted_at,
  verified_files, verified_at, late_objects`;

/** A removal that has no row yet. */
const isNew = (id: string): string => `NOT EXISTS (SELECT 1 FROM erasure WHERE erasure.id = ${id})`;

/** The file is this owner's, who is not retired. */
const isLive = (ownerId: string): string =>
  `EXISTS (SELECT 1 FROM owner WHERE owner.id = file.owner_id AND owner.id = ${ownerId} AND owner.erasure_id IS NULL)`;

/** No file of the owner waits to become removed. */
const IS_EMPTY = `NOT EXISTS (SELECT 1 FROM file WHERE file.owner_id = owner.id AND file.state = 'committed')`;

/** The client of this name. Triggers on the clients' table have it follow the name, and end with the client. */
const requester = (client: string): string => `(SELECT id FROM requester WHERE client = ${client})`;

const NEW_COLUMNS =
  "id, requester_id, tenant, visibility, kind, requested_at, due_at, files, bytes, deleted_at, verified_at";

const SQL = {
  ensureRequester: `INSERT INTO requester (client) VALUES (?1) ON CONFLICT DO NOTHING`,
  removeFile: `UPDATE file SET state = 'removed', removed_at = ?7, due_at = ?7, erasure_id = ?6
    WHERE ${OWNED} AND state <> 'removed' AND ${isNew("?6")}`,
  // The file's own row has it looked at, so the report is due when it goes. A pending file has no tenant: the caller's.
  recordFile: `INSERT INTO erasure (${NEW_COLUMNS})
    SELECT ?1, ${requester("owner.client")}, iif(owner.tenant = '', ?4, owner.tenant), owner.visibility, 'file', ?2, ?3,
      1, coalesce(file.size_bytes, 0), NULL, NULL
    FROM file JOIN owner ON owner.id = file.owner_id WHERE file.erasure_id = ?1 ON CONFLICT DO NOTHING`,
  countMatching: (ids: string) => `SELECT count(*) AS files, coalesce(sum(size_bytes), 0) AS bytes FROM file
    WHERE id IN (${ids}) AND state = 'committed' AND ${isLive("?2")}`,
  countAll: `SELECT coalesce(sum(files), 0) AS files, coalesce(sum(bytes), 0) AS bytes FROM owner
    WHERE client = ?1 AND tenant = ?2 AND visibility = ?3 AND erasure_id IS NULL`,
  removeMatching: (ids: string) => `UPDATE file SET state = 'removed', removed_at = ?3, due_at = ?3, erasure_id = ?2
    WHERE id IN (${ids}) AND state = 'committed' AND ${isNew("?2")} AND ${isLive("?4")}`,
  // Where nothing was to be deleted, that is verified at once.
  recordMatching: `INSERT INTO erasure (${NEW_COLUMNS})
    SELECT ?1, ${requester("?2")}, ?3, ?4, 'query', ?5, iif(count(*) = 0, ?6, ?5), count(*), coalesce(sum(size_bytes), 0),
      iif(count(*) = 0, ?5, NULL), iif(count(*) = 0, ?5, NULL)
    FROM file WHERE erasure_id = ?1 ON CONFLICT DO NOTHING`,
  retireOwner: `UPDATE owner SET erasure_id = ?1 WHERE client = ?2 AND tenant = ?3 AND visibility = ?4
    AND erasure_id IS NULL AND ${isNew("?1")}`,
  recordAll: `INSERT INTO erasure (${NEW_COLUMNS})
    SELECT ?1, ${requester("?2")}, ?3, ?4, 'all', ?5, ?5, coalesce(sum(files), 0), coalesce(sum(bytes), 0),
      iif(coalesce(sum(files), 0) = 0, ?5, NULL), iif(coalesce(sum(files), 0) = 0, ?5, NULL)
    FROM owner WHERE erasure_id = ?1 ON CONFLICT DO NOTHING`,
  read: `SELECT ${COLUMNS} FROM erasure WHERE id = ?1`,
  find: `SELECT ${COLUMNS} FROM erasure WHERE id = ?1 AND requester_id = ${requester("?2")}`,
  list: `SELECT ${COLUMNS} FROM erasure WHERE requester_id = ${requester("?1")} AND tenant = ?2 AND id < ?3
    ORDER BY id DESC LIMIT ?4 OFFSET ?5`,
  removePage: `UPDATE file SET state = 'removed', due_at = ?2, erasure_id = ?1,
    removed_at = (SELECT requested_at FROM erasure WHERE id = ?1)
    WHERE id IN (SELECT file.id FROM owner CROSS JOIN file ON file.owner_id = owner.id
      WHERE owner.erasure_id = ?1 AND file.state = 'committed' LIMIT ?3)`,
  duePage: `SELECT ${REMOVED_COLUMNS} FROM file WHERE erasure_id = ?1 AND due_at <= ?2 AND state = 'removed'
    ORDER BY due_at LIMIT ?3`,
  postpone: `UPDATE erasure SET due_at = ?2 WHERE id = ?1 AND kind <> 'file'`,
  forgetAttributes: `DELETE FROM attribute WHERE (owner_id, key, value, file_id) IN (
    SELECT attribute.owner_id, attribute.key, attribute.value, attribute.file_id
    FROM owner CROSS JOIN attribute ON attribute.owner_id = owner.id
    WHERE owner.erasure_id = ?1 AND ${IS_EMPTY} LIMIT ?2)`,
  forgetKeySets: `DELETE FROM key_set WHERE id IN (
    SELECT key_set.id FROM owner CROSS JOIN key_set ON key_set.owner_id = owner.id
    WHERE owner.erasure_id = ?1 AND ${IS_EMPTY} LIMIT ?2)`,
  forgetOwner: `DELETE FROM owner WHERE erasure_id = ?1 AND ${IS_EMPTY}
    AND NOT EXISTS (SELECT 1 FROM attribute WHERE attribute.owner_id = owner.id)
    AND NOT EXISTS (SELECT 1 FROM key_set WHERE key_set.owner_id = owner.id)`,
  // The next second look, else the end of the report; never sooner than the sweep takes a lost message for lost.
  scheduleNext: `UPDATE erasure SET due_at = max(?2, coalesce(
      (SELECT min(file.due_at) FROM file WHERE file.erasure_id = ?1 AND erasure.kind <> 'file'), requested_at + ?3))
    WHERE id = ?1`,
  isOwnerLeft: `SELECT 1 FROM owner WHERE erasure_id = ?1`,
  due: `SELECT id FROM erasure WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2`,
  postponeListed: `UPDATE erasure SET due_at = ?2 WHERE id IN (SELECT value FROM json_each(?1))`,
  forgetOld: `DELETE FROM erasure WHERE id IN (SELECT id FROM erasure
    WHERE due_at <= ?1 AND requested_at <= ?2 AND verified_at IS NOT NULL ORDER BY due_at LIMIT ?3) RETURNING id`,
} as const;

export function createErasureStore(db: D1Database): ErasureStore {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  /** The row that the statements leave, read by the last of them. */
  const recorded = async (
    id: string,
    client: string,
    statements: readonly D1PreparedStatement[],
  ): Promise<Erasure | undefined> => {
    const ensured = prepared(SQL.ensureRequester, client);
    const results = await db.batch<ErasureColumns>([ensured, ...statements, prepared(SQL.read, id)]);
    const row = results.at(-1)?.results[0];
    return row === undefined ? undefined : toErasure(row);
  };
  return {
    removeFile: ({ id, requestedAt }, fileId, caller) =>
      recorded(id, caller.client, [
        prepared(SQL.removeFile, ...ownedBy(fileId, caller), id, requestedAt),
        prepared(SQL.recordFile, id, requestedAt, requestedAt + LIMITS.erasureKeptMs, caller.tenant),
      ]),

    async removeMatching({ id, requestedAt }, { client, tenant, visibility }, selected) {
      const record = [id, client, tenant, visibility, requestedAt, requestedAt + LIMITS.erasureKeptMs];
      const removal = (files: SelectedFiles) =>
        prepared(SQL.removeMatching(files.idsSql), files.parameter, id, requestedAt, files.ownerId);
      const removals = selected === undefined ? [] : [removal(selected)];
      return certain(await recorded(id, client, [...removals, prepared(SQL.recordMatching, ...record)]));
    },

    async removeAll({ id, requestedAt }, { client, tenant, visibility }) {
      const owner = [id, client, tenant, visibility];
      const removal = [prepared(SQL.retireOwner, ...owner), prepared(SQL.recordAll, ...owner, requestedAt)];
      return certain(await recorded(id, client, removal));
    },

    async countMatching(files) {
      if (files === undefined) return NONE;
      const counting = prepared(SQL.countMatching(files.idsSql), files.parameter, files.ownerId);
      return (await counting.first<FileCount>()) ?? NONE;
    },

    async countAll({ client, tenant, visibility }) {
      return (await prepared(SQL.countAll, client, tenant, visibility).first<FileCount>()) ?? NONE;
    },

    async find(id, client) {
      const row = await prepared(SQL.find, id, client).first<ErasureColumns>();
      return row === null ? undefined : toErasure(row);
    },

    async list(client, tenant, beforeId, maxRows, skip) {
      const found = await prepared(SQL.list, client, tenant, beforeId, maxRows, skip).all<ErasureColumns>();
      return found.results.map(toErasure);
    },

    async takePage(id, nowMs, maxRows) {
      const [, due] = await db.batch<RemovedColumns>([
        prepared(SQL.removePage, id, nowMs, maxRows),
        prepared(SQL.duePage, id, nowMs, maxRows),
        prepared(SQL.postpone, id, nowMs + LIMITS.workResendMs),
      ]);
      return (due?.results ?? []).map(toRemovedFile);
    },

    async finishPages(id, nowMs) {
      const results = await db.batch([
        prepared(SQL.forgetAttributes, id, LIMITS.forgottenRows),
        prepared(SQL.forgetKeySets, id, LIMITS.forgottenRows),
        prepared(SQL.forgetOwner, id),
        prepared(SQL.scheduleNext, id, nowMs + LIMITS.workResendMs, LIMITS.erasureKeptMs),
        prepared(SQL.isOwnerLeft, id),
      ]);
      return results.at(-1)?.results.length === 1;
    },

    async takeDue(nowMs, maxRows) {
      const due = (await prepared(SQL.due, nowMs, maxRows).all<{ id: string }>()).results.map((row) => row.id);
      // Put off before they are sent, as late variants are.
      if (due.length > 0) await prepared(SQL.postponeListed, JSON.stringify(due), nowMs + LIMITS.workResendMs).run();
      return due;
    },

    async forgetOld(nowMs, maxRows) {
      return (await prepared(SQL.forgetOld, nowMs, nowMs - LIMITS.erasureKeptMs, maxRows).all()).results.length;
    },
  };
}

const NONE: FileCount = { files: 0, bytes: 0 };

/** Of a removal that leaves a row whatever it finds. */
function certain(erasure: Erasure | undefined): Erasure {
  if (erasure === undefined) throw new Error("a deletion left no row");
  return erasure;
}

interface ErasureColumns {
  readonly id: string;
  readonly tenant: string;
  readonly visibility: Visibility;
  readonly kind: Erasure["kind"];
  readonly requested_at: number;
  readonly files: number;
  readonly bytes: number;
  readonly deleted_files: number;
  readonly deleted_bytes: number;
  readonly deleted_at: number | null;
  readonly verified_files: number;
  readonly verified_at: number | null;
  readonly late_objects: number;
}

const toErasure = (row: ErasureColumns): Erasure => ({
  id: row.id,
  tenant: row.tenant,
  visibility: row.visibility,
  kind: row.kind,
  requestedAt: row.requested_at,
  deletedAt: row.deleted_at,
  verifiedAt: row.verified_at,
  files: row.files,
  deletedFiles: row.deleted_files,
  verifiedFiles: row.verified_files,
  bytes: row.bytes,
  deletedBytes: row.deleted_bytes,
  lateObjects: row.late_objects,
});
