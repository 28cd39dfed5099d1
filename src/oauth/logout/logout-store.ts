/** A client that a person signed in to, as it is told of the end of the session. */
export interface SessionClient {
  /** The session id in the client's tokens. */
  readonly sid: string;
  readonly clientId: string;
  readonly email: string;
  /** The person's `sub` in the client's tokens. */
  readonly subject: string;
  readonly issuer: string;
}

/** A client that has still to be told that a session ended. */
export interface LogoutNotice {
  /** The logout token's `jti`, the same in each attempt. */
  readonly id: string;
  readonly clientId: string;
  readonly subject: string;
  readonly sid: string;
  readonly issuer: string;
  /** Attempts before this one. */
  readonly attempts: number;
  /** Empty if the client is not told any more. */
  readonly address: string;
  readonly isFapi: boolean;
}

/** Only a client with an address, while the session lives. */
const REMEMBER = `
  INSERT INTO session_client (sid, client, session, email, subject, issuer)
  SELECT ?1, client.id, session.sid, ?3, ?4, ?5 FROM client, session
  WHERE client.id = ?2 AND client.backchannel_logout_uri <> '' AND session.sid = ?1 AND session.email = ?3
  ON CONFLICT (sid, client) DO NOTHING`;
/** The person signed in again in this browser: the clients of the last session belong to the new one. */
const CARRY_ON = `
  UPDATE session_client SET session = ?2
  WHERE session = (SELECT sid FROM session WHERE id_hash = ?1 AND email = ?3)
    AND EXISTS (SELECT 1 FROM session WHERE id_hash = ?4)`;
/** Clients know how long a session lives at most, so its own end is no news. */
const FORGET_EXPIRED = `
  DELETE FROM session_client WHERE session IN (
    SELECT sid FROM session WHERE id_hash >= ?3 AND id_hash < ?4 AND expires_at <= ?1 LIMIT ?2)`;
const DUE = `
  SELECT logout_notice.id, client AS clientId, subject, sid, issuer, attempts, backchannel_logout_uri AS address,
    profile = 'fapi2' AS isFapi
  FROM logout_notice JOIN client ON client.id = logout_notice.client
  WHERE next_at <= ?1 ORDER BY next_at LIMIT ?2`;
const ANY_CLIENT = `SELECT 1 FROM client WHERE backchannel_logout_uri > '' LIMIT 1`;
/** One drain sends a notice at a time. It is due again if that drain ends without a word. */
const TAKE = `UPDATE logout_notice SET attempts = attempts + 1, next_at = ?3 WHERE id = ?1 AND attempts = ?2`;
const SETTLE = `DELETE FROM logout_notice WHERE id = ?1`;

export type LogoutStore = ReturnType<typeof createLogoutStore>;

export const createLogoutStore = (db: D1Database) => ({
  /** To run beside what gives the client its tokens. */
  rememberStatement: ({ sid, clientId, email, subject, issuer }: SessionClient): D1PreparedStatement =>
    db.prepare(REMEMBER).bind(sid, clientId, email, subject, issuer),
  /** The notices whose time has come. `isUsed`: a client is registered to be told. One round trip. */
  async due(
    nowMs: number,
    limit: number,
  ): Promise<{ readonly due: readonly LogoutNotice[]; readonly isUsed: boolean }> {
    const [notices, clients] = await db.batch([db.prepare(DUE).bind(nowMs, limit), db.prepare(ANY_CLIENT)]);
    const rows = (notices?.results ?? []) as NoticeRow[];
    const due = rows.map((row) => ({ ...row, isFapi: row.isFapi === 1 }));
    return { due, isUsed: due.length > 0 || (clients?.results.length ?? 0) > 0 };
  },
  /** False if another drain has it. */
  async take({ id, attempts }: LogoutNotice, nextMs: number): Promise<boolean> {
    return (await db.prepare(TAKE).bind(id, attempts, nextMs).run()).meta.changes === 1;
  },
  async settle({ id }: LogoutNotice): Promise<void> {
    await db.prepare(SETTLE).bind(id).run();
  },
});

/** To run before the deletion of as many expired sessions of the same part. */
export const forgetExpiredStatement = (
  db: D1Database,
  {
    nowMs,
    limit,
    from,
    to,
  }: { readonly nowMs: number; readonly limit: number; readonly from: string; readonly to: string },
): D1PreparedStatement => db.prepare(FORGET_EXPIRED).bind(nowMs, limit, from, to);

/** To run after the new session is stored, and before the one that it replaces is deleted. */
export const carryOnStatement = (
  db: D1Database,
  replacedHash: string,
  { idHash, sid, email }: { readonly idHash: string; readonly sid: string; readonly email: string },
): D1PreparedStatement => db.prepare(CARRY_ON).bind(replacedHash, sid, email, idHash);

type NoticeRow = Omit<LogoutNotice, "isFapi"> & { readonly isFapi: number };
