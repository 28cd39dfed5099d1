import { err, ok, type Result } from "../../platform/result.ts";
import { LIMITS } from "../limits.ts";
import type { Visibility } from "../links.ts";
import type { VariantName } from "../sizes.ts";
import { ENSURE_OWNER } from "./files.ts";
import { bytesLeft, noPlaceLeft } from "./usage.ts";

/** Files that wait for their commit: each takes a place of its tenant's quota, and its bytes as many as come. */
export interface WaitingStore {
  /** A pending file and the variants that it shall have, in one write, unless there is no room for it. */
  create(file: NewFile): Promise<Result<void, CreationFault>>;
  /**
   * Reserves the bytes of an upload of a known length, or as many as there may be. Gives how many it may bring at most, or
   * why none. Where the tenant's bytes are not limited nothing is written, and the limit is `maxBytes`.
   */
  reserve(fileId: string, lengthBytes: number | undefined, maxBytes: number): Promise<Room | "over_quota" | "gone">;
  /** Whether the file still lives; what was reserved by an estimate becomes what is there. */
  settle(fileId: string, room: Room, sizeBytes: number): Promise<boolean>;
}

export interface Room {
  readonly maxBytes: number;
  /** Whether less may have come than was reserved. */
  readonly isEstimate: boolean;
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

const WANTED = `iif(?2 IS NULL, min(?3, ${bytesLeft("file.reserved_for")} + coalesce(reserved_bytes, 0)), ?2)`;

/** Never less than before: of two uploads of one file the shorter one may lose. */
const RESERVE = `UPDATE file SET reserved_bytes = max(coalesce(reserved_bytes, 0), (SELECT ${WANTED} FROM tenant
    WHERE tenant.id = file.reserved_for))
  WHERE id = ?1 AND state = 'pending' AND EXISTS (SELECT 1 FROM tenant
    WHERE tenant.id = file.reserved_for AND tenant.quota_bytes IS NOT NULL
    AND ${WANTED} - coalesce(reserved_bytes, 0) <= ${bytesLeft("file.reserved_for")} AND ${WANTED} >= 0)
  RETURNING reserved_bytes`;
const SETTLE = `UPDATE file SET reserved_bytes = ?2 WHERE id = ?1 AND state = 'pending' AND reserved_bytes IS NOT NULL`;
const ALIVE = `SELECT tenant.quota_bytes IS NOT NULL AS is_limited FROM file JOIN owner ON owner.id = file.owner_id
  LEFT JOIN tenant ON tenant.id = file.reserved_for
  WHERE file.id = ?1 AND file.state <> 'removed' AND owner.erasure_id IS NULL`;

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
  async reserve(fileId, lengthBytes, maxBytes) {
    const [reserved, alive] = await db.batch<{ reserved_bytes?: number; is_limited?: number }>([
      db.prepare(RESERVE).bind(fileId, lengthBytes ?? null, maxBytes),
      db.prepare(ALIVE).bind(fileId),
    ]);
    const [file] = alive?.results ?? [];
    if (file === undefined) return "gone";
    if (file.is_limited !== 1) return { maxBytes, isEstimate: false };
    const room = reserved?.results[0]?.reserved_bytes;
    if (room === undefined) return "over_quota";
    return { maxBytes: Math.min(maxBytes, room), isEstimate: lengthBytes === undefined };
  },
  async settle(fileId, { isEstimate }, sizeBytes) {
    const alive = db.prepare(ALIVE).bind(fileId);
    if (!isEstimate) return (await alive.first()) !== null;
    const [, file] = await db.batch([db.prepare(SETTLE).bind(fileId, sizeBytes), alive]);
    return file?.results.length === 1;
  },
});

const prepared = (db: D1Database, sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
