import { err, ok, type Result } from "../../platform/model/result.ts";
import { masterKey } from "../blobs/blob-store.ts";
import type { FileAttributes } from "../metadata/attributes.ts";
import { isMasterType } from "../model/content-type.ts";
import { isFileId, shareOf, type FileCaller, type Visibility, type VariantRow } from "../model/file.ts";
import { jobsOf, sendInLane } from "../lanes/lane-store.ts";
import type { SendTaken } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import type { VariantName } from "../model/sizes.ts";
import { overQuota } from "./usage-store.ts";

/** Rows of files. Every change of state is one conditional write that reports whether it happened. */
export type FileStore = ReturnType<typeof createFileStore>;

export interface OwnedFile {
  readonly state: "pending" | "committed";
  readonly contentType: string;
  readonly commitDigest: string | null;
  /** For a file uploaded by a presigned link: the ETag of the upload that a commit chose. */
  readonly pinnedEtag: string | null;
  readonly isShared: 0 | 1;
  readonly person: string | null;
}

export interface CommittedFile {
  readonly id: string;
  readonly client: string;
  readonly tenant: string;
  readonly visibility: Visibility;
  readonly contentType: string;
  readonly committedAt: number;
  readonly sizeBytes: number;
  /** R2's ETag, without quotes. */
  readonly etag: string;
  readonly fileName: string | null;
  /** The master's key in R2. */
  readonly blobKey: string;
  readonly variant: VariantRow | undefined;
}

/** The reason why nothing was committed. After `over_quota` the file may be pending or not. */
export type CommitFault = "over_quota" | "not_pending";

export interface Commit {
  readonly tenant: string;
  readonly isShared: boolean;
  readonly committedAt: number;
  /** Key, size, ETag and name of the master. */
  readonly key: string;
  readonly sizeBytes: number;
  readonly etag: string;
  readonly fileName: string | undefined;
  /** The commit fails if the row has another value. */
  readonly pinnedEtag: string | null;
  /** The commit fails if the row has another `person` or `contentType`, because `attributes` was made from both. */
  readonly person: string | null;
  readonly contentType: string;
  readonly digest: string;
  readonly metadata: string;
  readonly attributes: FileAttributes;
}

/** SQL: the key of the master. */
export const MASTER_KEY = `coalesce(file.blob_key, '${masterKey("")}' || file.id)`;

/** SQL: the owner of the file exists, and no deletion of all its files has retired it. */
export const OWNER_LIVES = `EXISTS (SELECT 1 FROM owner WHERE owner.id = file.owner_id AND owner.erasure_id IS NULL)`;

/**
 * SQL: the file belongs to the caller. `ownedBy` returns the parameters ?1 to ?5. A pending file has no tenant yet: its
 * client may change it with a token for any tenant, a person only with a token for the tenant that it was created for.
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

/**
 * SQL: creates the owner if there is none. It reads first, since an insert with a conflict still writes the id counter.
 */
export const ENSURE_OWNER = `INSERT INTO owner (client, tenant, visibility) SELECT ?1, ?2, ?3
  WHERE NOT EXISTS (SELECT 1 FROM owner WHERE client = ?1 AND tenant = ?2 AND visibility = ?3 AND erasure_id IS NULL)`;

/**
 * SQL: creates the owner in the tenant ?6 if the caller's file is pending. For any other file it creates none, because
 * the tenant may have left this shard, and a trigger would refuse the new owner.
 */
const ENSURE_OWNER_OF_PENDING = `INSERT INTO owner (client, tenant, visibility) SELECT ?2, ?6, ?3
  WHERE NOT EXISTS (SELECT 1 FROM owner WHERE client = ?2 AND tenant = ?6 AND visibility = ?3 AND erasure_id IS NULL)
    AND EXISTS (SELECT 1 FROM file WHERE ${OWNED} AND state = 'pending')`;

/** SQL: the owner that a commit gives its file; null if the tenant has no file of this client yet. */
const NEW_OWNER = `(SELECT id FROM owner AS new WHERE new.client = ?2 AND new.tenant = ?6 AND new.visibility = ?3
  AND new.erasure_id IS NULL)`;

/** Changes of `state` use RETURNING, because D1's count of changes includes rows that triggers changed. */
const SQL = {
  tenantOf: `SELECT owner.tenant FROM file JOIN owner ON owner.id = file.owner_id
    WHERE file.id = ?1 AND owner.client = ?2 AND owner.visibility = ?3 AND owner.erasure_id IS NULL
      AND file.state <> 'removed'`,
  findOwned: `SELECT state, content_type AS contentType, commit_digest AS commitDigest, pinned_etag AS pinnedEtag,
    shared_in IS NOT NULL AS isShared, owner_user AS person
    FROM file WHERE ${OWNED} AND state <> 'removed'`,
  personOf: `SELECT owner_user FROM file WHERE id = ?1 AND state <> 'removed'`,
  sharedBy: `SELECT owner.client FROM file JOIN owner ON owner.id = file.owner_id
    WHERE file.id = ?1 AND file.shared_in = ?2 AND file.state = 'committed' AND owner.erasure_id IS NULL`,
  findCommitted: `SELECT file.id, file.content_type AS contentType, file.committed_at AS committedAt,
    file.size_bytes AS sizeBytes, file.etag, file.file_name AS fileName, ${MASTER_KEY} AS blobKey,
    owner.client, owner.tenant, owner.visibility,
    iif(variant.nonce IS NULL, NULL, json_object('nonce', variant.nonce, 'type', variant.type, 'size', variant.size,
      'state', variant.state, 'contentType', variant.content_type, 'width', variant.width, 'height', variant.height,
      'sizeBytes', variant.size_bytes, 'etag', variant.etag, 'reason', variant.reason)) AS variant
    FROM file JOIN owner ON owner.id = file.owner_id
    LEFT JOIN variant ON variant.file_id = file.id AND variant.type = ?2 AND variant.size = ?3
      AND variant.state <> 'removed'
    WHERE file.id = ?1 AND file.state = 'committed' AND owner.erasure_id IS NULL
      AND NOT EXISTS (SELECT 1 FROM tenant WHERE tenant.id = owner.tenant AND tenant.disabled = 1)`,
  commit: `UPDATE file SET owner_id = ${NEW_OWNER},
    state = 'committed', due_at = CASE WHEN ?13 IS NOT NULL THEN created_at + ${LIMITS.lateUploadMs} END,
    committed_at = ?7, size_bytes = ?8, etag = ?9, file_name = ?10, commit_digest = ?11, metadata = ?12, blob_key = ?14,
    attributes = ?15, unindexed_pairs = ?16, shared_in = ?17
    WHERE ${OWNED} AND state = 'pending' AND pinned_etag IS ?13 AND owner_user IS ?18 AND content_type = ?19
      AND ${NEW_OWNER} IS NOT NULL AND NOT ${overQuota("?6", "?8", "file.reserved_for")} RETURNING id`,
  isOverQuota: `SELECT 1 FROM file WHERE file.id = ?3 AND ${overQuota("?1", "?2", "file.reserved_for")}`,
  startVariants: `UPDATE variant SET state = 'pending', due_at = ?2, lane = ?3, waits = 1
    WHERE file_id = ?1 AND state = 'declared'
    AND EXISTS (SELECT 1 FROM file WHERE file.id = ?1 AND file.state = 'committed')`,
  replaceMetadata: `UPDATE file SET metadata = ?6, attributes = ?7, unindexed_pairs = ?8
    WHERE ${OWNED} AND state = 'committed'
    RETURNING id`,
  readMetadata: `SELECT metadata FROM file WHERE ${OWNED} AND state = 'committed'`,
} as const;

export function createFileStore(db: D1Database) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  return {
    /** Returns the tenant of a client's file, empty while the file is pending. Undefined: there is no such file. */
    async tenantOf(fileId: string, client: string, visibility: Visibility): Promise<string | undefined> {
      return (await prepared(SQL.tenantOf, fileId, client, visibility).first<string>("tenant")) ?? undefined;
    },

    /** Returns the person whose token created the file, if its client kept people apart then. */
    async personOf(fileId: string): Promise<string | undefined> {
      return (await prepared(SQL.personOf, fileId).first<string>("owner_user")) ?? undefined;
    },

    /** Returns the client that shares this file in the tenant. Undefined: the file is not shared there. */
    async sharedBy(fileId: string, visibility: Visibility, tenant: string): Promise<string | undefined> {
      return (await prepared(SQL.sharedBy, fileId, shareOf(visibility, tenant)).first<string>("client")) ?? undefined;
    },

    /** Returns the caller's pending or committed file. */
    async findOwned(fileId: string, caller: FileCaller): Promise<OwnedFile | undefined> {
      return (await prepared(SQL.findOwned, ...ownedBy(fileId, caller)).first<OwnedFile>()) ?? undefined;
    },

    /**
     * Returns a committed file of an enabled tenant, with the variant that is asked for. It does not check who may read
     * the file; its caller must.
     */
    async findCommitted(fileId: string, variant: VariantName | undefined): Promise<CommittedFile | undefined> {
      // Anybody may ask for a public file: a text that is no id costs no query.
      if (!isFileId(fileId)) return undefined;
      const values = [fileId, variant?.type ?? null, variant?.size ?? null];
      const row = await prepared(SQL.findCommitted, ...values).first<CommittedRow>();
      if (row === null) return undefined;
      return { ...row, variant: row.variant === null ? undefined : (JSON.parse(row.variant) as VariantRow) };
    },

    /**
     * Commits a pending file, if its row is unchanged and the quota allows. `send` gets the variants to make now, of
     * this file or of others that wait, even after a fault.
     */
    async commit(
      fileId: string,
      caller: FileCaller,
      commit: Commit,
      send: SendTaken,
    ): Promise<Result<void, CommitFault>> {
      const { tenant, committedAt, sizeBytes, etag, fileName, digest, metadata, pinnedEtag, key } = commit;
      const values = [tenant, committedAt, sizeBytes, etag, fileName ?? null, digest, metadata];
      const place = [pinnedEtag, key === masterKey(fileId) ? null : key];
      const { unindexed, ...attributes } = commit.attributes;
      const index = [JSON.stringify(attributes), unindexed];
      const seen = [commit.person, commit.contentType];
      const share = commit.isShared ? shareOf(caller.visibility, tenant) : null;
      const statements = [
        prepared(SQL.commit, ...ownedBy(fileId, caller), ...values, ...place, ...index, share, ...seen),
      ];
      if (isMasterType(commit.contentType))
        statements.push(
          prepared(SQL.startVariants, fileId, committedAt + LIMITS.variantWaitMs, tenant),
          sendInLane(db, tenant, committedAt),
        );
      /** Sends what the batch has taken from the lane, and returns whether it has committed the file. */
      const settle = ([committed, , sent]: readonly D1Result[]): boolean => {
        send(jobsOf(sent));
        return committed?.results.length === 1;
      };
      if (settle(await db.batch(statements))) return ok(undefined);
      // The first file in a tenant needs an owner, and a refusal its reason. Every other commit saves both statements.
      const [, over, ...again] = await db.batch([
        prepared(ENSURE_OWNER_OF_PENDING, ...ownedBy(fileId, caller), tenant),
        prepared(SQL.isOverQuota, tenant, sizeBytes, fileId),
        ...statements,
      ]);
      if (settle(again)) return ok(undefined);
      return err(over?.results.length === 1 ? "over_quota" : "not_pending");
    },

    /** Returns false if the caller has no committed file of this id. */
    async replaceMetadata(
      fileId: string,
      caller: FileCaller,
      metadata: string,
      { unindexed, ...attributes }: FileAttributes,
    ): Promise<boolean> {
      const values = [metadata, JSON.stringify(attributes), unindexed];
      return (await prepared(SQL.replaceMetadata, ...ownedBy(fileId, caller), ...values).first()) !== null;
    },

    /** Returns the text of a committed file's metadata. */
    async readMetadata(fileId: string, caller: FileCaller): Promise<string | undefined> {
      return (await prepared(SQL.readMetadata, ...ownedBy(fileId, caller)).first<string>("metadata")) ?? undefined;
    },
  };
}

interface CommittedRow extends Omit<CommittedFile, "variant"> {
  /** JSON of a `VariantRow`. */
  readonly variant: string | null;
}
