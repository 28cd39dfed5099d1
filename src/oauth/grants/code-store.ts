import type { Authorization } from "../model/authorization.ts";
import type { CodeChallenge } from "../model/pkce.ts";
import { ALL_EXPIRED_AFTER_SEC } from "../tokens/access-token.ts";

/** Authorization codes in D1. */
export interface CodeRecord extends CodeRequest {
  /** SHA-256 in hex. */
  readonly codeHash: string;
  /** Names all tokens that come of the code. */
  readonly grantId: string;
  readonly expiresAtMs: number;
}

export interface StoredCode extends CodeRecord {
  readonly redeemed: boolean;
}

export interface CodeStore {
  /** False: the client, the user or the session is gone. */
  add(code: CodeRecord): Promise<boolean>;
  find(codeHash: string): Promise<StoredCode | undefined>;
  /**
   * Redeems the code unless it was redeemed, and makes its refresh grant where one is wanted. True for one caller alone:
   * an attempt whose answer was lost may be repeated under the same name.
   */
  redeem(codeHash: string, redemption: Redemption, nowMs: number): Promise<boolean>;
  /** Removes the code, as a part of the caller's transaction. */
  removeStatement(codeHash: string): D1PreparedStatement;
  /** Removes at most `limit` codes whose tokens have expired; returns how many. */
  deleteExpired(nowMs: number, limit: number): Promise<number>;
}

export interface Redemption {
  /** Names the attempt. */
  readonly id: string;
  readonly refresh: { readonly tokenHash: string; readonly authorization: Authorization } | undefined;
}

/** A session that an operator has just revoked gives no code any more, though it was looked at before. */
const ADD = `
  INSERT INTO authorization_code (code_hash, grant_id, client, email, redirect_uri, code_challenge,
    code_challenge_method, nonce, authorization, expires_at)
  SELECT ?1, ?2, client.id, user.email, ?5, ?6, ?7, ?8, ?9, ?10 FROM client JOIN user
  WHERE client.id = ?3 AND user.email = ?4
    AND NOT EXISTS (SELECT 1 FROM revocation WHERE kind = 'session' AND key = ?9 ->> 'sessionId')`;
const FIND = `
  SELECT code_hash, grant_id, client, email, redirect_uri, code_challenge, code_challenge_method, nonce, authorization,
    expires_at, redemption
  FROM authorization_code WHERE code_hash = ?1`;
const ADD_REFRESH_GRANT = `
  INSERT INTO refresh_grant (id, client, email, authorization, created_at, last_used_at)
  SELECT grant_id, client, email, ?2, ?3, ?3 FROM authorization_code WHERE code_hash = ?1 AND redemption IS NULL`;
const ADD_REFRESH_TOKEN = `
  INSERT INTO refresh_token (token_hash, grant_id, created_at)
  SELECT ?2, grant_id, ?3 FROM authorization_code WHERE code_hash = ?1 AND redemption IS NULL`;
/** Last: what goes with a redemption is made while there is none. */
const REDEEM = `
  UPDATE authorization_code SET redemption = ?2 WHERE code_hash = ?1 AND (redemption IS NULL OR redemption = ?2)`;
const REMOVE = `DELETE FROM authorization_code WHERE code_hash = ?1`;
const FORGET = `
  DELETE FROM authorization_code WHERE code_hash IN (
    SELECT code_hash FROM authorization_code WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)`;
/** From a code's own end: while a token that came of it may live, a replay is known. */
const REPLAY_KNOWN_MS = ALL_EXPIRED_AFTER_SEC * 1000;

type Row = Record<string, string | number | null>;

export function createCodeStore(db: D1Database): CodeStore {
  return {
    async add(code) {
      const { challenge } = code;
      const nulled = [code.redirectUri, challenge?.value, challenge?.method, code.nonce].map((value) => value ?? null);
      const authorization = JSON.stringify(code.authorization);
      const { meta } = await db
        .prepare(ADD)
        .bind(code.codeHash, code.grantId, code.clientId, code.email, ...nulled, authorization, code.expiresAtMs)
        .run();
      return meta.changes > 0;
    },
    async find(codeHash) {
      const row = await db.prepare(FIND).bind(codeHash).first<Row>();
      return row === null ? undefined : toStoredCode(row);
    },
    async redeem(codeHash, { id, refresh }, nowMs) {
      const made =
        refresh === undefined
          ? []
          : [
              db.prepare(ADD_REFRESH_GRANT).bind(codeHash, JSON.stringify(refresh.authorization), nowMs),
              db.prepare(ADD_REFRESH_TOKEN).bind(codeHash, refresh.tokenHash, nowMs),
            ];
      const results = await db.batch([...made, db.prepare(REDEEM).bind(codeHash, id)]);
      return (results.at(-1)?.meta.changes ?? 0) > 0;
    },
    removeStatement: (codeHash) => db.prepare(REMOVE).bind(codeHash),
    async deleteExpired(nowMs, limit) {
      return (
        await db
          .prepare(FORGET)
          .bind(nowMs - REPLAY_KNOWN_MS, limit)
          .run()
      ).meta.changes;
    },
  };
}

const toStoredCode = (row: Row): StoredCode => ({
  codeHash: String(row["code_hash"]),
  grantId: String(row["grant_id"]),
  clientId: String(row["client"]),
  email: String(row["email"]),
  redirectUri: optional(row["redirect_uri"]),
  challenge:
    row["code_challenge"] === null
      ? undefined
      : {
          value: String(row["code_challenge"]),
          method: row["code_challenge_method"] as CodeChallenge["method"],
        },
  nonce: optional(row["nonce"]),
  authorization: JSON.parse(String(row["authorization"])) as Authorization,
  expiresAtMs: Number(row["expires_at"]),
  redeemed: row["redemption"] !== null,
});

const optional = (value: string | number | null | undefined): string | undefined =>
  value === null || value === undefined ? undefined : String(value);

export interface CodeRequest {
  readonly clientId: string;
  readonly email: string;
  /** As the authorization request had it; undefined where it named none. */
  readonly redirectUri: string | undefined;
  readonly challenge: CodeChallenge | undefined;
  readonly nonce: string | undefined;
  /** The grant that the code goes on with; absent: a new one. */
  readonly grantId?: string | undefined;
  readonly authorization: Authorization;
}
