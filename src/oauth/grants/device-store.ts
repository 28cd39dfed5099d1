import { makeRoomStatement } from "./make-room-store.ts";
import { toPlaceText, type TokenPlace } from "../homes/held-token.ts";

export interface NewDevice {
  /** SHA-256 in hex. */
  readonly deviceHash: string;
  readonly userCode: string;
  readonly clientId: string;
  readonly scope: string;
  /** The parameter `resource`, joined (model/resource.ts). */
  readonly resource: string;
  readonly expiresAtMs: number;
  readonly intervalMs: number;
  /** The most rows of the client: its oldest make room. Undefined: any number. */
  readonly most: number | undefined;
}

export type FoundDevice = Pick<NewDevice, "deviceHash" | "clientId" | "scope" | "resource">;

/** A device as its poll finds it. */
export interface PolledDevice {
  readonly state: "pending" | "allowed" | "denied";
  /** The place of the code by which the device gets its tokens, as a text (homes/held-token.ts). */
  readonly code: string | null;
  readonly expiresAtMs: number;
  /** The poll before came less than the interval ago. */
  readonly tooSoon: number;
}

const ADD = `
  INSERT INTO device_code (device_hash, user_code, client, scope, expires_at, interval_ms, resource)
  SELECT ?1, ?2, id, ?4, ?5, ?6, ?7 FROM client WHERE id = ?3
  ON CONFLICT (user_code) DO NOTHING`;
const FIND = `
  SELECT device_hash AS deviceHash, client AS clientId, scope, resource FROM device_code
  WHERE user_code = ?1 AND state = 'pending' AND expires_at > ?2`;
const DECIDE = `
  UPDATE device_code SET state = ?2, code_hash = ?3 WHERE device_hash = ?1 AND state = 'pending' AND expires_at > ?4`;
const POLLED = `
  SELECT state, code_hash AS code, expires_at AS expiresAtMs, polled_at + interval_ms > ?3 AS tooSoon
  FROM device_code WHERE device_hash = ?1 AND client = ?2`;
/** A device that polls too soon has to wait five seconds longer from then on (RFC 8628 3.5). */
const NOTE_POLL = `
  UPDATE device_code SET interval_ms = interval_ms + iif(polled_at + interval_ms > ?3, 5000, 0), polled_at = ?3
  WHERE device_hash = ?1 AND client = ?2 AND state = 'pending'`;
/** Kept for a while, so that a late poll learns that it is late. */
const EXPIRED_KEPT_MS = 600_000;
const DELETE_EXPIRED = `
  DELETE FROM device_code WHERE device_hash IN (
    SELECT device_hash FROM device_code WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)`;
/** More than one, so that rows that expired go before others, and before the sweep. */
const DELETED_BY_ADD = 20;

export type DeviceStore = ReturnType<typeof createDeviceStore>;

export const createDeviceStore = (db: D1Database) => ({
  /** Returns false if another device has the user code, or the client is gone. */
  async add(device: NewDevice, nowMs: number): Promise<boolean> {
    const { deviceHash, userCode, clientId, scope, expiresAtMs, intervalMs, resource, most } = device;
    const values = [deviceHash, userCode, clientId, scope, expiresAtMs, intervalMs, resource];
    const [, added] = await db.batch([
      db.prepare(DELETE_EXPIRED).bind(nowMs - EXPIRED_KEPT_MS, DELETED_BY_ADD),
      db.prepare(ADD).bind(...values),
      ...(most === undefined ? [] : [makeRoomStatement(db, "device_code", clientId, most)]),
    ]);
    return added?.meta.changes === 1;
  },
  /** The device that shows this code and waits for a decision. */
  async find(userCode: string, nowMs: number): Promise<FoundDevice | undefined> {
    return (await db.prepare(FIND).bind(userCode, nowMs).first<FoundDevice>()) ?? undefined;
  },
  /**
   * Decides once. `code`: the place of the code by which the device gets its tokens. `beside`: other statements of the
   * transaction.
   */
  async decide(
    deviceHash: string,
    code: TokenPlace | undefined,
    nowMs: number,
    beside: readonly D1PreparedStatement[] = [],
  ): Promise<boolean> {
    const state = code === undefined ? "denied" : "allowed";
    const decision = db.prepare(DECIDE).bind(deviceHash, state, code === undefined ? null : toPlaceText(code), nowMs);
    const [decided] = await db.batch([decision, ...beside]);
    return (decided?.meta.changes ?? 0) > 0;
  },
  /** Undefined for an unknown code, or one of another client. */
  async poll(deviceHash: string, clientId: string, nowMs: number): Promise<PolledDevice | undefined> {
    const results = await db.batch<PolledDevice>([
      db.prepare(POLLED).bind(deviceHash, clientId, nowMs),
      db.prepare(NOTE_POLL).bind(deviceHash, clientId, nowMs),
    ]);
    return results[0]?.results[0];
  },
  /** Deletes at most `limit` codes that expired and returns how many. */
  async deleteExpired(nowMs: number, limit: number): Promise<number> {
    return (
      await db
        .prepare(DELETE_EXPIRED)
        .bind(nowMs - EXPIRED_KEPT_MS, limit)
        .run()
    ).meta.changes;
  },
});
