import type { SignInTimes } from "../model/authorization.ts";

/** A signed-in browser. Its user is read with the user's other records (`UserStore.findBySession`). */
export interface SessionRecord extends SignInTimes {
  /** SHA-256 of the cookie, in hex. */
  readonly idHash: string;
  readonly email: string;
  /** The session id in the browser's tokens. */
  readonly sid: string;
  readonly provider: string;
  readonly expiresAtMs: number;
}

const START = `
  INSERT INTO session (id_hash, email, sid, provider, authenticated_at, expires_at, proven_at)
  SELECT ?1, email, ?3, ?4, ?5, ?6, ?7 FROM user WHERE email = ?2 AND disabled = 0 AND signed_out_at < ?5`;
const END = `DELETE FROM session WHERE id_hash = ?1`;
const DELETE_EXPIRED = `
  DELETE FROM session WHERE id_hash IN (SELECT id_hash FROM session WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)`;

export type SessionStore = ReturnType<typeof createSessionStore>;

export const createSessionStore = (db: D1Database) => ({
  /**
   * Stores the session and ends the one that the browser had. Returns false if the user was removed, disabled or signed
   * out since the sign-in began.
   */
  async start(session: SessionRecord, replacedHash: string | undefined): Promise<boolean> {
    const { idHash, email, sid, provider, authenticatedAtMs, expiresAtMs, provenAtMs = null } = session;
    const start = db.prepare(START).bind(idHash, email, sid, provider, authenticatedAtMs, expiresAtMs, provenAtMs);
    const replaced = replacedHash === undefined ? [] : [db.prepare(END).bind(replacedHash)];
    const [started] = await db.batch([start, ...replaced]);
    return started?.meta.changes === 1;
  },
  async end(idHash: string): Promise<void> {
    await db.prepare(END).bind(idHash).run();
  },
  /** Deletes at most `limit` expired sessions and returns how many. */
  async deleteExpired(nowMs: number, limit: number): Promise<number> {
    return (await db.prepare(DELETE_EXPIRED).bind(nowMs, limit).run()).meta.changes;
  },
});
