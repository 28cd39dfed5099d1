import { clientAnchor, personAnchor } from "../homes/anchor-store.ts";
import type { Authorization } from "../model/authorization.ts";
import { RUNS_OF_A_DAY, sliceAt } from "../../platform/storage/slice.ts";
import type { UserStore, WithUser } from "../users/user-store.ts";
import { DAY_MS } from "../../platform/runtime/clock.ts";

/** A refresh grant, which its refresh tokens represent. */
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
  /** The time at which another token replaced it; undefined: it was not used, or was given back. */
  readonly usedAtMs: number | undefined;
  readonly sealedSuccessor: string | undefined;
  /** The successor was used, perhaps so long ago that it is deleted. */
  readonly successorUsed: boolean;
  /** The client has used a token of the grant since this one was made. */
  readonly grantUsed: boolean;
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
  readonly email: string;
  /** The client has a secret now. */
  readonly confidential: boolean;
}

/** The user of a token: a client, with its key. */
export interface TokenUser {
  readonly clientId: string;
  /** The thumbprint of the key that proved itself with the request. */
  readonly proofKey: string | undefined;
}

const ADD_GRANT = `
  INSERT INTO refresh_grant (id, client, email, authorization, created_at, last_used_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?5)`;
const ADD_TOKEN = `INSERT INTO refresh_token (token_hash, grant_id, created_at) VALUES (?1, ?2, ?3)`;
const FIND = `
  SELECT refresh_grant.id, refresh_grant.client AS clientId, refresh_grant.email, refresh_grant.authorization,
    token.created_at AS createdAtMs, token.used_at AS usedAtMs, token.sealed_successor AS sealedSuccessor,
    token.successor_hash IS NOT NULL AND (successor.token_hash IS NULL OR successor.used_at IS NOT NULL)
      AS successorUsed,
    refresh_grant.last_used_at > token.created_at AS grantUsed
  FROM refresh_token AS token JOIN refresh_grant ON refresh_grant.id = token.grant_id
    LEFT JOIN refresh_token AS successor ON successor.token_hash = token.successor_hash
  WHERE token.token_hash = ?1`;
const OWNER = `(SELECT email FROM refresh_grant WHERE id = (SELECT grant_id FROM refresh_token WHERE token_hash = ?1))`;
/** The client `?5` may use the grant with the key `?6`. If the grant is bound to a key, it must be this one. */
const MAY_USE = `
  client = ?5 AND coalesce(authorization ->> 'proofKey' = ?6, authorization ->> 'proofKey' IS NULL)`;
/** A token that was given back keeps the successor that it had. */
const SUPERSEDE = `
  UPDATE refresh_token SET used_at = ?4, successor_hash = coalesce(successor_hash, ?2),
    sealed_successor = coalesce(sealed_successor, ?3)
  WHERE token_hash = ?1 AND used_at IS NULL
    AND EXISTS (SELECT 1 FROM refresh_grant WHERE id = grant_id AND ${MAY_USE})`;
/** Adds the successor only if SUPERSEDE took effect, now or in an attempt whose response was lost. */
const ADD_SUCCESSOR = `
  INSERT OR IGNORE INTO refresh_token (token_hash, grant_id, created_at)
  SELECT successor_hash, grant_id, used_at FROM refresh_token WHERE token_hash = ?1 AND successor_hash = ?2`;
const TOUCH = `
  UPDATE refresh_grant SET last_used_at = max(last_used_at, ?4)
  WHERE id = (SELECT grant_id FROM refresh_token WHERE token_hash = ?1) AND ${MAY_USE}`;
/** Only while nobody used the successor. */
const GIVE_BACK = `
  UPDATE refresh_token SET used_at = NULL WHERE token_hash = ?1 AND EXISTS (
    SELECT 1 FROM refresh_token AS successor
    WHERE successor.token_hash = refresh_token.successor_hash AND successor.used_at IS NULL)`;
const owners = (isDirectory: boolean): string => `
  SELECT refresh_grant.id AS grantId, refresh_grant.client AS clientId, refresh_grant.email
    ${isDirectory ? ", client.confidential" : ""}
  FROM refresh_token AS token JOIN refresh_grant ON refresh_grant.id = token.grant_id
    ${isDirectory ? "JOIN client ON client.id = refresh_grant.client" : ""}
  WHERE token.token_hash IN (SELECT value FROM json_each(?1))`;
const CONFIDENTIAL = `SELECT id, confidential FROM client WHERE id IN (SELECT value FROM json_each(?1))`;
const VOID = `
  UPDATE refresh_grant SET authorization = json_set(authorization, '$.authenticatedAtMs', 0)
  WHERE id IN (SELECT value FROM json_each(?1))`;
const REMOVE = `DELETE FROM refresh_grant WHERE id IN (SELECT value FROM json_each(?1))`;
const DELETE_USED = `
  DELETE FROM refresh_token WHERE token_hash IN (
    SELECT token_hash FROM refresh_token WHERE token_hash >= ?3 AND token_hash < ?4 AND used_at <= ?1 LIMIT ?2)`;
/** A used token that is presented later is unknown. */
const REUSE_KNOWN_MS = 30 * DAY_MS;

interface TokenRow extends Pick<RefreshGrant, "id" | "clientId" | "email">, Pick<StoredRefreshToken, "createdAtMs"> {
  readonly authorization: string;
  readonly usedAtMs: number | null;
  readonly sealedSuccessor: string | null;
  readonly successorUsed: number;
  readonly grantUsed: number;
}

export type RefreshStore = ReturnType<typeof createRefreshStore>;

/** Refresh grants of one shard. `isDirectory`: it has the people and clients too. */
export const createRefreshStore = (
  db: D1Database,
  users: Pick<UserStore, "findBeside" | "find">,
  isDirectory = true,
) => ({
  async add(grant: RefreshGrant, tokenHash: string, nowMs: number): Promise<void> {
    const authorization = JSON.stringify(grant.authorization);
    await db.batch([
      ...(isDirectory ? [] : [...clientAnchor(db, grant.clientId), personAnchor(db, grant.email)]),
      db.prepare(ADD_GRANT).bind(grant.id, grant.clientId, grant.email, authorization, nowMs),
      db.prepare(ADD_TOKEN).bind(tokenHash, grant.id, nowMs),
    ]);
  },
  /** The token and its user: one round trip of the directory, or one of each database. */
  async find(tokenHash: string): Promise<FoundRefreshToken | undefined> {
    if (!isDirectory) {
      const { results } = await db.prepare(FIND).bind(tokenHash).all<TokenRow>();
      const found = toStoredToken(results[0]);
      return found && { ...found, grant: { ...found.grant, user: async () => users.find(found.grant.email) } };
    }
    const { rows, user } = await users.findBeside<TokenRow>(FIND, tokenHash, OWNER);
    const found = toStoredToken(rows[0]);
    return found && { ...found, grant: { ...found.grant, user } };
  },
  /**
   * Marks the grant as used. A successor replaces the token unless another successor did already. Returns the token
   * after that, so parallel callers all learn the successor in force; undefined if the grant was revoked. Can be
   * repeated. Changes nothing for a client that the grant is not for, or without its key.
   */
  async use(
    tokenHash: string,
    successor: Successor | undefined,
    { clientId, proofKey }: TokenUser,
    nowMs: number,
  ): Promise<StoredRefreshToken | undefined> {
    const by = [nowMs, clientId, proofKey ?? null];
    const rotation =
      successor === undefined
        ? []
        : [
            db.prepare(SUPERSEDE).bind(tokenHash, successor.tokenHash, successor.sealed, ...by),
            db.prepare(ADD_SUCCESSOR).bind(tokenHash, successor.tokenHash),
          ];
    const touch = db.prepare(TOUCH).bind(tokenHash, null, null, ...by);
    const results = await db.batch<TokenRow>([...rotation, touch, db.prepare(FIND).bind(tokenHash)]);
    return toStoredToken(results.at(-1)?.results[0]);
  },
  /**
   * Undoes `use` after a refusal: the token is good until its successor is used. The successor stays, since a parallel
   * request may have given it to the client.
   */
  async giveBack(tokenHash: string): Promise<void> {
    await db.prepare(GIVE_BACK).bind(tokenHash).run();
  },
  /** `confidential` is undefined if this is not the directory. */
  async owners(
    tokenHashes: readonly string[],
  ): Promise<readonly (Omit<TokenOwner, "confidential"> & { readonly confidential: boolean | undefined })[]> {
    const { results } = await db
      .prepare(owners(isDirectory))
      .bind(JSON.stringify(tokenHashes))
      .all<Omit<TokenOwner, "confidential"> & { readonly confidential?: number }>();
    return results.map((row) => ({
      ...row,
      confidential: row.confidential === undefined ? undefined : row.confidential === 1,
    }));
  },
  /** Tells which clients have a secret now; of the directory. A client that is gone is left out. */
  async confidential(clientIds: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const asked = db.prepare(CONFIDENTIAL).bind(JSON.stringify(clientIds));
    const { results } = await asked.all<{ readonly id: string; readonly confidential: number }>();
    return new Map(results.map(({ id, confidential }) => [id, confidential === 1]));
  },
  /** Removes grants with all their tokens, as part of the caller's transaction. */
  removeStatement: (grantIds: readonly string[]): D1PreparedStatement =>
    db.prepare(REMOVE).bind(JSON.stringify(grantIds)),
  /** Makes grants void for good, until they are removed: a sign-in of that time is not valid. */
  async makeVoid(grantIds: readonly string[]): Promise<void> {
    await db.prepare(VOID).bind(JSON.stringify(grantIds)).run();
  },
  /** The same in a transaction of its own. */
  async remove(grantIds: readonly string[]): Promise<void> {
    await db.prepare(REMOVE).bind(JSON.stringify(grantIds)).run();
  },
  /** Deletes at most `limit` tokens that were used long ago, in the slice of this run, and returns their number. */
  async deleteUsed(nowMs: number, limit: number): Promise<number> {
    const { from, to } = sliceAt(nowMs, RUNS_OF_A_DAY);
    const deletion = db.prepare(DELETE_USED).bind(nowMs - REUSE_KNOWN_MS, limit, from, to);
    return (await deletion.run()).meta.changes;
  },
});

function toStoredToken(row: TokenRow | undefined): StoredRefreshToken | undefined {
  if (row === undefined) return undefined;
  const { createdAtMs, usedAtMs, sealedSuccessor, successorUsed, grantUsed, authorization, ...grant } = row;
  return {
    grant: { ...grant, authorization: JSON.parse(authorization) as Authorization },
    createdAtMs,
    usedAtMs: usedAtMs ?? undefined,
    sealedSuccessor: sealedSuccessor ?? undefined,
    successorUsed: successorUsed === 1,
    grantUsed: grantUsed === 1,
  };
}
