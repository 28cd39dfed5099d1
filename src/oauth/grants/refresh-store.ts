import type { Authorization } from "../model/authorization.ts";

/** Refresh grants and the tokens that stand for them, in D1. */
export interface RefreshGrant {
  /** The `gid` of every token that comes of it. */
  readonly id: string;
  readonly clientId: string;
  readonly email: string;
  readonly authorization: Authorization;
}

/** Of a token, what tells whether it may be used; hashes are SHA-256 in hex. */
export interface StoredRefreshToken {
  readonly grant: RefreshGrant;
  readonly createdAtMs: number;
  /** Undefined: it stands for its grant. Else it was used then and another one took its place. */
  readonly usedAtMs: number | undefined;
  readonly sealedSuccessor: string | undefined;
  readonly successorUsed: boolean;
}

export interface Successor {
  readonly tokenHash: string;
  /** Opens with the token that it follows, and with nothing else. */
  readonly sealed: string;
}

/** Whose a token is, living or used. */
export interface TokenOwner {
  readonly grantId: string;
  readonly clientId: string;
  /** The client has a secret now. */
  readonly confidential: boolean;
}

export interface RefreshStore {
  add(grant: RefreshGrant, tokenHash: string, nowMs: number): Promise<void>;
  find(tokenHash: string): Promise<StoredRefreshToken | undefined>;
  /**
   * Marks the grant as used. With a successor, that takes the token's place unless another one did already. The token as
   * it stands after that, by which every one of several parallel callers learns the successor that counts; undefined
   * when the grant has ended. May be repeated.
   */
  use(tokenHash: string, successor: Successor | undefined, nowMs: number): Promise<StoredRefreshToken | undefined>;
  owners(tokenHashes: readonly string[]): Promise<readonly TokenOwner[]>;
  /** Removes grants with all their tokens, as a part of the caller's transaction. */
  removeStatement(grantIds: readonly string[]): D1PreparedStatement;
  /** Removes at most `limit` tokens that were used long ago; returns how many. Presented later, they are unknown. */
  deleteUsed(nowMs: number, limit: number): Promise<number>;
}

const ADD_GRANT = `
  INSERT INTO refresh_grant (id, client, email, authorization, created_at, last_used_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?5)`;
const ADD_TOKEN = `INSERT INTO refresh_token (token_hash, grant_id, created_at) VALUES (?1, ?2, ?3)`;
const FIND = `
  SELECT refresh_grant.id, refresh_grant.client, refresh_grant.email, refresh_grant.authorization, token.created_at,
    token.used_at, token.sealed_successor, successor.used_at IS NOT NULL AS successor_used
  FROM refresh_token AS token JOIN refresh_grant ON refresh_grant.id = token.grant_id
    LEFT JOIN refresh_token AS successor ON successor.token_hash = token.successor_hash
  WHERE token.token_hash = ?1`;
const SUPERSEDE = `
  UPDATE refresh_token SET used_at = ?4, successor_hash = ?2, sealed_successor = ?3
  WHERE token_hash = ?1 AND used_at IS NULL`;
/** Only where the statement above did its work, now or in an attempt before whose answer was lost. */
const ADD_SUCCESSOR = `
  INSERT OR IGNORE INTO refresh_token (token_hash, grant_id, created_at)
  SELECT successor_hash, grant_id, used_at FROM refresh_token WHERE token_hash = ?1 AND successor_hash = ?2`;
const TOUCH = `
  UPDATE refresh_grant SET last_used_at = max(last_used_at, ?2)
  WHERE id = (SELECT grant_id FROM refresh_token WHERE token_hash = ?1)`;
const OWNERS = `
  SELECT refresh_grant.id, refresh_grant.client, client.confidential
  FROM refresh_token AS token JOIN refresh_grant ON refresh_grant.id = token.grant_id
    JOIN client ON client.id = refresh_grant.client
  WHERE token.token_hash IN (SELECT value FROM json_each(?1))`;
const REMOVE = `DELETE FROM refresh_grant WHERE id IN (SELECT value FROM json_each(?1))`;
const FORGET = `
  DELETE FROM refresh_token WHERE token_hash IN (
    SELECT token_hash FROM refresh_token WHERE used_at <= ?1 ORDER BY used_at LIMIT ?2)`;
const REUSE_KNOWN_MS = 30 * 86_400_000;

type Row = Record<string, string | number | null>;

export function createRefreshStore(db: D1Database): RefreshStore {
  return {
    async add(grant, tokenHash, nowMs) {
      const authorization = JSON.stringify(grant.authorization);
      await db.batch([
        db.prepare(ADD_GRANT).bind(grant.id, grant.clientId, grant.email, authorization, nowMs),
        db.prepare(ADD_TOKEN).bind(tokenHash, grant.id, nowMs),
      ]);
    },
    async find(tokenHash) {
      const row = await db.prepare(FIND).bind(tokenHash).first<Row>();
      return row === null ? undefined : toStoredToken(row);
    },
    async use(tokenHash, successor, nowMs) {
      const rotation =
        successor === undefined
          ? []
          : [
              db.prepare(SUPERSEDE).bind(tokenHash, successor.tokenHash, successor.sealed, nowMs),
              db.prepare(ADD_SUCCESSOR).bind(tokenHash, successor.tokenHash),
            ];
      const touch = db.prepare(TOUCH).bind(tokenHash, nowMs);
      const results = await db.batch<Row>([...rotation, touch, db.prepare(FIND).bind(tokenHash)]);
      const row = results.at(-1)?.results[0];
      return row === undefined ? undefined : toStoredToken(row);
    },
    async owners(tokenHashes) {
      const { results } = await db.prepare(OWNERS).bind(JSON.stringify(tokenHashes)).all<Row>();
      return results.map((row) => ({
        grantId: String(row["id"]),
        clientId: String(row["client"]),
        confidential: row["confidential"] === 1,
      }));
    },
    async deleteUsed(nowMs, limit) {
      return (
        await db
          .prepare(FORGET)
          .bind(nowMs - REUSE_KNOWN_MS, limit)
          .run()
      ).meta.changes;
    },
    removeStatement: (grantIds) => db.prepare(REMOVE).bind(JSON.stringify(grantIds)),
  };
}

const toStoredToken = (row: Row): StoredRefreshToken => ({
  grant: {
    id: String(row["id"]),
    clientId: String(row["client"]),
    email: String(row["email"]),
    authorization: JSON.parse(String(row["authorization"])) as Authorization,
  },
  createdAtMs: Number(row["created_at"]),
  usedAtMs: typeof row["used_at"] === "number" ? row["used_at"] : undefined,
  sealedSuccessor: typeof row["sealed_successor"] === "string" ? row["sealed_successor"] : undefined,
  successorUsed: row["successor_used"] === 1,
});
