import type { AuditRecord, AuditTrail } from "../../platform/audit.ts";
import { allExpiredSec } from "../tokens/access-token.ts";
import type { OwnerKind, TrustStore } from "../tokens/trust-store.ts";
import { signedOutAt } from "../users/user-store.ts";

/**
 * What a client, user, tenant or session got until now, ended; what is registered stays as it is.
 *
 *   access tokens    void everywhere within 5 s; what other isolates issue by older copies of the records is void too
 *   refresh grants   removed, with codes that were not redeemed
 *   browsers         those of the user, or of the session, are signed out
 *
 * Thousands of grants take several transactions, since the database does nothing else during one: the first has the
 * audit row, and each voids again what was issued until then, perhaps by a grant that it removes.
 */
export interface RevokeAllStore {
  /** `more`: all of it is void, and there are more grants than one request removes; a repetition goes on. */
  revokeAll(kind: OwnerKind, id: string, nowMs: number, record: AuditRecord | undefined): Promise<"ended" | "more">;
  /** Removes what a sign-out of the user left behind; what is more than one request removes counts no more anyway. */
  deleteSignedOut(email: string, nowMs: number): Promise<void>;
  /** Ends every sign-in of the user until now: sessions, ID token hints, codes and refresh tokens count no more. */
  signOutStatement(email: string, nowMs: number): D1PreparedStatement;
}

/** Transactions of one request. */
const MOST_STEPS = 20;

const SIGN_OUT = `UPDATE user SET signed_out_at = ${signedOutAt("?2")} WHERE email = ?1`;

export function createRevokeAllStore(
  db: D1Database,
  trust: Pick<TrustStore, "revokeStatement">,
  forget: GrantCleanup,
  audit: AuditTrail,
): RevokeAllStore {
  const signOutStatement = (email: string, nowMs: number) => db.prepare(SIGN_OUT).bind(email, nowMs);

  async function inSteps(
    kind: OwnerKind,
    id: string,
    nowMs: number,
    beside: (step: number) => readonly D1PreparedStatement[],
  ): Promise<"ended" | "more"> {
    for (let step = 0; step < MOST_STEPS; step++) {
      const { statements, mostRows } = forget(kind, id, nowMs);
      const results = await db.batch([...beside(step), ...statements]);
      if (results.every(({ meta }) => meta.changes < mostRows)) return "ended";
    }
    return "more";
  }

  return {
    signOutStatement,
    revokeAll: (kind, id, nowMs, record) =>
      inSteps(kind, id, nowMs, (step) => [
        ...(kind === "user" ? [signOutStatement(id, nowMs)] : []),
        trust.revokeStatement(kind, id, allExpiredSec(nowMs), "always"),
        ...(step === 0 && record !== undefined ? [audit.statement("always", record)] : []),
      ]),
    async deleteSignedOut(email, nowMs) {
      await inSteps("user", email, nowMs, () => []);
    },
  };
}

/**
 * What an operator's revocation removes, and with it a user's sign-out or a removal: everything by which tokens could be had without anybody being asked again. The
 * access tokens themselves end by a row of `revocation` (tokens/trust-store.ts), in the same transaction.
 *
 *   tenant           refresh grants and codes
 *   client           the same, and what people allowed it
 *   user             the same, and the browsers' sessions
 *   session          the same, and its grants for good, with what is being issued by them in this moment
 *
 * A transaction removes so many rows and no more, since the database does nothing else meanwhile.
 */
export interface CleanupStep {
  readonly statements: readonly D1PreparedStatement[];
  /** A statement that changed as many rows may have left others. */
  readonly mostRows: number;
  /** Finds a row where there are more grants than that. */
  readonly exceeds: D1PreparedStatement;
}
export type GrantCleanup = (kind: OwnerKind, key: string, nowMs: number) => CleanupStep;

/** Some 0.2 s of a transaction. A session's are known to every isolate for an hour, grant by grant. */
const MOST_ROWS = { client: 5_000, tenant: 5_000, user: 5_000, session: 500 } as const satisfies Record<
  OwnerKind,
  number
>;

const COLUMN = {
  client: "client",
  user: "email",
  tenant: "authorization ->> 'tenant'",
  session: "authorization ->> 'sessionId'",
} as const satisfies Record<OwnerKind, string>;

/** The same rows for two statements of a transaction; the order is the index's own. */
const some = (table: "refresh_grant" | "authorization_code", kind: OwnerKind, column: string): string => {
  const id = table === "refresh_grant" ? "id" : "code_hash";
  return `SELECT ${column} FROM ${table} WHERE ${COLUMN[kind]} = ?1 ORDER BY ${id} LIMIT ${MOST_ROWS[kind]}`;
};
const hasMore = (kind: OwnerKind): string =>
  `SELECT 1 FROM refresh_grant WHERE ${COLUMN[kind]} = ?1 LIMIT 1 OFFSET ${MOST_ROWS[kind]}`;
const removeGrants = (kind: OwnerKind): string =>
  `DELETE FROM refresh_grant WHERE id IN (${some("refresh_grant", kind, "id")})`;
const removeCodes = (kind: OwnerKind): string =>
  `DELETE FROM authorization_code WHERE code_hash IN (${some("authorization_code", kind, "code_hash")})`;
const REMOVE_SESSIONS = {
  user: `DELETE FROM session WHERE email = ?1`,
  session: `DELETE FROM session WHERE sid = ?1`,
} as const;
/** What was allowed goes with all that came of it: whoever may have been in somebody's place may have allowed it. */
const removeConsents = (kind: "client" | "user"): string => `
  DELETE FROM consent WHERE (email, client, org) IN (
    SELECT email, client, org FROM consent WHERE ${kind === "user" ? "email" : "client"} = ?1 LIMIT ${MOST_ROWS[kind]})`;
const END_GRANTS = `
  INSERT OR REPLACE INTO revocation (kind, key, until_ms, expires_sec)
  SELECT 'grant', id, ${Number.MAX_SAFE_INTEGER}, ?2 FROM (
    SELECT id FROM (${some("refresh_grant", "session", "id")})
    UNION SELECT grant_id FROM (${some("authorization_code", "session", "grant_id")}))`;

export const createGrantCleanup =
  (db: D1Database): GrantCleanup =>
  (kind, key, nowMs) => ({
    mostRows: MOST_ROWS[kind],
    exceeds: db.prepare(hasMore(kind)).bind(key),
    statements: [
      ...(kind === "session" ? [db.prepare(END_GRANTS).bind(key, allExpiredSec(nowMs))] : []),
      ...(kind === "session" || kind === "user" ? [db.prepare(REMOVE_SESSIONS[kind]).bind(key)] : []),
      ...(kind === "client" || kind === "user" ? [db.prepare(removeConsents(kind)).bind(key)] : []),
      db.prepare(removeGrants(kind)).bind(key),
      db.prepare(removeCodes(kind)).bind(key),
    ],
  });
