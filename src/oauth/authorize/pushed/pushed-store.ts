import { makeRoomStatement } from "../../grants/make-room-store.ts";
import type { PushedUse } from "../../grants/code-store.ts";

const ADD = `
  INSERT INTO pushed_request (request_hash, client, sealed, expires_at) SELECT ?1, id, ?3, ?4 FROM client WHERE id = ?2`;
/** Extends the life once, for the first browser that comes in time. */
const BEGIN = `
  UPDATE pushed_request SET begun = 1, expires_at = ?4
  WHERE request_hash = ?1 AND client = ?2 AND expires_at > ?3 AND begun = 0`;
const FIND = `SELECT sealed FROM pushed_request WHERE request_hash = ?1 AND client = ?2 AND expires_at > ?3`;
const TAKE = `DELETE FROM pushed_request WHERE request_hash = ?1 AND expires_at > ?2`;
const DELETE_EXPIRED = `
  DELETE FROM pushed_request WHERE request_hash IN (
    SELECT request_hash FROM pushed_request WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)`;
/** More than one, so that rows that expired go before others, and before the sweep. */
const DELETED_BY_ADD = 20;

export interface PushedRecord {
  /** SHA-256 in hex. */
  readonly requestHash: string;
  readonly clientId: string;
  readonly sealed: string;
  readonly expiresAtMs: number;
  /** The most rows of the client: its oldest make room. Undefined: any number. */
  readonly most: number | undefined;
}

export type PushedStore = ReturnType<typeof createPushedStore>;

/** Authorization requests that clients pushed, until their answer. */
export const createPushedStore = (db: D1Database) => ({
  /** Returns false if the client has just been removed. */
  async add({ requestHash, clientId, sealed, expiresAtMs, most }: PushedRecord, nowMs: number): Promise<boolean> {
    const [, added] = await db.batch([
      db.prepare(DELETE_EXPIRED).bind(nowMs, DELETED_BY_ADD),
      db.prepare(ADD).bind(requestHash, clientId, sealed, expiresAtMs),
      ...(most === undefined ? [] : [makeRoomStatement(db, "pushed_request", clientId, most)]),
    ]);
    return added?.meta.changes === 1;
  },
  /** The sealed parameters. From the first time on the request lives until `untilMs`. */
  async begin(requestHash: string, clientId: string, nowMs: number, untilMs: number): Promise<string | undefined> {
    const results = await db.batch<{ readonly sealed: string }>([
      db.prepare(BEGIN).bind(requestHash, clientId, nowMs, untilMs),
      db.prepare(FIND).bind(requestHash, clientId, nowMs),
    ]);
    return results[1]?.results[0]?.sealed;
  },
  /** The end of the request, which one caller causes. */
  use(hash: string, nowMs: number): PushedUse {
    const statement = db.prepare(TAKE).bind(hash, nowMs);
    return { hash, statement, take: async () => (await statement.run()).meta.changes > 0 };
  },
  /** Deletes at most `limit` requests that expired and returns how many. */
  async deleteExpired(nowMs: number, limit: number): Promise<number> {
    return (await db.prepare(DELETE_EXPIRED).bind(nowMs, limit).run()).meta.changes;
  },
});
