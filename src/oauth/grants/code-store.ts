import { StoreUnavailable } from "../../platform/storage/database.ts";
import { clientAnchor, toExpired, type Expired } from "../homes/anchor-store.ts";
import type { BeginningSession } from "../homes/beginning.ts";
import type { Authorization } from "../model/authorization.ts";
import type { CodeChallenge } from "../model/pkce.ts";
import { RUNS_OF_AN_HOUR, sliceAt } from "../../platform/storage/slice.ts";
import { ALL_EXPIRED_AFTER_SEC } from "../tokens/access-token.ts";
import { SESSIONS_OF_SID, type UserStore, type WithUser } from "../users/user-store.ts";
import { HOUR_MS } from "../../platform/runtime/clock.ts";

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
  /** The id of the attempt that redeemed it. */
  readonly redemption: string | undefined;
}

export interface Redemption {
  /** Identifies the attempt. */
  readonly id: string;
  readonly refresh: { readonly tokenHash: string; readonly authorization: Authorization } | undefined;
}

/** A redemption that checks in the same statement whether it is allowed (`take`). */
export interface Taking {
  /** Identifies the attempt. */
  readonly id: string;
  readonly clientId: string;
  /** The key that proved itself with the request. */
  readonly proofKey: string | undefined;
  /** The parameters that came with the code; undefined if no browser brought it. */
  readonly sent: SentWithCode | undefined;
  /** The refresh token to issue, and the key that its grant is bound to. */
  readonly refresh: { readonly tokenHash: string; readonly proofKey: string | undefined } | undefined;
}

export interface SentWithCode {
  readonly redirectUri: string | undefined;
  /** The address that counts if none was sent. */
  readonly onlyRedirectUri: string | undefined;
  readonly verifier: string | undefined;
  /** The verifier, hashed by the method S256. */
  readonly s256: string | undefined;
  readonly needsPkce: boolean;
}

/**
 * A session that has just been revoked gets no code, even if it was valid when it was read. `?11`: the session that the
 * statement before this one begins, if it may. `?12`: the pushed request that the code uses up.
 */
const ADD = `
  INSERT INTO authorization_code (code_hash, grant_id, client, email, redirect_uri, code_challenge,
    code_challenge_method, nonce, authorization, expires_at)
  SELECT ?1, ?2, client.id, user.email, ?5, ?6, ?7, ?8, ?9, ?10 FROM client JOIN user
  WHERE client.id = ?3 AND user.email = ?4
    AND NOT EXISTS (SELECT 1 FROM revocation WHERE kind = 'session' AND key = ?9 ->> 'sessionId')
    AND (?11 IS NULL OR EXISTS (SELECT 1 FROM session WHERE id_hash = ?11))
    AND (?12 IS NULL OR EXISTS (SELECT 1 FROM pushed_request WHERE request_hash = ?12 AND expires_at > ?13))`;
const IS_ADDED = `SELECT 1 FROM authorization_code WHERE code_hash = ?1`;
/**
 * For a shard, where client and person are anchors. The session lies there too: a session that has just ended gets no
 * code, and its codes are deleted with it.
 */
const ADD_ELSEWHERE = `
  INSERT INTO authorization_code (code_hash, grant_id, client, email, redirect_uri, code_challenge,
    code_challenge_method, nonce, authorization, expires_at)
  SELECT ?1, ?2, ?3, session.email, ?5, ?6, ?7, ?8, ?9, ?10 FROM session
  WHERE id_hash >= ?9 ->> 'sessionId' AND id_hash < (?9 ->> 'sessionId') || 'g' AND email = ?4 AND session.expires_at > ?11
  LIMIT 1`;
/** The last use of the session, to the hour. */
const SEEN_EVERY_MS = HOUR_MS;
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
/** The checks of authorization-code.ts. `?5` to `?9` count if the code came by a browser: `?4`. */
const MAY_TAKE = `
  code_hash = ?1 AND client = ?2 AND coalesce(authorization ->> 'proofKey' = ?3, authorization ->> 'proofKey' IS NULL)
  AND (?4 = 0 OR (expires_at > ?10
    AND (redirect_uri IS ?5 OR (redirect_uri IS NULL AND ?5 = ?6))
    AND iif(code_challenge IS NULL, ?9 = 0 AND ?7 IS NULL, code_challenge IS iif(code_challenge_method = 'plain', ?7, ?8))))`;
/** The grant must exist: a code for an ID token hint continues it. */
const TAKE_GRANT = `
  INSERT INTO refresh_grant (id, client, email, authorization, created_at, last_used_at)
  SELECT grant_id, client, email, iif(?11 IS NULL, json_remove(authorization, '$.proofKey'), json_set(authorization, '$.proofKey', ?11)),
    ?10, ?10
  FROM authorization_code WHERE ${MAY_TAKE} AND redemption IS NULL AND authorization ->> 'hint' IS NULL`;
const TAKE_TOKEN = `
  INSERT INTO refresh_token (token_hash, grant_id, created_at)
  SELECT ?11, grant_id, ?10 FROM authorization_code WHERE ${MAY_TAKE} AND redemption IS NULL AND authorization ->> 'hint' IS NULL`;
const TAKE = `
  UPDATE authorization_code SET redemption = ?11 WHERE ${MAY_TAKE} AND (redemption IS NULL OR redemption = ?11)`;
const UNGRANT = `
  DELETE FROM refresh_grant WHERE id = (
    SELECT grant_id FROM authorization_code WHERE code_hash = ?1 AND redemption = ?2 AND authorization ->> 'hint' IS NULL)`;
const GIVE_BACK = `UPDATE authorization_code SET redemption = NULL WHERE code_hash = ?1 AND redemption = ?2`;
const REMOVE = `DELETE FROM authorization_code WHERE code_hash = ?1`;
const DELETE_EXPIRED = `
  DELETE FROM authorization_code WHERE code_hash IN (
    SELECT code_hash FROM authorization_code WHERE code_hash >= ?3 AND code_hash < ?4 AND expires_at <= ?1 LIMIT ?2)
  RETURNING email`;
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

/** Other parts of the transaction that adds a code. */
export interface CodeCompany {
  /** The session begins with the code, and there is no code without it. */
  readonly beginning?: BeginningSession | undefined;
  /** Statements that need the session. */
  readonly beside?: readonly D1PreparedStatement[];
  /** The pushed request that the code uses up. Only the directory has it. */
  readonly pushed?: PushedUse | undefined;
}

/** A pushed request that is about to be used up (authorize/pushed/pushed-store.ts). */
export interface PushedUse {
  readonly hash: string;
  /** Uses it up, as part of a transaction of the directory. */
  readonly statement: D1PreparedStatement;
  /** Uses it up. Returns true to one caller only. */
  take(): Promise<boolean>;
}

/** `gone`: the session, the client or the user. `used`: the pushed request, or it has expired. */
export type Added = "added" | "gone" | "used";

export type CodeStore = ReturnType<typeof createCodeStore>;

/** Authorization codes of one database. `isDirectory`: it has the people and clients too. */
export const createCodeStore = (db: D1Database, users: Pick<UserStore, "find" | "findBeside">, isDirectory = true) => ({
  /**
   * Adds the code, unless the session is gone; in the directory, also unless the client, the user or the pushed
   * request is. If the response is lost, the code tells whether the transaction took effect.
   */
  async add(code: CodeRecord, nowMs: number, { beginning, beside = [], pushed }: CodeCompany = {}): Promise<Added> {
    const { challenge } = code;
    const nulled = [code.redirectUri, challenge?.value, challenge?.method, code.nonce].map((value) => value ?? null);
    const authorization = JSON.stringify(code.authorization);
    const values = [code.codeHash, code.grantId, code.clientId, code.email, ...nulled, authorization, code.expiresAtMs];
    const add = isDirectory
      ? [db.prepare(ADD).bind(...values, beginning?.idHash ?? null, pushed?.hash ?? null, nowMs)]
      : [...clientAnchor(db, code.clientId), db.prepare(ADD_ELSEWHERE).bind(...values, nowMs)];
    const useUp = isDirectory && pushed !== undefined ? [pushed.statement] : [];
    const before = beginning === undefined ? [] : [...beginning.statements, ...beside];
    const after =
      beginning === undefined ? [db.prepare(TOUCH).bind(code.authorization.sessionId, nowMs), ...beside] : [];
    let results: readonly D1Result[];
    try {
      results = await db.batch([...before, ...add, ...after, ...useUp]);
    } catch (thrown) {
      if (!(thrown instanceof StoreUnavailable)) throw thrown;
      if ((await db.prepare(IS_ADDED).bind(code.codeHash).first()) === null) throw thrown;
      await beginning?.tookEffect(true);
      return "added";
    }
    const changed = (at: number): boolean => (results.at(at)?.meta.changes ?? 0) > 0;
    await beginning?.tookEffect(changed(beginning.startsAt));
    if (changed(before.length + add.length - 1)) return "added";
    return useUp.length > 0 && !changed(-1) ? "used" : "gone";
  },
  /** The code and its user: one round trip of the directory, or one of each database. */
  async find(codeHash: string): Promise<StoredCode | undefined> {
    if (isDirectory) {
      const { rows, user } = await users.findBeside<CodeRow>(FIND, codeHash, OWNER);
      return rows[0] && { ...toCode(rows[0]), user };
    }
    const row = await db.prepare(FIND).bind(codeHash).first<CodeRow>();
    return row === null ? undefined : { ...toCode(row), user: async () => users.find(row.email) };
  },
  /**
   * Redeems the code if this request may, with the grant that it asks for. Returns the code as it was, and whether
   * this attempt has it. Can be repeated under the same id.
   */
  async take(
    codeHash: string,
    { id, clientId, proofKey, sent, refresh }: Taking,
    nowMs: number,
  ): Promise<{ readonly code: Omit<StoredCode, "user">; readonly isTaken: boolean } | undefined> {
    const may = [
      codeHash,
      clientId,
      proofKey ?? null,
      sent === undefined ? 0 : 1,
      sent?.redirectUri ?? null,
      sent?.onlyRedirectUri ?? null,
      sent?.verifier ?? null,
      sent?.s256 ?? null,
      sent?.needsPkce === true ? 1 : 0,
      nowMs,
    ];
    const grant =
      refresh === undefined
        ? []
        : [
            db.prepare(TAKE_GRANT).bind(...may, refresh.proofKey ?? null),
            db.prepare(TAKE_TOKEN).bind(...may, refresh.tokenHash),
          ];
    const found = db.prepare(FIND).bind(codeHash);
    const results = await db.batch<CodeRow>([found, ...grant, db.prepare(TAKE).bind(...may, id)]);
    const row = results[0]?.results[0];
    return row && { code: toCode(row), isTaken: (results.at(-1)?.meta.changes ?? 0) > 0 };
  },
  /** Undoes `take`: the code is as before. Nobody has seen its tokens. */
  async giveBack(codeHash: string, id: string): Promise<void> {
    await db.batch([UNGRANT, GIVE_BACK].map((sql) => db.prepare(sql).bind(codeHash, id)));
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
  /** The same in a transaction of its own. */
  async remove(codeHash: string): Promise<void> {
    await db.prepare(REMOVE).bind(codeHash).run();
  },
  /** Deletes at most `limit` codes whose tokens have expired, in the slice of this run. */
  async deleteExpired(nowMs: number, limit: number): Promise<Expired> {
    const { from, to } = sliceAt(nowMs, RUNS_OF_AN_HOUR);
    const deletion = db.prepare(DELETE_EXPIRED).bind(nowMs - REPLAY_KNOWN_MS, limit, from, to);
    return toExpired((await deletion.all<{ email: string }>()).results);
  },
});

function toCode({ challengeValue, challengeMethod, redemption, ...code }: CodeRow): Omit<StoredCode, "user"> {
  return {
    ...code,
    redirectUri: code.redirectUri ?? undefined,
    challenge: challengeValue === null ? undefined : { value: challengeValue, method: challengeMethod },
    nonce: code.nonce ?? undefined,
    authorization: JSON.parse(code.authorization) as Authorization,
    redemption: redemption ?? undefined,
  };
}
