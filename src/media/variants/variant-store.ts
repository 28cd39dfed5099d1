import { masterKey } from "../blobs/blob-store.ts";
import type { VariantRow, FileCaller } from "../model/file.ts";
import type { VariantJob } from "../model/job.ts";
import type { VariantName, VariantType } from "../model/sizes.ts";

/** The rows of variants in D1. One row is one rendition, named by its nonce. */
export interface VariantStore {
  /** The variants of a committed file, by type and size; undefined where the caller has no such file. */
  list(fileId: string, caller: FileCaller): Promise<VariantList | undefined>;
  /**
   * Asks for variants: those that are there stay as they are, but for failed ones, which are made anew. All or none;
   * `started` are the nonces of the new renditions, `replaced` those of the failed ones, which are removed.
   */
  add(
    fileId: string,
    caller: FileCaller,
    wanted: readonly NewVariant[],
    times: { readonly createdAt: number; readonly dueAt: number },
    maxPerFile: number,
  ): Promise<AddedVariants | undefined>;
  /** Any state → removed, of those named or of all; the nonces, or undefined where the caller has no such file. */
  remove(
    fileId: string,
    caller: FileCaller,
    which: readonly VariantName[] | "all",
    nowMs: number,
  ): Promise<readonly string[] | undefined>;
  /** Forgets removed ones whose bytes are gone. */
  forget(renditions: readonly VariantJob[]): Promise<void>;
  /** Makings that were asked for and are neither ready nor failed. */
  pendingNonces(fileId: string): Promise<readonly string[]>;
  /** What the consumer of a job decides by; undefined when there is no such rendition. */
  findJob(fileId: string, nonce: string): Promise<JobRow | undefined>;
  /** Pending → ready, while the file is committed. False: somebody else was first, or it was removed. */
  markReady(fileId: string, nonce: string, made: MadeVariant): Promise<boolean>;
  /** Pending → failed. */
  markFailed(fileId: string, nonce: string, reason: string): Promise<void>;
  /** Those that the sweep finds: rows tell by `due_at` that they wait for it. */
  due(nowMs: number, maxRows: number): Promise<readonly DueVariant[]>;
  /** Only those that are pending. */
  postpone(renditions: readonly VariantJob[], dueAt: number): Promise<void>;
}

export interface DueVariant extends VariantJob {
  readonly state: "pending" | "removed";
}

export interface NewVariant extends VariantName {
  readonly nonce: string;
}

export interface VariantList {
  readonly contentType: string;
  readonly variants: readonly VariantRow[];
}

export interface AddedVariants extends VariantList {
  readonly started: readonly string[];
  readonly replaced: readonly string[];
}

export interface JobRow {
  readonly type: VariantType;
  readonly size: string;
  readonly state: VariantRow["state"];
  /** False when the file was removed. */
  readonly fileCommitted: boolean;
  /** Where its bytes lie in R2. */
  readonly masterKey: string;
  readonly masterEtag: string;
  readonly masterSizeBytes: number;
}

export interface MadeVariant {
  readonly contentType: string;
  readonly width: number;
  readonly height: number;
  readonly sizeBytes: number;
  readonly etag: string;
}

/** ?1 is the file, ?2 to ?4 the caller. */
const OWNED_FILE = `SELECT file.content_type FROM file JOIN owner ON owner.id = file.owner_id
  WHERE file.id = ?1 AND file.state = 'committed' AND owner.client = ?2 AND owner.visibility = ?3
  AND owner.tenant = ?4 AND owner.erasure_id IS NULL`;

/** Of what would be there: rows that live and are not asked for, and all that are asked for (?5). ?8 is the limit. */
const HAS_ROOM = `?8 >= json_array_length(?5) + (
  SELECT count(*) FROM variant AS other WHERE other.file_id = ?1 AND other.state <> 'removed'
  AND other.type || other.size NOT IN (SELECT value ->> 'type' || (value ->> 'size') FROM json_each(?5)))`;

const SQL = {
  ownedFile: OWNED_FILE,
  list: `SELECT nonce, type, size, state, content_type, width, height, size_bytes, etag, reason
    FROM variant WHERE file_id = ?1 AND state <> 'removed' AND EXISTS (${OWNED_FILE}) ORDER BY type, size`,
  removeFailed: `UPDATE variant SET state = 'removed', due_at = ?6 WHERE file_id = ?1 AND state = 'failed'
    AND type || size IN (SELECT value ->> 'type' || (value ->> 'size') FROM json_each(?5))
    AND EXISTS (${OWNED_FILE}) AND ${HAS_ROOM} RETURNING nonce`,
  add: `INSERT INTO variant (file_id, nonce, type, size, state, created_at, due_at)
    SELECT ?1, value ->> 'nonce', value ->> 'type', value ->> 'size', 'pending', ?6, ?7 FROM json_each(?5)
    WHERE EXISTS (${OWNED_FILE}) AND ${HAS_ROOM}
    ON CONFLICT (file_id, type, size) WHERE state <> 'removed' DO NOTHING RETURNING nonce`,
  remove: `UPDATE variant SET state = 'removed', due_at = ?6 WHERE file_id = ?1 AND state <> 'removed'
    AND EXISTS (${OWNED_FILE})
    AND (?5 IS NULL OR type || size IN (SELECT value ->> 'type' || (value ->> 'size') FROM json_each(?5)))
    RETURNING nonce`,
  forget: `DELETE FROM variant WHERE state = 'removed' AND (file_id, nonce) IN
    (SELECT value ->> 'fileId', value ->> 'nonce' FROM json_each(?1))`,
  pendingNonces: `SELECT nonce FROM variant WHERE file_id = ?1 AND state = 'pending'`,
  findJob: `SELECT variant.type, variant.size, variant.state, file.etag, file.size_bytes, file.blob_key,
    file.state = 'committed' AND owner.erasure_id IS NULL AS file_committed
    FROM variant JOIN file ON file.id = variant.file_id JOIN owner ON owner.id = file.owner_id
    WHERE variant.file_id = ?1 AND variant.nonce = ?2`,
  markReady: `UPDATE variant SET state = 'ready', due_at = NULL, content_type = ?3, width = ?4, height = ?5,
    size_bytes = ?6, etag = ?7 WHERE file_id = ?1 AND nonce = ?2 AND state = 'pending'
    AND EXISTS (SELECT 1 FROM file JOIN owner ON owner.id = file.owner_id
      WHERE file.id = ?1 AND file.state = 'committed' AND owner.erasure_id IS NULL)`,
  markFailed: `UPDATE variant SET state = 'failed', due_at = NULL, reason = ?3
    WHERE file_id = ?1 AND nonce = ?2 AND state = 'pending'`,
  due: `SELECT file_id AS fileId, nonce, state FROM variant WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2`,
  postpone: `UPDATE variant SET due_at = ?2 WHERE state = 'pending' AND (file_id, nonce) IN
    (SELECT value ->> 'fileId', value ->> 'nonce' FROM json_each(?1))`,
} as const;

export function createVariantStore(db: D1Database): VariantStore {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  const owned = (fileId: string, caller: FileCaller) => [fileId, caller.client, caller.visibility, caller.tenant];
  const contentTypeOf = (found: D1Result | undefined): string | undefined =>
    (found?.results[0] as { content_type: string } | undefined)?.content_type;
  const variantsOf = (found: D1Result | undefined): VariantRow[] =>
    ((found?.results ?? []) as VariantColumns[]).map(toVariantRow);
  const noncesOf = (found: D1Result | undefined): string[] =>
    ((found?.results ?? []) as { nonce: string }[]).map((row) => row.nonce);

  return {
    async list(fileId, caller) {
      const [file, variants] = await db.batch([
        prepared(SQL.ownedFile, ...owned(fileId, caller)),
        prepared(SQL.list, ...owned(fileId, caller)),
      ]);
      const contentType = contentTypeOf(file);
      return contentType === undefined ? undefined : { contentType, variants: variantsOf(variants) };
    },

    async add(fileId, caller, wanted, times, maxPerFile) {
      const values = [JSON.stringify(wanted), times.createdAt, times.dueAt, maxPerFile];
      const [file, replaced, added, variants] = await db.batch([
        prepared(SQL.ownedFile, ...owned(fileId, caller)),
        prepared(SQL.removeFailed, ...owned(fileId, caller), ...values),
        prepared(SQL.add, ...owned(fileId, caller), ...values),
        prepared(SQL.list, ...owned(fileId, caller)),
      ]);
      const contentType = contentTypeOf(file);
      if (contentType === undefined) return undefined;
      const renditions = { started: noncesOf(added), replaced: noncesOf(replaced) };
      return { contentType, variants: variantsOf(variants), ...renditions };
    },

    async remove(fileId, caller, which, nowMs) {
      const names = which === "all" ? null : JSON.stringify(which);
      const [file, removed] = await db.batch([
        prepared(SQL.ownedFile, ...owned(fileId, caller)),
        prepared(SQL.remove, ...owned(fileId, caller), names, nowMs),
      ]);
      return contentTypeOf(file) === undefined ? undefined : noncesOf(removed);
    },

    async forget(renditions) {
      await prepared(SQL.forget, JSON.stringify(renditions)).run();
    },

    async pendingNonces(fileId) {
      return noncesOf(await prepared(SQL.pendingNonces, fileId).all());
    },

    async findJob(fileId, nonce) {
      const row = await prepared(SQL.findJob, fileId, nonce).first<JobColumns>();
      if (row === null) return undefined;
      const { type, size, state, etag, size_bytes, blob_key } = row;
      const fileCommitted = row.file_committed === 1;
      const master = {
        masterKey: blob_key ?? masterKey(fileId),
        masterEtag: etag ?? "",
        masterSizeBytes: size_bytes ?? 0,
      };
      return { type, size, state, fileCommitted, ...master };
    },

    async markReady(fileId, nonce, made) {
      const values = [made.contentType, made.width, made.height, made.sizeBytes, made.etag];
      return (await prepared(SQL.markReady, fileId, nonce, ...values).run()).meta.changes === 1;
    },

    async markFailed(fileId, nonce, reason) {
      await prepared(SQL.markFailed, fileId, nonce, reason).run();
    },

    async due(nowMs, maxRows) {
      return (await prepared(SQL.due, nowMs, maxRows).all<DueVariant>()).results;
    },

    async postpone(renditions, dueAt) {
      await prepared(SQL.postpone, JSON.stringify(renditions), dueAt).run();
    },
  };
}

interface VariantColumns {
  readonly nonce: string;
  readonly type: VariantType;
  readonly size: string;
  readonly state: VariantRow["state"];
  readonly content_type: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly size_bytes: number | null;
  readonly etag: string | null;
  readonly reason: string | null;
}

interface JobColumns {
  readonly type: VariantType;
  readonly size: string;
  readonly state: VariantRow["state"];
  readonly file_committed: 0 | 1;
  readonly etag: string | null;
  readonly size_bytes: number | null;
  readonly blob_key: string | null;
}

const toVariantRow = ({ content_type, size_bytes, ...row }: VariantColumns): VariantRow => ({
  ...row,
  contentType: content_type,
  sizeBytes: size_bytes,
});
