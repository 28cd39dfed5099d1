import { grantsOf } from "../homes/owner-store.ts";
import { personAnchor, toExpired, type Expired } from "../homes/anchor-store.ts";
import { carryOnStatement, forgetExpiredStatement } from "../logout/logout-store.ts";
import type { SignInTimes } from "../model/authorization.ts";
import { RUNS_OF_AN_HOUR, sliceAt } from "../../platform/storage/slice.ts";
import { session, type SessionKey, type SessionRow } from "../users/user-store.ts";
import type { Whereabouts } from "./whereabouts.ts";

/** A signed-in browser. Its user is read with the user's other records (`UserStore.findBySession`). */
export interface SessionRecord extends SignInTimes, Whereabouts {
  /** SHA-256 of the cookie, in hex. */
  readonly idHash: string;
  readonly email: string;
  /** The session id in the browser's tokens: the beginning of `idHash`. */
  readonly sid: string;
  readonly provider: string;
  readonly expiresAtMs: number;
  /** The time of the sign-in. */
  readonly seenAtMs: number;
}

/** A session as its user sees it. */
export interface ListedSession extends Whereabouts {
  readonly sid: string;
  readonly provider: string;
  readonly authenticatedAtMs: number;
  /** To the hour. */
  readonly seenAtMs: number;
  /** 1: the browser that asks. */
  readonly isCurrent: number;
}

/** Which sessions are listed. */
export interface Listed {
  readonly nowMs: number;
  /** Sessions that were last used before this time are over. */
  readonly idleSinceMs: number;
  readonly limit: number;
}

export interface SignIns {
  readonly sessions: readonly ListedSession[];
  /** The user can sign in by password. */
  readonly hasPassword: boolean;
  /** The identity providers by which the user can sign in. */
  readonly linked: readonly { readonly provider: string; readonly name: string }[];
}

const START = `
  INSERT INTO session (id_hash, email, sid, provider, authenticated_at, expires_at, proven_at, browser, system, country,
    city, seen_at, amr)
  SELECT ?1, email, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13 FROM user WHERE email = ?2 AND disabled = 0 AND signed_out_at < ?5`;
/** For a shard, where the person is an anchor: each use checks in the directory whether the sign-in is valid. */
const START_ELSEWHERE = `
  INSERT INTO session (id_hash, email, sid, provider, authenticated_at, expires_at, proven_at, browser, system, country,
    city, seen_at, amr)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`;
const list = (signedOutAt: string): string => `
  SELECT sid, provider, browser, system, country, city, authenticated_at AS authenticatedAtMs,
    max(seen_at, authenticated_at) AS seenAtMs, id_hash = ?2 AS isCurrent
  FROM session WHERE email = ?1 AND expires_at > ?3 AND max(seen_at, authenticated_at) > ?5
    AND authenticated_at > ${signedOutAt}
  ORDER BY isCurrent DESC, seenAtMs DESC LIMIT ?4`;
const LIST = list("(SELECT signed_out_at FROM user WHERE email = ?1)");
const LIST_ELSEWHERE = list("?6");
const HAS_PASSWORD = `SELECT 1 FROM user WHERE email = ?1 AND password_hash IS NOT NULL`;
const LINKED = `
  SELECT linked.provider, iif(provider.button = '', provider.id, provider.button) AS name
  FROM user_identity AS linked JOIN identity_provider AS provider ON provider.id = linked.provider
  WHERE linked.email = ?1 ORDER BY name, linked.provider`;
/** Grants may outlive their session while it ends (grants/revocation/revoke-all-store.ts). */
const OWNS = `
  SELECT 1 FROM session WHERE sid = ?1 AND email = ?2
  UNION ALL SELECT 1 FROM ${grantsOf("session", "email")} WHERE email = ?2 LIMIT 1`;
const END = `DELETE FROM session WHERE id_hash = ?1`;
const TOUCH = `UPDATE session SET seen_at = ?2 WHERE id_hash = ?1 AND seen_at < ?2`;
const DELETE_EXPIRED = `
  DELETE FROM session WHERE id_hash IN (
    SELECT id_hash FROM session WHERE id_hash >= ?3 AND id_hash < ?4 AND expires_at <= ?1 LIMIT ?2)
  RETURNING email`;

export interface StartStatements {
  readonly statements: readonly D1PreparedStatement[];
  /** The index of the statement that begins the session. */
  readonly startsAt: number;
}

export type SessionStore = ReturnType<typeof createSessionStore>;

/** Sessions of one database. `isDirectory`: it has the people too. */
export const createSessionStore = (db: D1Database, isDirectory: boolean) => ({
  /**
   * Statements of one transaction: one stores the session; in the directory unless the user was removed, disabled or
   * signed out since the sign-in began. The others end the session that the browser had in this database.
   */
  startStatements(started: SessionRecord, replacedHash: string | undefined): StartStatements {
    const { idHash, email, sid, provider, authenticatedAtMs, expiresAtMs, provenAtMs = null, seenAtMs } = started;
    const { browser, system, country, city } = started;
    const times = [authenticatedAtMs, expiresAtMs, provenAtMs];
    const methods = started.methods?.join(" ") ?? null;
    const where = [browser, system, country, city];
    const anchor = isDirectory ? [] : [personAnchor(db, email)];
    const start = db
      .prepare(isDirectory ? START : START_ELSEWHERE)
      .bind(idHash, email, sid, provider, ...times, ...where, seenAtMs, methods);
    const replaced =
      replacedHash === undefined
        ? []
        : [carryOnStatement(db, replacedHash, started), db.prepare(END).bind(replacedHash)];
    return { statements: [...anchor, start, ...replaced], startsAt: anchor.length };
  },
  /** The session with a key, if it has not expired. */
  async find(key: SessionKey, value: string, nowMs: number): Promise<SessionRow | undefined> {
    return (await db.prepare(session(key)).bind(value, nowMs).first<SessionRow>()) ?? undefined;
  },
  run: async (statements: readonly D1PreparedStatement[]): Promise<readonly D1Result[]> => db.batch([...statements]),
  /** The valid sessions of a user, the browser that asks first, then the last used. One round trip. */
  async list(email: string, ownHash: string, { nowMs, idleSinceMs, limit }: Listed): Promise<SignIns> {
    const [user, linked, sessions] = await db.batch([
      db.prepare(HAS_PASSWORD).bind(email),
      db.prepare(LINKED).bind(email),
      db.prepare(LIST).bind(email, ownHash, nowMs, limit, idleSinceMs),
    ]);
    return {
      hasPassword: (user?.results.length ?? 0) > 0,
      linked: (linked?.results ?? []) as SignIns["linked"],
      sessions: (sessions?.results ?? []) as ListedSession[],
    };
  },
  /** The valid sessions of a user, the browser that asks first, then the last used; not of the directory. */
  listElsewhere: async (
    email: string,
    ownHash: string,
    signedOutAtMs: number,
    { nowMs, idleSinceMs, limit }: Listed,
  ): Promise<readonly ListedSession[]> =>
    (
      await db
        .prepare(LIST_ELSEWHERE)
        .bind(email, ownHash, nowMs, limit, idleSinceMs, signedOutAtMs)
        .all<ListedSession>()
    ).results,
  /** The valid sessions of a user in the directory, the last used first. */
  listAll: async (email: string, { nowMs, idleSinceMs, limit }: Listed): Promise<readonly ListedSession[]> =>
    (await db.prepare(LIST).bind(email, "", nowMs, limit, idleSinceMs).all<ListedSession>()).results,
  /** True if the session, or a grant that is left of it, is the user's. It never becomes another's. */
  owns: async (email: string, sid: string): Promise<boolean> =>
    (await db.prepare(OWNS).bind(sid, email).first()) !== null,
  /** Notes that the session was used now. */
  async touch(idHash: string, nowMs: number): Promise<void> {
    await db.prepare(TOUCH).bind(idHash, nowMs).run();
  },
  async end(idHash: string): Promise<void> {
    await db.prepare(END).bind(idHash).run();
  },
  /** Deletes at most `limit` expired sessions, in the slice of this run. */
  async deleteExpired(nowMs: number, limit: number): Promise<Expired> {
    const part = { nowMs, limit, ...sliceAt(nowMs, RUNS_OF_AN_HOUR) };
    const deletion = db.prepare(DELETE_EXPIRED).bind(nowMs, limit, part.from, part.to);
    const deleted = (await db.batch<{ email: string }>([forgetExpiredStatement(db, part), deletion])).at(-1)!;
    return toExpired(deleted.results);
  },
});
