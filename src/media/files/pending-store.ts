import { err, ok, type Result } from "../../platform/model/result.ts";
import { StoreUnavailable } from "../../platform/storage/database.ts";
import type { ReservationFault } from "../blobs/blob-store.ts";
import type { Visibility } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import type { VariantName } from "../model/sizes.ts";
import { ENSURE_OWNER, OWNER_LIVES } from "./file-store.ts";
import { bytesLeft, hasNoSpace, isFull } from "./usage-store.ts";

/** Pending files. Each counts as one file in its tenant's quota, and reserves bytes of the quota as they arrive. */
export type PendingStore = ReturnType<typeof createPendingStore>;

export interface NewFile {
  readonly id: string;
  readonly client: string;
  /** The tenant whose quota the file counts against until its commit, and in whose shard it is created. */
  readonly reservedFor: string;
  /** The person who creates the file, if the client keeps people apart. */
  readonly person: string | undefined;
  readonly visibility: Visibility;
  readonly contentType: string;
  readonly variants: readonly (VariantName & { readonly nonce: string })[];
  readonly createdAt: number;
  /** Bytes to reserve in the quota. Undefined: its upload reserves them. */
  readonly bytes: number | undefined;
}

/**
 * - `over_quota`, `no_space`: the quota of files is full, or that of bytes has less left.
 * - `too_many_pending`: the client has `LIMITS.pendingFilesPerClient` pending files.
 */
export type CreationFault = "over_quota" | "no_space" | "too_many_pending";

/** A new file is refused, since its tenant moves to another shard or has moved. Nothing of it is there. */
export class TenantAway extends StoreUnavailable {}

/** SQL: the tenant has left this shard or is moving to it, so this shard cannot count its files. */
const isAway = (tenant: string): string => `(
  EXISTS (SELECT 1 FROM departed_tenant WHERE departed_tenant.tenant = ${tenant})
  OR EXISTS (SELECT 1 FROM moving_tenant WHERE moving_tenant.tenant = ${tenant} AND moving_tenant.state <> 'leaving'))`;

const SQL = {
  // Bytes are reserved only if there is a quota of bytes.
  create: `INSERT INTO file (id, owner_id, state, content_type, created_at, due_at, reserved_for, owner_user,
      known_places, reserved_bytes)
    SELECT ?1, owner.id, 'pending', ?2, ?3, NULL, ?6, ?8, 1,
      (SELECT ?9 FROM tenant WHERE tenant.id = ?6 AND tenant.quota_bytes IS NOT NULL) FROM owner
    WHERE owner.client = ?4 AND owner.tenant = '' AND owner.visibility = ?5 AND owner.erasure_id IS NULL
    AND NOT ${isAway("?6")}
    AND NOT ${isFull("?6")} AND NOT ${hasNoSpace("?6", "?9")}
    AND ?7 > (SELECT count(*) FROM (SELECT 1 FROM file AS waiting INDEXED BY file_pending
      WHERE waiting.reserved_for = ?6 AND waiting.owner_id = owner.id AND waiting.state = 'pending' LIMIT ?7))
    RETURNING id`,
  refusal: `SELECT CASE WHEN ${isAway("?1")} THEN 'away' WHEN ${isFull("?1")} THEN 'over_quota'
    WHEN ${hasNoSpace("?1", "?2")} THEN 'no_space' END AS refusal`,
  declareVariants: `INSERT INTO variant (file_id, nonce, type, size, state, created_at)
    SELECT ?1, value ->> 'nonce', value ->> 'type', value ->> 'size', 'declared', ?2 FROM json_each(?3)
    WHERE EXISTS (SELECT 1 FROM file WHERE file.id = ?1)`,
  // The reservations of parallel uploads of one file add up, so the end of one does not release the bytes of another.
  reserve: `UPDATE file SET reserved_bytes = coalesce(reserved_bytes, 0) + ?2
    WHERE id = ?1 AND state = 'pending' AND ${OWNER_LIVES} AND EXISTS (SELECT 1 FROM tenant
      WHERE tenant.id = file.reserved_for AND tenant.quota_bytes IS NOT NULL AND ?2 <= ${bytesLeft("file.reserved_for")})
    RETURNING id`,
  // A file has no reservation if its tenant had no quota when the upload began.
  release: `UPDATE file SET reserved_bytes = max(0, reserved_bytes - ?2)
    WHERE id = ?1 AND state = 'pending' AND reserved_bytes IS NOT NULL`,
  abandon: `UPDATE file SET state = 'removed', removed_at = ?2, due_at = ?2 WHERE id = ?1 AND state = 'pending'`,
  alive: `SELECT file.state, tenant.quota_bytes IS NOT NULL AS isLimited FROM file
    LEFT JOIN tenant ON tenant.id = file.reserved_for
    WHERE file.id = ?1 AND file.state <> 'removed' AND ${OWNER_LIVES}`,
  // A file that is moving to another shard is alive, and `moved_file` has its row. One that came keeps its note, which
  // says nothing while the file itself is here.
  isAlive: `SELECT 1 FROM file WHERE id = ?1 AND state <> 'removed' AND ${OWNER_LIVES}
    UNION ALL SELECT 1 FROM moved_file WHERE id = ?1
      AND NOT EXISTS (SELECT 1 FROM file WHERE file.id = ?1) LIMIT 1`,
} as const;

export function createPendingStore(db: D1Database) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  return {
    /**
     * Creates a pending file and its variants in one write, unless the quota is full. Throws `TenantAway` if the
     * tenant is moving to another shard or has moved.
     */
    async create(file: NewFile): Promise<Result<void, CreationFault>> {
      const { id, client, visibility, contentType, createdAt, reservedFor, variants, person } = file;
      const place = [client, visibility, reservedFor, LIMITS.pendingFilesPerClient, person ?? null];
      const bytes = file.bytes ?? null;
      const values = [id, contentType, createdAt, ...place, bytes];
      const creation = [prepared(SQL.create, ...values)];
      if (variants.length > 0) creation.push(prepared(SQL.declareVariants, id, createdAt, JSON.stringify(variants)));
      if ((await db.batch(creation))[0]?.results.length === 1) return ok(undefined);
      // The client's first file needs an owner, and a refusal its reason. Every other creation saves both statements.
      const [, refused, created] = await db.batch<{ refusal?: "away" | "over_quota" | "no_space" | null }>([
        prepared(ENSURE_OWNER, client, "", visibility),
        prepared(SQL.refusal, reservedFor, bytes),
        ...creation,
      ]);
      if (created?.results.length === 1) return ok(undefined);
      const refusal = refused?.results[0]?.refusal;
      if (refusal === "away") throw new TenantAway("the tenant moves to another shard");
      return err(refusal ?? "too_many_pending");
    },

    /** Reserves all of these bytes, or none, in the tenant's quota. Writes nothing if there is no quota of bytes. */
    async reserve(fileId: string, bytes: number): Promise<"reserved" | "not_limited" | ReservationFault> {
      const [reserved, alive] = await db.batch<{ state?: string; isLimited?: number }>([
        prepared(SQL.reserve, fileId, bytes),
        prepared(SQL.alive, fileId),
      ]);
      const [file] = alive?.results ?? [];
      if (file === undefined) return "gone";
      if (file.state !== "pending") return "not_pending";
      if (file.isLimited !== 1) return "not_limited";
      return reserved?.results.length === 1 ? "reserved" : "over_quota";
    },

    /** Releases reserved bytes. Commit and removal release the rest. */
    async release(fileId: string, bytes: number): Promise<void> {
      await prepared(SQL.release, fileId, bytes).run();
    },

    /** Removes the file, unless it was committed. Its place and bytes are free at once; a sweep deletes what it has. */
    async abandon(fileId: string, nowMs: number): Promise<void> {
      await prepared(SQL.abandon, fileId, nowMs).run();
    },

    /** Returns false once the file is removed. */
    isAlive: async (fileId: string): Promise<boolean> => (await prepared(SQL.isAlive, fileId).first()) !== null,
  };
}
