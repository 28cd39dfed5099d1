import type { SignInTimes } from "../model/authorization.ts";

/** Signed-in browsers. Who a session belongs to is read with the user's records: `UserStore.signedIn`. */
export interface SessionRow extends SignInTimes {
  /** SHA-256 in hex of the cookie. */
  readonly idHash: string;
  readonly email: string;
  /** The session id of the tokens that the browser gets. */
  readonly sid: string;
  readonly provider: string;
  readonly expiresAtMs: number;
}

export interface SessionStore {
  /**
   * Stores the session in place of the one that the browser had. False: the user is not there, or was disabled or
   * signed out since the sign-in began.
   */
  start(session: SessionRow, replacedHash: string | undefined): Promise<boolean>;
  end(idHash: string): Promise<void>;
  /** Removes at most `limit` sessions that are over; returns how many. */
  deleteExpired(nowMs: number, limit: number): Promise<number>;
}

const START = `
  INSERT INTO session (id_hash, email, sid, provider, authenticated_at, expires_at, proven_at)
  SELECT ?1, email, ?3, ?4, ?5, ?6, ?7 FROM user WHERE email = ?2 AND disabled = 0 AND signed_out_at < ?5`;
const END = `DELETE FROM session WHERE id_hash = ?1`;
const FORGET = `
  DELETE FROM session WHERE id_hash IN (SELECT id_hash FROM session WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)`;

export function createSessionStore(db: D1Database): SessionStore {
  return {
    async start({ idHash, email, sid, provider, authenticatedAtMs, expiresAtMs, provenAtMs = null }, replacedHash) {
      const values = [idHash, email, sid, provider, authenticatedAtMs, expiresAtMs, provenAtMs];
      const start = db.prepare(START).bind(...values);
      const replaced = replacedHash === undefined ? [] : [db.prepare(END).bind(replacedHash)];
      const [started] = await db.batch([start, ...replaced]);
      return started?.meta.changes === 1;
    },
    async end(idHash) {
      await db.prepare(END).bind(idHash).run();
    },
    async deleteExpired(nowMs, limit) {
      return (await db.prepare(FORGET).bind(nowMs, limit).run()).meta.changes;
    },
  };
}
