import type { OwnerKind } from "../tokens/trust-store.ts";
import type { Application, GrantCursor, ListedGrant } from "./listed-grant.ts";
import { SESSIONS_OF_SID } from "../users/user-store.ts";
import type { RevokedGrant } from "./grant-revocation.ts";
import { COLUMN, grantsOf, MAX_ROWS, sessionsUntil, signedInUntil } from "./owner-store.ts";
import { createAccessStore } from "./access-store.ts";

/** A grant as the directory needs it, to tell whether it is still valid. */
export interface ComparedGrant {
  readonly id: string;
  readonly email: string;
  readonly clientId: string;
  readonly authenticatedAtMs: number;
}

/** The same for a session. The id is the key of its row. */
export type ComparedSession = Omit<ComparedGrant, "clientId">;

/** Owners whose sign-ins `end` removes. A session ends in steps of its own, which begin with `voidSession`. */
export type EndedKind = Exclude<OwnerKind, "session">;

/** A row in which one member is still JSON text. */
type Text<T, Json extends keyof T> = Omit<T, Json> & Record<Json, string>;
export type ListedRow = Text<Omit<ListedGrant, "clientName">, "authorization">;
export type ApplicationRow = Text<Omit<Application, "clientName">, "access">;

/**
 * Omits grants whose sign-in is not valid any more (`?3`: up to this time). `+client` keeps SQLite from the index by
 * client: a user has few grants, a client many.
 */
const PAGE = `
  SELECT id, client AS clientId, authorization, created_at AS createdAtMs, last_used_at AS lastUsedAtMs
  FROM refresh_grant WHERE email = ?1 AND +client = ?2 AND authorization ->> 'authenticatedAtMs' > ?3
    AND (created_at, id) < (?4, ?5)
  ORDER BY created_at DESC, id DESC LIMIT ?6`;
const APPLICATIONS = `
  SELECT client AS clientId, min(created_at) AS createdAtMs, max(last_used_at) AS lastUsedAtMs,
    json_group_array(DISTINCT json_remove(authorization,
      '$.sessionId', '$.authenticatedAtMs', '$.provenAtMs', '$.tenantExplicit') || '') AS access
  FROM refresh_grant WHERE email = ?1 AND authorization ->> 'authenticatedAtMs' > ?2
  GROUP BY client ORDER BY max(last_used_at) DESC, client LIMIT ?3`;
/** Reads all codes of the last hours; if the person (`?2`) is known, only that person's. */
const codesOf = (isPersonKnown: boolean): string =>
  `authorization_code WHERE ${isPersonKnown ? "email = ?2 AND " : ""}${COLUMN.session} = ?1`;
const someOfSession = (isPersonKnown: boolean): string => `
  SELECT id, client AS clientId, email FROM ${grantsOf("session", "id, client, email")}
  UNION SELECT grant_id, client, email FROM ${codesOf(isPersonKnown)}
  ORDER BY 1 LIMIT ${MAX_ROWS.session}`;
/** Makes a session expired for every clock. The sweep then removes it and tells its clients. */
const VOID_SESSION = `UPDATE session SET expires_at = 0 WHERE id_hash IN (${SESSIONS_OF_SID}) AND expires_at > 0`;
const SET_VOID = `SET authorization = json_set(authorization, '$.authenticatedAtMs', 0)`;
const VOID_GRANTS = `UPDATE refresh_grant ${SET_VOID} WHERE id IN (SELECT id FROM ${grantsOf("session")} LIMIT ${MAX_ROWS.session})`;
const voidCodes = (isPersonKnown: boolean): string =>
  codesOf(isPersonKnown).replace("authorization_code", `UPDATE authorization_code ${SET_VOID}`);
const REMOVE_CODES = `DELETE FROM ${codesOf(true)} AND grant_id IN (SELECT value FROM json_each(?3))`;
const END_SESSION = `DELETE FROM session WHERE id_hash IN (${SESSIONS_OF_SID})`;
const until = (kind: EndedKind): string => (kind === "user" ? ` AND ${signedInUntil("?2")}` : "");
const endGrants = (kind: EndedKind): string =>
  `DELETE FROM refresh_grant WHERE id IN (SELECT id FROM ${grantsOf(kind)}${until(kind)} LIMIT ${MAX_ROWS[kind]})`;
const endCodes = (kind: EndedKind): string => `
  DELETE FROM authorization_code WHERE code_hash IN (
    SELECT code_hash FROM authorization_code WHERE ${COLUMN[kind]} = ?1${until(kind)} LIMIT ${MAX_ROWS[kind]})`;
const END_SESSIONS = `DELETE FROM session WHERE email = ?1 AND ${sessionsUntil("?2")}`;
const REMOVE = `DELETE FROM refresh_grant WHERE id IN (SELECT value FROM json_each(?1))`;
const IS_ALONE = ["refresh_grant", "authorization_code", "session"]
  .map((table) => `NOT EXISTS (SELECT 1 FROM ${table} WHERE ${table}.email = user.email)`)
  .join(" AND ");
const DROP_PERSON = `DELETE FROM user WHERE email = ?1 AND ${IS_ALONE}`;
/** Rows about logouts go with the client. */
const DROP_CLIENT = `
  DELETE FROM client WHERE id = ?1
    AND NOT EXISTS (SELECT 1 FROM refresh_grant WHERE refresh_grant.client = client.id)
    AND NOT EXISTS (SELECT 1 FROM authorization_code WHERE authorization_code.client = client.id)`;
const OF_CLIENTS = `client IN (SELECT value FROM json_each(?1))`;
const END_CLIENTS = [
  `DELETE FROM refresh_grant WHERE ${OF_CLIENTS}`,
  `DELETE FROM client WHERE id IN (SELECT value FROM json_each(?1))`,
] as const;
const LAST_USES = `
  SELECT client AS clientId, max(last_used_at) AS lastUsedAtMs FROM refresh_grant
  WHERE ${OF_CLIENTS} GROUP BY client`;
const GRANTS_IN = `
  SELECT id, email, client AS clientId, authorization ->> 'authenticatedAtMs' AS authenticatedAtMs
  FROM refresh_grant WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3`;
const DROP_PEOPLE = `DELETE FROM user WHERE email IN (SELECT value FROM json_each(?1)) AND ${IS_ALONE}`;
/** Sessions with clients that must be told of their end. The others need no sweep: they expire. */
const SESSIONS_WITH_CLIENTS = `
  SELECT id_hash AS id, email, authenticated_at AS authenticatedAtMs FROM session
  WHERE id_hash > ?1 AND id_hash < ?2 AND EXISTS (SELECT 1 FROM session_client WHERE session_client.session = session.sid)
  ORDER BY id_hash LIMIT ?3`;
const END_THESE_SESSIONS = `DELETE FROM session WHERE id_hash IN (SELECT value FROM json_each(?1))`;
/** In the directory: the grants or sessions of `?1` whose person or client is gone, or whose sign-in was ended. */
const NOT_VALID = `
  SELECT value ->> 'id' AS id FROM json_each(?1) WHERE NOT EXISTS (
    SELECT 1 FROM user WHERE email = value ->> 'email'
      AND max(signed_out_at, created_at - 1) < value ->> 'authenticatedAtMs')
    OR (value ->> 'clientId' IS NOT NULL AND NOT EXISTS (SELECT 1 FROM client WHERE id = value ->> 'clientId'))`;
/** In the directory: those of the addresses `?1` that belong to nobody. */
const GONE = `SELECT value AS email FROM json_each(?1) WHERE NOT EXISTS (SELECT 1 FROM user WHERE email = value)`;
/** In the directory: the time up to which sign-ins of a person are not valid. */
const SIGNED_OUT_AT = `SELECT max(signed_out_at, created_at - 1) AS atMs FROM user WHERE email = ?1`;
/** In the directory: the name of a client, and the time up to which sign-ins of a person are not valid. */
const LISTED_FOR = `
  SELECT client.name AS clientName, max(user.signed_out_at, user.created_at - 1) AS signedOutAtMs
  FROM client JOIN user ON user.email = ?1 WHERE client.id = ?2`;

export type ElsewhereStore = ReturnType<typeof createElsewhereStore>;

/** Sessions, codes and refresh grants of a shard that is not the directory: people and operators list and end them. */
export const createElsewhereStore = (db: D1Database) => ({
  ...createAccessStore(db),
  async page(
    email: string,
    clientId: string,
    signedOutAtMs: number,
    { createdAtMs, id }: GrantCursor,
    limit: number,
  ): Promise<readonly ListedRow[]> {
    const page = db.prepare(PAGE).bind(email, clientId, signedOutAtMs, createdAtMs, id, limit);
    return (await page.all<ListedRow>()).results;
  },
  applications: async (email: string, signedOutAtMs: number, limit: number): Promise<readonly ApplicationRow[]> =>
    (await db.prepare(APPLICATIONS).bind(email, signedOutAtMs, limit).all<ApplicationRow>()).results,
  async endAccess(email: string, clientId: string): Promise<number> {
    const ended = await db.batch([...createAccessStore(db).endStatements(email, clientId)]);
    return changesOf(ended);
  },
  /**
   * Makes a session void, with a limited number of its codes and grants; no new ones can be made after that. Returns
   * these codes and grants, which the caller revokes. `email`: the session's person, if known.
   */
  async voidSession(sid: string, email: string | undefined): Promise<readonly RevokedGrant[]> {
    const isPersonKnown = email !== undefined;
    const keys = isPersonKnown ? [sid, email] : [sid];
    const results = await db.batch([
      db.prepare(VOID_SESSION).bind(sid),
      db.prepare(voidCodes(isPersonKnown)).bind(...keys),
      db.prepare(VOID_GRANTS).bind(sid),
      db.prepare(someOfSession(isPersonKnown)).bind(...keys),
    ]);
    return (results.at(-1)?.results ?? []) as RevokedGrant[];
  },
  /** Removes these codes and grants of a person's session. */
  async removeOfSession(sid: string, email: string, ids: readonly string[]): Promise<void> {
    const listed = JSON.stringify(ids);
    await db.batch([db.prepare(REMOVE).bind(listed), db.prepare(REMOVE_CODES).bind(sid, email, listed)]);
  },
  /** Removes the session. A trigger notes that its clients must be told. */
  async endSession(sid: string): Promise<void> {
    await db.prepare(END_SESSION).bind(sid).run();
  },
  /** Removes at most `MAX_ROWS` grants and codes of an owner; of a person, those of sign-ins until then, and these. */
  async end(
    kind: EndedKind,
    key: string,
    untilMs = Number.MAX_SAFE_INTEGER,
  ): Promise<{ readonly removed: number; readonly mayHaveMore: boolean }> {
    const sessions = kind === "user" ? [END_SESSIONS] : [];
    const values = kind === "user" ? [key, untilMs] : [key];
    const ended = await db.batch(
      [endGrants(kind), endCodes(kind), ...sessions].map((sql) => db.prepare(sql).bind(...values)),
    );
    return {
      removed: changesOf(ended.slice(0, 2)),
      mayHaveMore: ended.slice(0, 2).some(({ meta }) => meta.changes >= MAX_ROWS[kind]),
    };
  },
  async remove(ids: readonly string[]): Promise<void> {
    await db.prepare(REMOVE).bind(JSON.stringify(ids)).run();
  },
  /** Removes the anchor of a person or client, if nothing refers to it. */
  async dropAnchor(kind: "user" | "client", key: string): Promise<void> {
    await db
      .prepare(kind === "user" ? DROP_PERSON : DROP_CLIENT)
      .bind(key)
      .run();
  },
  lastUses: async (
    clientIds: readonly string[],
  ): Promise<readonly { readonly clientId: string; readonly lastUsedAtMs: number }[]> =>
    (await db.prepare(LAST_USES).bind(JSON.stringify(clientIds)).all<{ clientId: string; lastUsedAtMs: number }>())
      .results,
  /** Removes the grants and anchors of some clients, which have few grants. */
  async endClients(clientIds: readonly string[]): Promise<void> {
    await db.batch(END_CLIENTS.map((sql) => db.prepare(sql).bind(JSON.stringify(clientIds))));
  },
  /** Grants after a key, before another one. */
  grantsIn: async (after: string, to: string, limit: number): Promise<readonly ComparedGrant[]> =>
    (await db.prepare(GRANTS_IN).bind(after, to, limit).all<ComparedGrant>()).results,
  /** Sessions that clients must be told of, after a key, before another one. */
  sessionsWithClientsIn: async (after: string, to: string, limit: number): Promise<readonly ComparedSession[]> =>
    (await db.prepare(SESSIONS_WITH_CLIENTS).bind(after, to, limit).all<ComparedSession>()).results,
  async endSessions(ids: readonly string[]): Promise<void> {
    await db.prepare(END_THESE_SESSIONS).bind(JSON.stringify(ids)).run();
  },
  /** Removes anchors of people, if nothing refers to them. */
  async dropAnchors(emails: readonly string[]): Promise<void> {
    await db.prepare(DROP_PEOPLE).bind(JSON.stringify(emails)).run();
  },
});

/** Questions to the directory about sign-ins that lie elsewhere. */
export const createElsewhereDirectory = (db: D1Database) => ({
  /** The ids of the grants or sessions whose person or client is gone, or whose sign-in was ended. */
  async notValid(grants: readonly (ComparedGrant | ComparedSession)[]): Promise<readonly string[]> {
    const { results } = await db.prepare(NOT_VALID).bind(JSON.stringify(grants)).all<{ id: string }>();
    return results.map(({ id }) => id);
  },
  /** The addresses that belong to nobody any more. */
  async gone(emails: readonly string[]): Promise<readonly string[]> {
    const { results } = await db.prepare(GONE).bind(JSON.stringify(emails)).all<{ email: string }>();
    return results.map(({ email }) => email);
  },
  /** Sign-ins of the person up to this time are not valid. Undefined: there is no such person. */
  signedOutAt: async (email: string): Promise<number | undefined> =>
    (await db.prepare(SIGNED_OUT_AT).bind(email).first<number>("atMs")) ?? undefined,
  /** Reads what a list of a person's grants for a client needs. Undefined if the person or the client is gone. */
  listedFor: async (
    email: string,
    clientId: string,
  ): Promise<{ readonly clientName: string; readonly signedOutAtMs: number } | undefined> =>
    (await db.prepare(LISTED_FOR).bind(email, clientId).first<{ clientName: string; signedOutAtMs: number }>()) ??
    undefined,
});

const changesOf = (results: readonly D1Result[]): number => results.reduce((sum, { meta }) => sum + meta.changes, 0);
