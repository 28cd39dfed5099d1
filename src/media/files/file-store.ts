import { err, ok, type Result } from "../../platform/result.ts";
import { masterKey } from "../blobs/blob-store.ts";
import type { FileAttributes } from "../metadata/attributes.ts";
import { ATTRIBUTE_SQL } from "../metadata/index-sql.ts";
import type { FileCaller, Visibility, VariantRow } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import type { VariantName, VariantType } from "../model/sizes.ts";
import { overQuota } from "./usage-store.ts";

/** The rows of files in D1. Every change of a state is one conditional write; the answers say whether it happened. */
export interface FileStore {
  /** The tenant of a client's file that lives, empty while it is pending; undefined where there is no such file. */
  tenantOf(fileId: string, client: string, visibility: Visibility): Promise<string | undefined>;
  /** What a commit decides by; undefined where the caller has no such file. Removed files are nobody's. */
  findOwned(fileId: string, caller: FileCaller): Promise<OwnedFile | undefined>;
  /**
   * A committed file of a tenant that is not disabled and, where asked for, one of its variants that lives. For any reader:
   * the caller checks whose.
   */
  findCommitted(fileId: string, variant: VariantName | undefined): Promise<CommittedFile | undefined>;
  /**
   * Pending → committed, unless something else happened first or the tenant may not store it; the nonces of the variants
   * to make.
   */
  commit(fileId: string, caller: FileCaller, commit: Commit): Promise<Result<readonly string[], CommitFault>>;
  /** False where the caller has no committed file of this id. */
  replaceMetadata(fileId: string, caller: FileCaller, metadata: string, attributes: FileAttributes): Promise<boolean>;
  /** The text of a committed file's metadata. */
  readMetadata(fileId: string, caller: FileCaller): Promise<string | undefined>;
}

export interface OwnedFile {
  readonly state: "pending" | "committed";
  readonly contentType: string;
  readonly commitDigest: string | undefined;
  /** What a commit pinned, of a pending file that was uploaded by a presigned link. */
  readonly pinnedEtag: string | undefined;
}

export interface CommittedFile {
  readonly id: string;
  readonly client: string;
  readonly tenant: string;
  readonly visibility: Visibility;
  readonly contentType: string;
  readonly committedAt: number;
  readonly sizeBytes: number;
  /** As R2 gives it, without quotes. */
  readonly etag: string;
  readonly fileName: string | undefined;
  /** Where the master lies in R2. */
  readonly blobKey: string;
  readonly ownerId: number;
  readonly variant: VariantRow | undefined;
}

/** `over_quota`: whether the file is still pending is for the caller to find out. */
export type CommitFault = "over_quota" | "not_pending";

export interface Commit {
  readonly tenant: string;
  readonly committedAt: number;
  /** Where the master lies, its size, ETag and name. */
  readonly key: string;
  readonly sizeBytes: number;
  readonly etag: string;
  readonly fileName: string | undefined;
  /** What the row has to say still. */
  readonly pinnedEtag: string | undefined;
  readonly digest: string;
  readonly metadata: string;
  readonly attributes: FileAttributes;
  readonly variantsDueAt: number;
}

/**
 * ?1 is the file, ?2 to ?5 the caller. A pending file has no tenant yet: it is the client's, whatever tenant the client's own
 * token names, and a person's only where it waits for the person's tenant. A retired owner's files are nobody's.
 */
export const OWNED = `id = ?1 AND EXISTS (
  SELECT 1 FROM owner WHERE owner.id = file.owner_id AND owner.client = ?2 AND owner.visibility = ?3
  AND owner.erasure_id IS NULL
  AND (owner.tenant = ?4 OR owner.tenant = '' AND (file.reserved_for = ?4 OR ?5 = 0)))`;

export const ownedBy = (fileId: string, { client, visibility, tenant, isPerson }: FileCaller) => [
  fileId,
  client,
  visibility,
  tenant,
  isPerson ? 1 : 0,
];

export const ENSURE_OWNER = `INSERT INTO owner (client, tenant, visibility) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`;

/** Changes of `state` answer by RETURNING: what D1 counts as changes includes those of the triggers. */
const SQL = {
  tenantOf: `SELECT owner.tenant FROM file JOIN owner ON owner.id = file.owner_id
    WHERE file.id = ?1 AND owner.client = ?2 AND owner.visibility = ?3 AND owner.erasure_id IS NULL
      AND file.state <> 'removed'`,
  findOwned: `SELECT state, content_type, commit_digest, pinned_etag FROM file WHERE ${OWNED} AND state <> 'removed'`,
  findCommitted: `SELECT file.content_type, file.committed_at, file.size_bytes, file.etag, file.file_name,
    file.blob_key, file.owner_id, owner.client, owner.tenant, owner.visibility,
    variant.nonce, variant.type, variant.size, variant.state, variant.content_type AS variant_content_type,
    variant.width, variant.height, variant.size_bytes AS variant_size_bytes, variant.etag AS variant_etag,
    variant.reason
    FROM file JOIN owner ON owner.id = file.owner_id
    LEFT JOIN variant ON variant.file_id = file.id AND variant.type = ?2 AND variant.size = ?3
      AND variant.state <> 'removed'
    WHERE file.id = ?1 AND file.state = 'committed' AND owner.erasure_id IS NULL
      AND NOT EXISTS (SELECT 1 FROM tenant WHERE tenant.id = owner.tenant AND tenant.disabled = 1)`,
  commit: `UPDATE file SET
    owner_id = (SELECT id FROM owner AS new WHERE new.client = ?2 AND new.tenant = ?6 AND new.visibility = ?3
      AND new.erasure_id IS NULL),
    state = 'committed', due_at = CASE WHEN ?13 IS NOT NULL THEN created_at + ${LIMITS.lateUploadMs} END,
    committed_at = ?7, size_bytes = ?8, etag = ?9, file_name = ?10, commit_digest = ?11, metadata = ?12, blob_key = ?14,
    attributes = ?15
    WHERE ${OWNED} AND state = 'pending' AND pinned_etag IS ?13 AND NOT ${overQuota("?6", "?8", "file.reserved_for")} RETURNING id`,
  isOverQuota: `SELECT 1 FROM file WHERE file.id = ?3 AND ${overQuota("?1", "?2", "file.reserved_for")}`,
  startVariants: `UPDATE variant SET state = 'pending', due_at = ?2 WHERE file_id = ?1 AND state = 'declared'
    AND EXISTS (SELECT 1 FROM file WHERE file.id = ?1 AND file.state = 'committed') RETURNING nonce`,
  replaceMetadata: `UPDATE file SET metadata = ?6, attributes = ?7 WHERE ${OWNED} AND state = 'committed'
    RETURNING id`,
  readMetadata: `SELECT metadata FROM file WHERE ${OWNED} AND state = 'committed'`,
} as const;

export function createFileStore(db: D1Database): FileStore {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  return {
    async tenantOf(fileId, client, visibility) {
      return (await prepared(SQL.tenantOf, fileId, client, visibility).first<string>("tenant")) ?? undefined;
    },

    async findOwned(fileId, caller) {
      const row = await prepared(SQL.findOwned, ...ownedBy(fileId, caller)).first<{
        state: OwnedFile["state"];
        content_type: string;
        commit_digest: string | null;
        pinned_etag: string | null;
      }>();
      if (row === null) return undefined;
      return {
        state: row.state,
        contentType: row.content_type,
        commitDigest: row.commit_digest ?? undefined,
        pinnedEtag: row.pinned_etag ?? undefined,
      };
    },

    async findCommitted(fileId, variant) {
      const values = [fileId, variant?.type ?? null, variant?.size ?? null];
      const row = await prepared(SQL.findCommitted, ...values).first<CommittedRow>();
      return row === null ? undefined : toCommittedFile(fileId, row);
    },

    async commit(fileId, caller, commit) {
      const { tenant, committedAt, sizeBytes, etag, fileName, digest, metadata, pinnedEtag, key } = commit;
      const values = [tenant, committedAt, sizeBytes, etag, fileName ?? null, digest, metadata];
      const place = [pinnedEtag ?? null, key === masterKey(fileId) ? null : key];
      const attributes = JSON.stringify(commit.attributes);
      const [, over, committed, started] = await db.batch<{ nonce: string }>([
        prepared(ENSURE_OWNER, caller.client, tenant, caller.visibility),
        prepared(SQL.isOverQuota, tenant, sizeBytes, fileId),
        prepared(SQL.commit, ...ownedBy(fileId, caller), ...values, ...place, attributes),
        prepared(SQL.startVariants, fileId, commit.variantsDueAt),
        prepared(ATTRIBUTE_SQL.addKeySet, JSON.stringify([fileId])),
        prepared(ATTRIBUTE_SQL.add, JSON.stringify([fileId])),
      ]);
      if (committed?.results.length === 1) return ok((started?.results ?? []).map((row) => row.nonce));
      return err(over?.results.length === 1 ? "over_quota" : "not_pending");
    },

    async replaceMetadata(fileId, caller, metadata, attributes) {
      const ids = JSON.stringify([fileId]);
      const [, , replaced] = await db.batch([
        prepared(ATTRIBUTE_SQL.forget, ids),
        prepared(ATTRIBUTE_SQL.forgetKeySets, ids),
        prepared(SQL.replaceMetadata, ...ownedBy(fileId, caller), metadata, JSON.stringify(attributes)),
        prepared(ATTRIBUTE_SQL.addKeySet, ids),
        prepared(ATTRIBUTE_SQL.add, ids),
      ]);
      return replaced?.results.length === 1;
    },

    async readMetadata(fileId, caller) {
      return (await prepared(SQL.readMetadata, ...ownedBy(fileId, caller)).first<string>("metadata")) ?? undefined;
    },
  };
}

interface CommittedRow {
  readonly content_type: string;
  readonly committed_at: number;
  readonly size_bytes: number;
  readonly etag: string;
  readonly file_name: string | null;
  readonly blob_key: string | null;
  readonly owner_id: number;
  readonly client: string;
  readonly tenant: string;
  readonly visibility: Visibility;
  readonly nonce: string | null;
  readonly type: VariantType;
  readonly size: string;
  readonly state: VariantRow["state"];
  readonly variant_content_type: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly variant_size_bytes: number | null;
  readonly variant_etag: string | null;
  readonly reason: string | null;
}

function toCommittedFile(id: string, row: CommittedRow): CommittedFile {
  const variant =
    row.nonce === null
      ? undefined
      : {
          nonce: row.nonce,
          type: row.type,
          size: row.size,
          state: row.state,
          contentType: row.variant_content_type,
          width: row.width,
          height: row.height,
          sizeBytes: row.variant_size_bytes,
          etag: row.variant_etag,
          reason: row.reason,
        };
  return {
    id,
    client: row.client,
    tenant: row.tenant,
    visibility: row.visibility,
    contentType: row.content_type,
    committedAt: row.committed_at,
    sizeBytes: row.size_bytes,
    etag: row.etag,
    fileName: row.file_name ?? undefined,
    blobKey: row.blob_key ?? masterKey(id),
    ownerId: row.owner_id,
    variant,
  };
}
