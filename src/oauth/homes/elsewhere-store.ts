import type { Slice } from "../model/slice.ts";
import type { OwnerKind } from "../tokens/trust-store.ts";
import type { Application, GrantCursor, ListedGrant } from "./listed-grant.ts";
import { grantsOf, MAX_ROWS } from "./owner-store.ts";

/** A grant with what the directory decides about it. */
export interface ComparedGrant {
  readonly id: string;
  readonly email: string;
  readonly clientId: string;
  readonly authenticatedAtMs: number;
}

/** As JSON of a row. */
type Text<T, Json extends keyof T> = Omit<T, Json> & Record<Json, string>;
export type ListedRow = Text<Omit<ListedGrant, "clientName">, "authorization">;
export type ApplicationRow = Text<Omit<Application, "clientName">, "access">;

/** Omits grants whose sign-in is not valid any more (`?3`: up to this time). A user has few grants, a client many. */
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
const IDS = `SELECT id FROM refresh_grant WHERE email = ?1 AND +client = ?2 LIMIT ?3`;
const BELONGS_TO_USER = `SELECT 1 FROM refresh_grant WHERE id = ?3 AND email = ?1 AND client = ?2`;
const END_ACCESS = `DELETE FROM refresh_grant WHERE email = ?1 AND +client = ?2`;
const OF_SESSION = `SELECT id, client AS clientId, email FROM ${grantsOf("session", "id, client, email")} LIMIT ?2`;
const end = (kind: OwnerKind): string =>
  `DELETE FROM refresh_grant WHERE id IN (SELECT id FROM ${grantsOf(kind)} LIMIT ${MAX_ROWS[kind]})`;
const REMOVE = `DELETE FROM refresh_grant WHERE id IN (SELECT value FROM json_each(?1))`;
const DROP_PERSON = `
  DELETE FROM user WHERE email = ?1 AND NOT EXISTS (SELECT 1 FROM refresh_grant WHERE refresh_grant.email = user.email)`;
const DROP_CLIENT = `
  DELETE FROM client WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM refresh_grant WHERE refresh_grant.client = client.id)`;
const OF_CLIENTS = `client IN (SELECT value FROM json_each(?1))`;
const END_CLIENTS = [
  `DELETE FROM refresh_grant WHERE ${OF_CLIENTS}`,
  `DELETE FROM client WHERE id IN (SELECT value FROM json_each(?1))`,
] as const;
const LAST_USES = `
  SELECT client AS clientId, max(last_used_at) AS lastUsedAtMs FROM refresh_grant
  WHERE ${OF_CLIENTS} GROUP BY client`;
const PART = `
  SELECT id, email, client AS clientId, authorization ->> 'authenticatedAtMs' AS authenticatedAtMs
  FROM refresh_grant WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3`;
const ANCHORS_LEFT = `
  SELECT email FROM user WHERE email IN (SELECT value FROM json_each(?1))
    AND NOT EXISTS (SELECT 1 FROM refresh_grant WHERE refresh_grant.email = user.email)`;
/** In the directory: of the grants `?1`, those whose person, sign-in or client is gone. */
const OVER = `
  SELECT value ->> 'id' AS id FROM json_each(?1) WHERE NOT EXISTS (
    SELECT 1 FROM user WHERE email = value ->> 'email'
      AND max(signed_out_at, created_at - 1) < value ->> 'authenticatedAtMs')
    OR NOT EXISTS (SELECT 1 FROM client WHERE id = value ->> 'clientId')`;
/** In the directory: the name of a client, and until when sign-ins of a person are not valid. */
const LISTED_FOR = `
  SELECT client.name AS clientName, max(user.signed_out_at, user.created_at - 1) AS signedOutAtMs
  FROM client JOIN user ON user.email = ?1 WHERE client.id = ?2`;

export type ElsewhereStore = ReturnType<typeof createElsewhereStore>;

/** Refresh grants of a shard that is not the directory, as people and operators see and end them. */
export const createElsewhereStore = (db: D1Database) => ({
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
  async grantIds(email: string, clientId: string, limit: number): Promise<readonly string[]> {
    const { results } = await db.prepare(IDS).bind(email, clientId, limit).all<{ id: string }>();
    return results.map(({ id }) => id);
  },
  belongsToUser: async (email: string, clientId: string, grantId: string): Promise<boolean> =>
    (await db.prepare(BELONGS_TO_USER).bind(email, clientId, grantId).first()) !== null,
  async endAccess(email: string, clientId: string): Promise<number> {
    return (await db.prepare(END_ACCESS).bind(email, clientId).run()).meta.changes;
  },
  ofSession: async (
    sid: string,
    limit: number,
  ): Promise<readonly { readonly id: string; readonly clientId: string; readonly email: string }[]> =>
    (await db.prepare(OF_SESSION).bind(sid, limit).all<{ id: string; clientId: string; email: string }>()).results,
  /** Removes at most as many grants of an owner as one transaction should. */
  async end(kind: OwnerKind, key: string): Promise<{ readonly removed: number; readonly mayHaveMore: boolean }> {
    const removed = (await db.prepare(end(kind)).bind(key).run()).meta.changes;
    return { removed, mayHaveMore: removed >= MAX_ROWS[kind] };
  },
  async remove(ids: readonly string[]): Promise<void> {
    await db.prepare(REMOVE).bind(JSON.stringify(ids)).run();
  },
  /** Removes the anchor of a person or a client without grants. */
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
  /** Removes all of some clients, which have few grants. */
  async endClients(clientIds: readonly string[]): Promise<void> {
    await db.batch(END_CLIENTS.map((sql) => db.prepare(sql).bind(JSON.stringify(clientIds))));
  },
  /** Grants of a part of all, after one of them. */
  part: async (after: string, { to }: Slice, limit: number): Promise<readonly ComparedGrant[]> =>
    (await db.prepare(PART).bind(after, to, limit).all<ComparedGrant>()).results,
  /** Finds those of some people that have an anchor and no grant. */
  async anchorsLeft(emails: readonly string[]): Promise<readonly string[]> {
    const { results } = await db.prepare(ANCHORS_LEFT).bind(JSON.stringify(emails)).all<{ email: string }>();
    return results.map(({ email }) => email);
  },
});

/** The directory, as grants that lie elsewhere need it. */
export const createElsewhereDirectory = (db: D1Database) => ({
  /** Finds those of some grants whose person, sign-in or client is gone. */
  async over(grants: readonly ComparedGrant[]): Promise<readonly string[]> {
    const { results } = await db.prepare(OVER).bind(JSON.stringify(grants)).all<{ id: string }>();
    return results.map(({ id }) => id);
  },
  /** Reads what a list of the grants of a person to a client needs; undefined if one of them is gone. */
  listedFor: async (
    email: string,
    clientId: string,
  ): Promise<{ readonly clientName: string; readonly signedOutAtMs: number } | undefined> =>
    (await db.prepare(LISTED_FOR).bind(email, clientId).first<{ clientName: string; signedOutAtMs: number }>()) ??
    undefined,
});
