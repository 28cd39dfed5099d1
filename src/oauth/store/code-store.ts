import type { Authorization } from "../authorization.ts";
import type { CodeRequest } from "../codes.ts";
import type { CodeChallenge } from "../pkce.ts";

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
  add(code: CodeRecord): Promise<void>;
  find(codeHash: string): Promise<StoredCode | undefined>;
}

const ADD = `
  INSERT INTO authorization_code (code_hash, grant_id, client, email, redirect_uri, code_challenge,
    code_challenge_method, nonce, authorization, expires_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`;
const FIND = `
  SELECT code_hash, grant_id, client, email, redirect_uri, code_challenge, code_challenge_method, nonce, authorization,
    expires_at, redemption
  FROM authorization_code WHERE code_hash = ?1`;

type Row = Record<string, string | number | null>;

export function createCodeStore(db: D1Database): CodeStore {
  return {
    async add(code) {
      const { challenge } = code;
      const nulled = [code.redirectUri, challenge?.value, challenge?.method, code.nonce].map((value) => value ?? null);
      const authorization = JSON.stringify(code.authorization);
      await db
        .prepare(ADD)
        .bind(code.codeHash, code.grantId, code.clientId, code.email, ...nulled, authorization, code.expiresAtMs)
        .run();
    },
    async find(codeHash) {
      const row = await db.prepare(FIND).bind(codeHash).first<Row>();
      return row === null ? undefined : toStoredCode(row);
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
