import type { Authorization } from "../model/authorization.ts";
import { RUNS_OF_A_DAY, sliceAt } from "../model/slice.ts";
import type { UserStore, WithUser } from "../users/user-store.ts";

/** A refresh grant. Refresh tokens stand for it. */
export interface RefreshGrant {
  /** The `gid` of its tokens. */
  readonly id: string;
  readonly clientId: string;
  readonly email: string;
  readonly authorization: Authorization;
}

/** A refresh token, with the facts that decide whether it can be used. Hashes are SHA-256 in hex. */
export interface StoredRefreshToken {
  readonly grant: RefreshGrant;
  readonly createdAtMs: number;
  /** Undefined: it stands for its grant. Otherwise the time at which another token replaced it. */
  readonly usedAtMs: number | undefined;
  readonly sealedSuccessor: string | undefined;
  readonly successorUsed: boolean;
}

export interface FoundRefreshToken extends StoredRefreshToken {
  readonly grant: RefreshGrant & Pick<WithUser<unknown>, "user">;
}

export interface Successor {
  readonly tokenHash: string;
  /** Opens with the previous token only. */
  readonly sealed: string;
}

/** The owner of a token, living or used. */
export interface TokenOwner {
  readonly grantId: string;
  readonly clientId: string;
  /** The client has a secret now. */
  readonly confidential: boolean;
}

const ADD_GRANT = `
  INSERT INTO refresh_grant (id, client, email, authorization, created_at, last_used_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?5)`;
const ADD_TOKEN = `INSERT INTO refresh_token (token_hash, grant_id, created_at) VALUES (?1, ?2, ?3)`;
const FIND = `
  SELECT refresh_grant.id, refresh_grant.client AS clientId, refresh_grant.email, refresh_grant.authorization,
    token.created_at AS createdAtMs, token.used_at AS usedAtMs, token.sealed_successor AS sealedSuccessor,
    successor.used_at IS NOT NULL AS successorUsed
  FROM refresh_token AS token JOIN refresh_grant ON refresh_grant.id = token.grant_id
    LEFT JOIN refresh_token AS successor ON successor.token_hash = token.successor_hash
  WHERE token.token_hash = ?1`;
const OWNER = `(SELECT email FROM refresh_grant WHERE id = (SELECT grant_id FROM refresh_token WHERE token_hash = ?1))`;
const SUPERSEDE = `
  UPDATE refresh_token SET used_at = ?4, successor_hash = ?2, sealed_successor = ?3
  WHERE token_hash = ?1 AND used_at IS NULL`;
/** Adds the successor only if SUPERSEDE took effect, now or in an attempt whose response was lost. */
const ADD_SUCCESSOR = `
  INSERT OR IGNORE INTO refresh_token (token_hash, grant_id, created_at)
  SELECT successor_hash, grant_id, used_at FROM refresh_token WHERE token_hash = ?1 AND successor_hash = ?2`;
const TOUCH = `
  UPDATE refresh_grant SET last_used_at = max(last_used_at, ?2)
  WHERE id = (SELECT grant_id FROM refresh_token WHERE token_hash = ?1)`;
const OWNERS = `
  SELECT refresh_grant.id AS grantId, refresh_grant.client AS clientId, client.confidential
  FROM refresh_token AS token JOIN refresh_grant ON refresh_grant.id = token.grant_id
    JOIN client ON client.id = refresh_grant.client
  WHERE token.token_hash IN (SELECT value FROM json_each(?1))`;
const REMOVE = `DELETE FROM refresh_grant WHERE id IN (SELECT value FROM json_each(?1))`;
const DELETE_USED = `
  DELETE FROM refresh_token WHERE token_hash IN (
    SELECT token_hash FROM refresh_token WHERE token_hash >= ?3 AND token_hash < ?4 AND used_at <= ?1 LIMIT ?2)`;
/** A used token that is presented later is unknown. */
const REUSE_KNOWN_MS = 30 * 86_400_000;

interface TokenRow extends Pick<RefreshGrant, "id" | "clientId" | "email">, Pick<StoredRefreshToken, "createdAtMs"> {
  readonly authorization: string;
  readonly usedAtMs: number | null;
  readonly sealedSuccessor: string | null;
  readonly successorUsed: number;
}

export type RefreshStore = ReturnType<typeof createRefreshStore>;

export const createRefreshStore = (db: D1Database, users: Pick<UserStore, "findBeside">) => ({
  async add(grant: RefreshGrant, tokenHash: string, nowMs: number): Promise<void> {
    const authorization = JSON.stringify(grant.authorization);
    await db.batch([
      db.prepare(ADD_GRANT).bind(grant.id, grant.clientId, grant.email, authorization, nowMs),
      db.prepare(ADD_TOKEN).bind(tokenHash, grant.id, nowMs),
    ]);
  },
  /** The token and its user, in one round trip. */
  async find(tokenHash: string): Promise<FoundRefreshToken | undefined> {
    const { rows, user } = await users.findBeside<TokenRow>(FIND, tokenHash, OWNER);
    const found = toStoredToken(rows[0]);
    return found && { ...found, grant: { ...found.grant, user } };
  },
  /**
   * Marks the grant as used. A successor replaces the token unless another successor did already. Returns the token
   * after that, so parallel callers all learn the successor in force; undefined if the grant was revoked. Can be
   * repeated.
   */
  async use(
    tokenHash: string,
    successor: Successor | undefined,
    nowMs: number,
  ): Promise<StoredRefreshToken | undefined> {
    const rotation =
      successor === undefined
        ? []
        : [
            db.prepare(SUPERSEDE).bind(tokenHash, successor.tokenHash, successor.sealed, nowMs),
            db.prepare(ADD_SUCCESSOR).bind(tokenHash, successor.tokenHash),
          ];
    const touch = db.prepare(TOUCH).bind(tokenHash, nowMs);
    const results = await db.batch<TokenRow>([...rotation, touch, db.prepare(FIND).bind(tokenHash)]);
    return toStoredToken(results.at(-1)?.results[0]);
  },
  async owners(tokenHashes: readonly string[]): Promise<readonly TokenOwner[]> {
    const { results } = await db
      .prepare(OWNERS)
      .bind(JSON.stringify(tokenHashes))
      .all<Omit<TokenOwner, "confidential"> & { readonly confidential: number }>();
    return results.map((row) => ({ ...row, confidential: row.confidential === 1 }));
  },
  /** Removes grants with all their tokens, as part of the caller's transaction. */
  removeStatement: (grantIds: readonly string[]): D1PreparedStatement =>
    db.prepare(REMOVE).bind(JSON.stringify(grantIds)),
  /** Deletes at most `limit` tokens that were used long ago, of a day's part of all, and returns how many. */
  async deleteUsed(nowMs: number, limit: number): Promise<number> {
    const { from, to } = sliceAt(nowMs, RUNS_OF_A_DAY);
    const deletion = db.prepare(DELETE_USED).bind(nowMs - REUSE_KNOWN_MS, limit, from, to);
    return (await deletion.run()).meta.changes;
  },
});

function toStoredToken(row: TokenRow | undefined): StoredRefreshToken | undefined {
  if (row === undefined) return undefined;
  const { createdAtMs, usedAtMs, sealedSuccessor, successorUsed, authorization, ...grant } = row;
  return {
    grant: { ...grant, authorization: JSON.parse(authorization) as Authorization },
    createdAtMs,
    usedAtMs: usedAtMs ?? undefined,
    sealedSuccessor: sealedSuccessor ?? undefined,
    successorUsed: successorUsed === 1,
  };
}
