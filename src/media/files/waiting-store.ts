import { err, ok, type Result } from "../../platform/result.ts";
import type { ReservationFault } from "../blobs/blob-store.ts";
import type { Visibility } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import type { VariantName } from "../model/sizes.ts";
import { ENSURE_OWNER } from "./file-store.ts";
import { bytesLeft, noPlaceLeft } from "./usage-store.ts";

/** Files that wait for their commit: each takes a place of its tenant's quota, and its bytes as many as come. */
export interface WaitingStore {
  /** A pending file and the variants that it shall have, in one write, unless there is no room for it. */
  create(file: NewFile): Promise<Result<void, CreationFault>>;
  /**
   * Takes so many more bytes of the tenant's quota for a pending file, all of them or none. Where the tenant's bytes are
   * not limited nothing is written.
   */
  reserve(fileId: string, bytes: number): Promise<"reserved" | "not_limited" | ReservationFault>;
  /** Gives back what was reserved, while the file is pending: what ends that gives all of it back. */
  release(fileId: string, bytes: number): Promise<void>;
  /** False once the file is removed. */
  isAlive(fileId: string): Promise<boolean>;
}

export interface NewFile {
  readonly id: string;
  readonly client: string;
  /** Whose quota it counts against until its commit. */
  readonly reservedFor: string;
  readonly visibility: Visibility;
  readonly contentType: string;
  readonly variants: readonly (VariantName & { readonly nonce: string })[];
  readonly createdAt: number;
  readonly dueAt: number;
}

/** `too_many_pending`: the client has as many files as it may that wait for their commit. */
export type CreationFault = "over_quota" | "too_many_pending";

const SQL = {
  create: `INSERT INTO file (id, owner_id, state, content_type, created_at, due_at, reserved_for)
    SELECT ?1, owner.id, 'pending', ?2, ?3, ?4, ?7 FROM owner
    WHERE owner.client = ?5 AND owner.tenant = '' AND owner.visibility = ?6 AND owner.erasure_id IS NULL
    AND NOT ${noPlaceLeft("?7")} AND NOT EXISTS (SELECT 1 FROM reservation
      WHERE reservation.tenant = ?7 AND reservation.owner_id = owner.id AND reservation.files >= ?8) RETURNING id`,
  hasNoPlace: `SELECT 1 WHERE ${noPlaceLeft("?1")}`,
  declareVariants: `INSERT INTO variant (file_id, nonce, type, size, state, created_at)
    SELECT ?1, value ->> 'nonce', value ->> 'type', value ->> 'size', 'declared', ?2 FROM json_each(?3)
    WHERE EXISTS (SELECT 1 FROM file WHERE file.id = ?1)`,
} as const;

/** One whose client ended, or went to another tenant, is nobody's. */
const HAS_OWNER = `EXISTS (SELECT 1 FROM owner WHERE owner.id = file.owner_id AND owner.erasure_id IS NULL)`;
/** Uploads of one file at once each have their own part of the sum, so that none gives back what another took. */
const RESERVE = `UPDATE file SET reserved_bytes = coalesce(reserved_bytes, 0) + ?2
  WHERE id = ?1 AND state = 'pending' AND ${HAS_OWNER} AND EXISTS (SELECT 1 FROM tenant
    WHERE tenant.id = file.reserved_for AND tenant.quota_bytes IS NOT NULL AND ?2 <= ${bytesLeft("file.reserved_for")})
  RETURNING id`;
/** A quota that was set after the upload began has nothing to be given back. */
const RELEASE = `UPDATE file SET reserved_bytes = max(0, reserved_bytes - ?2)
  WHERE id = ?1 AND state = 'pending' AND reserved_bytes IS NOT NULL`;
const ALIVE = `SELECT file.state, tenant.quota_bytes IS NOT NULL AS is_limited FROM file
  LEFT JOIN tenant ON tenant.id = file.reserved_for WHERE file.id = ?1 AND file.state <> 'removed' AND ${HAS_OWNER}`;

export const createWaitingStore = (db: D1Database): WaitingStore => ({
  async create(file) {
    const { id, client, visibility, contentType, createdAt, dueAt, reservedFor, variants } = file;
    const values = [id, contentType, createdAt, dueAt, client, visibility, reservedFor, LIMITS.pendingFilesPerClient];
    const statements = [
      prepared(db, ENSURE_OWNER, client, "", visibility),
      prepared(db, SQL.hasNoPlace, reservedFor),
      prepared(db, SQL.create, ...values),
    ];
    if (variants.length > 0)
      statements.push(prepared(db, SQL.declareVariants, id, createdAt, JSON.stringify(variants)));
    const [, full, created] = await db.batch(statements);
    if (created?.results.length === 1) return ok(undefined);
    return err(full?.results.length === 1 ? "over_quota" : "too_many_pending");
  },
  async reserve(fileId, bytes) {
    const [reserved, alive] = await db.batch<{ state?: string; is_limited?: number }>([
      db.prepare(RESERVE).bind(fileId, bytes),
      db.prepare(ALIVE).bind(fileId),
    ]);
    const [file] = alive?.results ?? [];
    if (file === undefined) return "gone";
    if (file.state !== "pending") return "not_pending";
    if (file.is_limited !== 1) return "not_limited";
    return reserved?.results.length === 1 ? "reserved" : "over_quota";
  },
  async release(fileId, bytes) {
    await db.prepare(RELEASE).bind(fileId, bytes).run();
  },
  isAlive: async (fileId) => (await db.prepare(ALIVE).bind(fileId).first()) !== null,
});

const prepared = (db: D1Database, sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
