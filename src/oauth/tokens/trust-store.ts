import { DATABASE_NOW_MS } from "../../platform/storage/database.ts";
import { isPublished, type NewKey } from "./keys/key-store.ts";
import { createRevocationCollapseStore, NEXT_REVOCATION } from "./revocation-collapse-store.ts";

/** A published key. key-store.ts writes these rows. */
export interface SigningKeyRow extends NewKey {
  readonly createdAtMs: number;
  readonly signsFromMs: number;
}

/** Kinds that are revoked for good by their own ids. */
type RevokedKind = "token" | "grant" | "session";
/** Revokes tokens issued up to a moment, or from records read before it. Tokens from later records stay valid. */
export type OwnerKind = "client" | "tenant" | "user" | "session";

/** `ended`: the key of the row that replaces the rows of a family. */
export interface RevokedFamily {
  readonly key: string;
  readonly ended: string;
  readonly isOfPerson: boolean;
}

export interface NewRevocation {
  readonly kind: RevokedKind;
  readonly key: string;
  /** From this time on, all tokens concerned have expired. */
  readonly expiresSec: number;
  /** The client that the token or grant was issued to. */
  readonly issuedTo?: string;
  /** The family of a single token or grant (revoked-tokens-store.ts). */
  readonly family?: RevokedFamily;
}

export interface Revocation {
  readonly seq: number;
  readonly kind: RevokedKind | OwnerKind;
  readonly key: string;
  /** Revokes tokens whose records were read at this database time or before. */
  readonly untilMs: number;
  readonly expiresSec: number;
}

export interface TrustUpdate {
  readonly keys: readonly SigningKeyRow[];
  /** In the order in which they were made. Of two for one key, the later one counts. */
  readonly revocations: readonly Revocation[];
  /** There are more, after the last of these. */
  readonly isMore?: boolean;
  /** Changes when the database is restored to an earlier time. */
  readonly generation?: string;
}

/** Names all grants of a user to a client. Ids of grants contain no space. */
export const accessKey = (email: string, clientId: string): string => `${clientId} of ${email}`;
/** Names the rows of a person's sessions that ended, in the column `client`. No client has such an id. */
export const endedSessionsKey = (email: string): string => `~session of ${email}`;
/** Names the rows that an organization's administrators made, likewise. */
export const endedByKey = (organization: string): string => `~organization of ${organization}`;
/** Our choice: it takes access from a whole department, and twenty organizations are far from the platform's bound. */
export const MOST_ENDED_BY_ORGANIZATION = 5_000;
/** The column of a membership, and the word for it in a key. */
const PLACE = { tenant: "tenant", organization: "org" } as const;
export type PlaceKind = keyof typeof PLACE;
/** Names what a user has in a tenant or an organization, as a row of the kind `user`. Addresses contain no space. */
export const placeKey = (email: string, kind: PlaceKind, id: string): string => `${PLACE[kind]}=${id} of ${email}`;

/** In place of a person in such a key: all of them. */
export const EVERY_MEMBER = "*";
/** Names what a tenant's clients have, for whatever tenant, as a row of the kind `tenant`. Ids contain no space. */
export const clientsOfKey = (tenant: string): string => `clients of ${tenant}`;

/** A row takes some 200 bytes of the answer. */
const REVOCATIONS_A_PAGE = 20_000;

const UPDATE = `
  SELECT 'key' AS tag, json_object('kid', kid, 'alg', alg, 'publicJwk', json(public_jwk),
      'sealedPrivateJwk', sealed_private_jwk, 'createdAtMs', created_at, 'signsFromMs', signs_from) AS value
    FROM signing_key WHERE ${isPublished("?2")}
  UNION ALL
  SELECT 'revocation', json_object('seq', seq, 'kind', kind, 'key', key, 'untilMs', until_ms, 'expiresSec', expires_sec)
    FROM (SELECT * FROM revocation WHERE seq > ?1 AND expires_sec * 1000 > ?2 ORDER BY seq LIMIT ?3)
  UNION ALL
  SELECT 'generation', json_quote(generation) FROM restore_point WHERE id = 1`;

/** A replaced row gets a new number, so every copy reads it. */
const REVOKE = `
  INSERT OR REPLACE INTO revocation (seq, kind, key, until_ms, expires_sec, client, issued_to)
  SELECT ${NEXT_REVOCATION}, value ->> 'kind', value ->> 'key', ${Number.MAX_SAFE_INTEGER}, value ->> 'expiresSec',
    value ->> '$.family.key', value ->> 'issuedTo'
  FROM json_each(?1)
  RETURNING seq, kind, key, until_ms AS untilMs, expires_sec AS expiresSec`;
const REVOKE_OWNER = `
  INSERT OR REPLACE INTO revocation (seq, kind, key, until_ms, expires_sec, client)
  SELECT ${NEXT_REVOCATION}, ?1, ?2, ${DATABASE_NOW_MS}, ?3, ?4`;
const ENDED_BY = `
  (SELECT count(*) FROM (SELECT 1 FROM revocation
    WHERE client = ?1 AND expires_sec > unixepoch() LIMIT ${MOST_ENDED_BY_ORGANIZATION + 1}))`;
const REVOKE_ACCESS = `
  INSERT OR REPLACE INTO revocation (seq, kind, key, until_ms, expires_sec, issued_to)
  SELECT ${NEXT_REVOCATION}, ?1, ?2, ${DATABASE_NOW_MS}, ?3, id FROM client WHERE id = ?4`;
/** Tokens of release 0.1.0 do not name their client's tenant. So each client has a row too, up to this many. */
export const CLIENTS_OF_OLD_TOKENS = 1_000;
const REVOKE_CLIENTS = `
  INSERT OR REPLACE INTO revocation (seq, kind, key, until_ms, expires_sec)
  SELECT ${NEXT_REVOCATION}, kind, key, ${DATABASE_NOW_MS}, ?3 FROM (
    SELECT 'tenant' AS kind, ?2 AS key
    UNION ALL SELECT * FROM (SELECT 'client', id FROM client WHERE tenant = ?1 LIMIT ${CLIENTS_OF_OLD_TOKENS}))`;
/** Our choice: beyond it, a role's loss of a scope ends what all members have in the places of its holders. */
export const MOST_HOLDERS_REVOKED = 1_000;
/** SQL: who has the role, and where. */
const HOLDERS = `
  SELECT email, '${PLACE.tenant}=' || tenant AS place FROM tenant_member_role WHERE role = ?1
  UNION ALL SELECT email, '${PLACE.organization}=' || organization FROM organization_member_role WHERE role = ?1`;
/** Counts people, not roles: one person may have it in very many places. Each place costs a row, as a person does. */
const ARE_MANY = `
  (SELECT count(DISTINCT email) > max(${MOST_HOLDERS_REVOKED}, count(DISTINCT place)) FROM (${HOLDERS}))`;
const REVOKE_ROLE_HOLDERS = `
  INSERT OR REPLACE INTO revocation (seq, kind, key, until_ms, expires_sec)
  SELECT ${NEXT_REVOCATION}, 'user', key, ${DATABASE_NOW_MS}, ?2 FROM (
    SELECT DISTINCT iif(${ARE_MANY}, place || ' of ${EVERY_MEMBER}', email) AS key FROM (${HOLDERS}))
  WHERE changes() > 0`;

const DELETE_EXPIRED = `
  DELETE FROM revocation WHERE seq IN (SELECT seq FROM revocation WHERE expires_sec <= ?1 ORDER BY expires_sec LIMIT ?2)`;

export type TrustStore = ReturnType<typeof createTrustStore>;

const addStatement = (db: D1Database, revocations: readonly NewRevocation[]): D1PreparedStatement =>
  db.prepare(REVOKE).bind(JSON.stringify(revocations));

const familyOf = (organization?: string): string | null =>
  organization === undefined ? null : endedByKey(organization);

/** Signing keys and revocations: they decide whether a token is the platform's own and still valid. */
export const createTrustStore = (db: D1Database, bound = createRevocationCollapseStore(db)) => ({
  /**
   * All published keys, and a page of the revocations after `afterSeq` that may concern a valid token. One round trip.
   */
  async readUpdate(afterSeq: number, nowMs: number, pageRows: number = REVOCATIONS_A_PAGE): Promise<TrustUpdate> {
    const { results } = await db.prepare(UPDATE).bind(afterSeq, nowMs, pageRows).all<{ tag: string; value: string }>();
    const tagged = (tag: string): unknown[] =>
      results.filter((row) => row.tag === tag).map((row) => JSON.parse(row.value) as unknown);
    const revocations = (tagged("revocation") as Revocation[]).sort((a, b) => a.seq - b.seq);
    const [generation = ""] = tagged("generation") as string[];
    return { keys: tagged("key") as SigningKeyRow[], revocations, isMore: revocations.length === pageRows, generation };
  },
  /** Adds revocations, as part of the caller's transaction. */
  addStatement: (revocations: readonly NewRevocation[]): D1PreparedStatement => addStatement(db, revocations),
  /**
   * Adds revocations, in one transaction with the statements `beside`. `isOverfull`: there may be more of them than an
   * isolate should hold.
   */
  async revoke(
    revocations: readonly NewRevocation[],
    beside: readonly D1PreparedStatement[],
  ): Promise<{ readonly added: readonly Revocation[]; readonly isOverfull: boolean }> {
    if (revocations.length + beside.length === 0) return { added: [], isOverfull: false };
    const add = addStatement(db, revocations);
    const results = await db.batch([add, ...beside, bound.isDueStatement()]);
    const due = results.at(-1)?.results as { isDue: number }[] | undefined;
    return { added: (results[0]?.results ?? []) as Revocation[], isOverfull: due?.[0]?.isDue === 1 };
  },
  /**
   * Revokes every token issued from the owner's records up to now, in the transaction that changes the records. `if
   * changed`: only if the statement before it changed a row. `organization`: the one whose administrator does it.
   */
  revokeStatement: (
    kind: OwnerKind,
    key: string,
    expiresSec: number,
    when: "always" | "if changed",
    organization?: string,
  ): D1PreparedStatement =>
    db
      .prepare(when === "always" ? REVOKE_OWNER : `${REVOKE_OWNER} WHERE changes() > 0`)
      .bind(kind, key, expiresSec, familyOf(organization)),
  /** The same for a session. `email`: its person, if known, so that the person's can be counted. */
  revokeSessionStatement: (sid: string, email: string | undefined, expiresSec: number): D1PreparedStatement =>
    db.prepare(REVOKE_OWNER).bind("session", sid, expiresSec, email === undefined ? null : endedSessionsKey(email)),
  /**
   * Fails, and so rolls its transaction back, if an organization's administrators have made more living rows than they
   * may. They write clients and members as often as they like, and must not end the tokens of others by that.
   */
  endedGuard: (organization: string): D1PreparedStatement =>
    db
      .prepare(`SELECT json(iif(${ENDED_BY} <= ${MOST_ENDED_BY_ORGANIZATION}, '1', 'too many'))`)
      .bind(endedByKey(organization)),
  /** True if they have made as many as they may. */
  hasEndedMost: async (organization: string): Promise<boolean> =>
    (await db
      .prepare(`SELECT 1 WHERE ${ENDED_BY} >= ${MOST_ENDED_BY_ORGANIZATION}`)
      .bind(endedByKey(organization))
      .first()) !== null,
  /** Revokes every token that the client has of the user, under any grant. Does nothing if there is no such client. */
  revokeAccessStatement: (email: string, clientId: string, expiresSec: number): D1PreparedStatement =>
    db.prepare(REVOKE_ACCESS).bind("grant", accessKey(email, clientId), expiresSec, clientId),
  /**
   * Revokes the user's tokens for one tenant or organization, if the statement before it changed a row. Roles count
   * only there, and whoever gives and takes them there must not end what others gave elsewhere.
   */
  revokeInPlaceStatement: (
    email: string,
    kind: PlaceKind,
    id: string,
    expiresSec: number,
    organization?: string,
  ): D1PreparedStatement =>
    db
      .prepare(`${REVOKE_OWNER} WHERE changes() > 0`)
      .bind("user", placeKey(email, kind, id), expiresSec, familyOf(organization)),
  /** Revokes every token of the tenant's clients, whichever tenant it is for. */
  revokeClientsStatement: (tenant: string, expiresSec: number): D1PreparedStatement =>
    db.prepare(REVOKE_CLIENTS).bind(tenant, clientsOfKey(tenant), expiresSec),
  /** Revokes the tokens for an organization of all its members, in the transaction that removes it. */
  revokeMembersStatement: (organization: string, expiresSec: number): D1PreparedStatement =>
    db.prepare(REVOKE_OWNER).bind("user", placeKey(EVERY_MEMBER, "organization", organization), expiresSec, null),
  /**
   * Revokes the tokens of all users who have a role, if the statement before it changed a row. If there are very many,
   * a row for each place revokes those of all its members for it: roles count only in their place.
   */
  revokeRoleHoldersStatement: (role: string, expiresSec: number): D1PreparedStatement =>
    db.prepare(REVOKE_ROLE_HOLDERS).bind(role, expiresSec),
  /** Deletes at most `limit` rows that concern no valid token and returns how many. */
  async deleteExpired(nowSec: number, limit: number): Promise<number> {
    return (await db.prepare(DELETE_EXPIRED).bind(nowSec, limit).run()).meta.changes;
  },
});
