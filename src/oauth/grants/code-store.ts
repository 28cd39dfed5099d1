import type { Authorization } from "../model/authorization.ts";
import type { CodeChallenge } from "../model/pkce.ts";
import { RUNS_OF_AN_HOUR, sliceAt } from "../model/slice.ts";
import { ALL_EXPIRED_AFTER_SEC } from "../tokens/access-token.ts";
import { SESSIONS_OF_SID, type UserStore, type WithUser } from "../users/user-store.ts";

export interface CodeRequest {
  readonly clientId: string;
  readonly email: string;
  /** As in the authorization request. Undefined if it named none. */
  readonly redirectUri: string | undefined;
  readonly challenge: CodeChallenge | undefined;
  readonly nonce: string | undefined;
  /** The grant that the code continues. A new one if absent. */
  readonly grantId?: string | undefined;
  readonly authorization: Authorization;
}

export interface CodeRecord extends CodeRequest {
  /** SHA-256 in hex. */
  readonly codeHash: string;
  /** Shared by all tokens that are issued for the code. */
  readonly grantId: string;
  readonly expiresAtMs: number;
}

export interface StoredCode extends CodeRecord, Pick<WithUser<unknown>, "user"> {
  readonly redeemed: boolean;
}

/** A session whose row is written with its first code. */
export interface BeginningSession {
  /** The key of its row. */
  readonly idHash: string;
  /** The first begins it, if its user may sign in. */
  readonly statements: readonly D1PreparedStatement[];
  /** Takes the result of the first. */
  tookEffect(result: D1Result | undefined): boolean;
}

export interface Redemption {
  /** Identifies the attempt. */
  readonly id: string;
  readonly refresh: { readonly tokenHash: string; readonly authorization: Authorization } | undefined;
}

/**
 * A session that has just been revoked gets no code, even if it was valid when it was read. `?11`: the session that the
 * statement before this one begins, if it may.
 */
const ADD = `
  INSERT INTO authorization_code (code_hash, grant_id, client, email, redirect_uri, code_challenge,
    code_challenge_method, nonce, authorization, expires_at)
  SELECT ?1, ?2, client.id, user.email, ?5, ?6, ?7, ?8, ?9, ?10 FROM client JOIN user
  WHERE client.id = ?3 AND user.email = ?4
    AND NOT EXISTS (SELECT 1 FROM revocation WHERE kind = 'session' AND key = ?9 ->> 'sessionId')
    AND (?11 IS NULL OR EXISTS (SELECT 1 FROM session WHERE id_hash = ?11))`;
/** The last use of the session, to the hour. */
const SEEN_EVERY_MS = 3_600_000;
const TOUCH = `UPDATE session SET seen_at = ?2 WHERE id_hash IN (${SESSIONS_OF_SID}) AND seen_at <= ?2 - ${SEEN_EVERY_MS}`;
const FIND = `
  SELECT code_hash AS codeHash, grant_id AS grantId, client AS clientId, email, redirect_uri AS redirectUri,
    code_challenge AS challengeValue, code_challenge_method AS challengeMethod, nonce, authorization,
    expires_at AS expiresAtMs, redemption
  FROM authorization_code WHERE code_hash = ?1`;
const OWNER = `(SELECT email FROM authorization_code WHERE code_hash = ?1)`;
const ADD_REFRESH_GRANT = `
  INSERT INTO refresh_grant (id, client, email, authorization, created_at, last_used_at)
  SELECT grant_id, client, email, ?2, ?3, ?3 FROM authorization_code WHERE code_hash = ?1 AND redemption IS NULL`;
const ADD_REFRESH_TOKEN = `
  INSERT INTO refresh_token (token_hash, grant_id, created_at)
  SELECT ?2, grant_id, ?3 FROM authorization_code WHERE code_hash = ?1 AND redemption IS NULL`;
/** Last in the batch: the statements before it insert only while the code is not redeemed. */
const REDEEM = `
  UPDATE authorization_code SET redemption = ?2 WHERE code_hash = ?1 AND (redemption IS NULL OR redemption = ?2)`;
const REMOVE = `DELETE FROM authorization_code WHERE code_hash = ?1`;
/** Codes that `DELETE_EXPIRED` takes and that nobody redeemed. */
const NEVER_REDEEMED = `
  SELECT grant_id AS id, email FROM authorization_code WHERE code_hash IN (
    SELECT code_hash FROM authorization_code WHERE code_hash >= ?3 AND code_hash < ?4 AND expires_at <= ?1 LIMIT ?2)
    AND redemption IS NULL`;
const DELETE_EXPIRED = `
  DELETE FROM authorization_code WHERE code_hash IN (
    SELECT code_hash FROM authorization_code WHERE code_hash >= ?3 AND code_hash < ?4 AND expires_at <= ?1 LIMIT ?2)`;
/** Counted from the end of the code: a replay is recognized while a token issued for the code may be valid. */
const REPLAY_KNOWN_MS = ALL_EXPIRED_AFTER_SEC * 1000;

interface CodeRow extends Pick<CodeRecord, "codeHash" | "grantId" | "clientId" | "email" | "expiresAtMs"> {
  readonly redirectUri: string | null;
  readonly challengeValue: string | null;
  readonly challengeMethod: CodeChallenge["method"];
  readonly nonce: string | null;
  readonly authorization: string;
  readonly redemption: string | null;
}

/** The rest of a code's transaction. */
export interface CodeCompany {
  /** The session begins with the code, and there is no code without it. */
  readonly beginning?: BeginningSession | undefined;
  /** Statements that need the session. */
  readonly beside?: readonly D1PreparedStatement[];
}

export type CodeStore = ReturnType<typeof createCodeStore>;

/** Authorization codes in D1. */
export const createCodeStore = (db: D1Database, users: Pick<UserStore, "findBeside">) => ({
  /**
   * Returns false if the client, the user or the session is gone.
   */
  async add(code: CodeRecord, nowMs: number, { beginning, beside = [] }: CodeCompany = {}): Promise<boolean> {
    const { challenge } = code;
    const nulled = [code.redirectUri, challenge?.value, challenge?.method, code.nonce].map((value) => value ?? null);
    const authorization = JSON.stringify(code.authorization);
    const values = [code.codeHash, code.grantId, code.clientId, code.email, ...nulled, authorization, code.expiresAtMs];
    const add = db.prepare(ADD).bind(...values, beginning?.idHash ?? null);
    if (beginning !== undefined) {
      const results = await db.batch([...beginning.statements, ...beside, add]);
      beginning.tookEffect(results[0]);
      return (results.at(-1)?.meta.changes ?? 0) > 0;
    }
    const touch = db.prepare(TOUCH).bind(code.authorization.sessionId, nowMs);
    const [added] = await db.batch([add, touch, ...beside]);
    return (added?.meta.changes ?? 0) > 0;
  },
  /** The code and its user, in one round trip. */
  async find(codeHash: string): Promise<StoredCode | undefined> {
    const { rows, user } = await users.findBeside<CodeRow>(FIND, codeHash, OWNER);
    const [row] = rows;
    if (row === undefined) return undefined;
    const { challengeValue, challengeMethod, redemption, ...code } = row;
    return {
      ...code,
      user,
      redirectUri: code.redirectUri ?? undefined,
      challenge: challengeValue === null ? undefined : { value: challengeValue, method: challengeMethod },
      nonce: code.nonce ?? undefined,
      authorization: JSON.parse(code.authorization) as Authorization,
      redeemed: redemption !== null,
    };
  },
  /**
   * Redeems the code unless it was redeemed, and adds its refresh grant if one is wanted. Returns true to one caller
   * only. An attempt whose response was lost can be repeated under the same id.
   */
  async redeem(codeHash: string, { id, refresh }: Redemption, nowMs: number): Promise<boolean> {
    const grant =
      refresh === undefined
        ? []
        : [
            db.prepare(ADD_REFRESH_GRANT).bind(codeHash, JSON.stringify(refresh.authorization), nowMs),
            db.prepare(ADD_REFRESH_TOKEN).bind(codeHash, refresh.tokenHash, nowMs),
          ];
    const results = await db.batch([...grant, db.prepare(REDEEM).bind(codeHash, id)]);
    return (results.at(-1)?.meta.changes ?? 0) > 0;
  },
  /** Removes the code, as part of the caller's transaction. */
  removeStatement: (codeHash: string): D1PreparedStatement => db.prepare(REMOVE).bind(codeHash),
  /** The grants of codes that `deleteExpired` would delete and that were never redeemed. */
  async neverRedeemed(
    nowMs: number,
    limit: number,
  ): Promise<readonly { readonly id: string; readonly email: string }[]> {
    const { from, to } = sliceAt(nowMs, RUNS_OF_AN_HOUR);
    const found = db.prepare(NEVER_REDEEMED).bind(nowMs - REPLAY_KNOWN_MS, limit, from, to);
    return (await found.all<{ id: string; email: string }>()).results;
  },
  /** Deletes at most `limit` codes whose tokens have expired, of an hour's part of all, and returns how many. */
  async deleteExpired(nowMs: number, limit: number): Promise<number> {
    const { from, to } = sliceAt(nowMs, RUNS_OF_AN_HOUR);
    const deletion = db.prepare(DELETE_EXPIRED).bind(nowMs - REPLAY_KNOWN_MS, limit, from, to);
    return (await deletion.run()).meta.changes;
  },
});
