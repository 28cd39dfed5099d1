import { DATABASE_NOW_MS } from "../../platform/database.ts";
import { isPublished, type NewKey } from "./key-store.ts";

/** What decides whether a token is ours and still good: published keys, read here and written by key-store.ts, and revocations. */
export interface SigningKeyRow extends NewKey {
  readonly createdAtMs: number;
  readonly signsFromMs: number;
}

/** What ends for good, by its own id. */
export type RevokedKind = "token" | "grant" | "session";
/** What was issued until a moment, or by records of before it; what is issued by later records is not concerned. */
export type OwnerKind = "client" | "tenant" | "user" | "session";

export interface NewRevocation {
  readonly kind: RevokedKind;
  readonly key: string;
  /** From here on every token that it concerns has expired anyway. */
  readonly expiresSec: number;
  /** Whose token it is, where it is one alone. */
  readonly client?: string;
}

export interface Revocation {
  readonly seq: number;
  readonly kind: RevokedKind | OwnerKind;
  readonly key: string;
  /** Tokens whose records were read at this time of the database or before are void. */
  readonly untilMs: number;
  readonly expiresSec: number;
  /** As in Ended. */
  readonly client?: string | null;
}

export interface TrustUpdate {
  readonly keys: readonly SigningKeyRow[];
  /** In the order in which they were made: of two for one key the later one counts. */
  readonly revocations: readonly Revocation[];
}

export interface TrustStore {
  /** Every published key, and the living revocations that came after `afterSeq`: one statement, one round trip. */
  news(afterSeq: number, nowMs: number): Promise<TrustUpdate>;
  /** Ends them in one transaction with the statements beside. */
  revoke(ended: readonly NewRevocation[], beside: readonly D1PreparedStatement[]): Promise<readonly Revocation[]>;
  /**
   * Behind `end`: where a client has more revoked tokens than a copy should hold, voids all that it got until now (the
   * first statement changes a row then) and lets the tokens' own rows go.
   */
  collapseStatements(
    ended: readonly NewRevocation[],
    expiresSec: number,
  ): readonly [D1PreparedStatement, D1PreparedStatement];
  /**
   * Voids all that was issued by records up to now, to be run in the transaction that changes the records. `if changed`:
   * only when the statement before it changed a row.
   */
  revokeStatement(kind: OwnerKind, key: string, expiresSec: number, when: "always" | "if changed"): D1PreparedStatement;
  /** Voids all that a client got of a user until now, whatever grant it came by; nothing where there is no such client. */
  revokeAccessStatement(email: string, clientId: string, expiresSec: number): D1PreparedStatement;
  /** Voids all that members of an organization got until now, in the transaction that removes it. */
  revokeMembersStatement(organization: string, expiresSec: number): D1PreparedStatement;
  /** The same for all who have a role, if the statement before it changed a row. */
  revokeRoleHoldersStatement(role: string, expiresSec: number): D1PreparedStatement;
  /** Removes at most `limit` rows that concern no living token; returns how many. */
  deleteExpired(nowSec: number, limit: number): Promise<number>;
}

/** Names all grants of a user to a client together, among the ids of grants: those have no space. */
export const accessKey = (email: string, clientId: string): string => `${clientId} of ${email}`;

/**
 * Revoked tokens of a client that live: five a second, an hour long. A copy of them is some megabytes in each isolate.
 */
export const REVOKED_TOKENS_PER_CLIENT = 20_000;

const NEWS = `
  SELECT 'key' AS tag, json_object('kid', kid, 'alg', alg, 'publicJwk', json(public_jwk),
      'sealedPrivateJwk', sealed_private_jwk, 'createdAtMs', created_at, 'signsFromMs', signs_from) AS value
    FROM signing_key WHERE ${isPublished("?2")}
  UNION ALL
  SELECT 'revocation', json_object('seq', seq, 'kind', kind, 'key', key, 'untilMs', until_ms, 'expiresSec', expires_sec,
      'client', client)
    FROM revocation WHERE seq > ?1 AND expires_sec * 1000 > ?2`;

/** A row that is replaced gets a new number, so that every copy hears of it. */
const END = `
  INSERT OR REPLACE INTO revocation (kind, key, until_ms, expires_sec, client)
  SELECT value ->> 'kind', value ->> 'key', ${Number.MAX_SAFE_INTEGER}, value ->> 'expiresSec', value ->> 'client'
  FROM json_each(?1)
  RETURNING seq, kind, key, until_ms, expires_sec, client`;
/** Clients among those that are named whose tokens' rows are too many. */
const OVERFULL = `
  SELECT value FROM json_each(?1)
  WHERE EXISTS (SELECT 1 FROM revocation WHERE client = value LIMIT 1 OFFSET ${REVOKED_TOKENS_PER_CLIENT})`;
const BOUND = `
  INSERT OR REPLACE INTO revocation (kind, key, until_ms, expires_sec)
  SELECT 'client', value, ${DATABASE_NOW_MS}, ?2 FROM (${OVERFULL})`;
const FORGET_BOUND = `DELETE FROM revocation WHERE client IN (${OVERFULL})`;
const VOID = `
  INSERT OR REPLACE INTO revocation (kind, key, until_ms, expires_sec)
  SELECT ?1, ?2, ${DATABASE_NOW_MS}, ?3`;
const VOID_ACCESS = `${VOID} WHERE EXISTS (SELECT 1 FROM client WHERE id = ?4)`;
const VOID_MEMBERS = `
  INSERT OR REPLACE INTO revocation (kind, key, until_ms, expires_sec)
  SELECT 'user', email, ${DATABASE_NOW_MS}, ?2 FROM organization_member WHERE organization = ?1`;
const VOID_HOLDERS = `
  INSERT OR REPLACE INTO revocation (kind, key, until_ms, expires_sec)
  SELECT 'user', email, ${DATABASE_NOW_MS}, ?2 FROM (
    SELECT email FROM tenant_member_role WHERE role = ?1 UNION SELECT email FROM organization_member_role WHERE role = ?1)
  WHERE changes() > 0`;

const FORGET = `
  DELETE FROM revocation WHERE seq IN (SELECT seq FROM revocation WHERE expires_sec <= ?1 ORDER BY expires_sec LIMIT ?2)`;

interface RevocationRow {
  readonly client: string | null;
  readonly seq: number;
  readonly kind: Revocation["kind"];
  readonly key: string;
  readonly until_ms: number;
  readonly expires_sec: number;
}

export function createTrustStore(db: D1Database): TrustStore {
  return {
    async news(afterSeq, nowMs) {
      const { results } = await db.prepare(NEWS).bind(afterSeq, nowMs).all<{ tag: string; value: string }>();
      const tagged = (tag: string): unknown[] =>
        results.filter((row) => row.tag === tag).map((row) => JSON.parse(row.value) as unknown);
      return {
        keys: tagged("key") as SigningKeyRow[],
        revocations: (tagged("revocation") as Revocation[]).sort((a, b) => a.seq - b.seq),
      };
    },
    async revoke(ended, beside) {
      if (ended.length + beside.length === 0) return [];
      const [made] = await db.batch<RevocationRow>([db.prepare(END).bind(JSON.stringify(ended)), ...beside]);
      return (made?.results ?? []).map(({ seq, kind, key, until_ms: untilMs, expires_sec: expiresSec, client }) => ({
        seq,
        kind,
        key,
        untilMs,
        expiresSec,
        client,
      }));
    },
    collapseStatements(ended, expiresSec) {
      const clients = JSON.stringify([...new Set(ended.flatMap(({ client }) => client ?? []))]);
      return [db.prepare(BOUND).bind(clients, expiresSec), db.prepare(FORGET_BOUND).bind(clients)];
    },
    revokeStatement: (kind, key, expiresSec, when) =>
      db.prepare(when === "always" ? VOID : `${VOID} WHERE changes() > 0`).bind(kind, key, expiresSec),
    revokeAccessStatement: (email, clientId, expiresSec) =>
      db.prepare(VOID_ACCESS).bind("grant", accessKey(email, clientId), expiresSec, clientId),
    revokeMembersStatement: (organization, expiresSec) => db.prepare(VOID_MEMBERS).bind(organization, expiresSec),
    revokeRoleHoldersStatement: (role, expiresSec) => db.prepare(VOID_HOLDERS).bind(role, expiresSec),
    async deleteExpired(nowSec, limit) {
      return (await db.prepare(FORGET).bind(nowSec, limit).run()).meta.changes;
    },
  };
}
