import type { AuditRecord, AuditTrail } from "../../../platform/ports/audit.ts";
import { allExpiredSec } from "../../tokens/access-token.ts";
import { grantFamilySql } from "../../tokens/revoked-tokens-store.ts";
import { NEXT_REVOCATION } from "../../tokens/revocation-collapse-store.ts";
import { endedSessionsKey, type OwnerKind, type TrustStore } from "../../tokens/trust-store.ts";
import { COLUMN, grantsOf, MAX_ROWS, sessionsUntil, signedInUntil } from "../../homes/owner-store.ts";
import { grantRevocation, type RevokedGrant } from "../../homes/grant-revocation.ts";
import { SESSIONS_OF_SID, signedOutAt } from "../../users/user-store.ts";

/** One transaction of a cleanup. */
export interface CleanupStep {
  readonly statements: readonly D1PreparedStatement[];
  /** If a statement changed this many rows, there may be more. */
  readonly mostRows: number;
  /** Returns a row if there are more grants than one transaction removes. */
  readonly exceeds: D1PreparedStatement;
}

/** A revocation of everything that an owner got until now. */
export interface Revoking {
  readonly kind: OwnerKind;
  readonly key: string;
  readonly nowMs: number;
  /** The audit row, which the first transaction writes. */
  readonly record: AuditRecord | undefined;
  /** The person of a session, if known. The person's limit counts the revocation. */
  readonly person?: string | undefined;
  /** The organization whose administrator revokes. Its limit counts the revocation. */
  readonly organization?: string | undefined;
}

/** Transactions of one request. */
const MAX_STEPS = 20;

const SIGNED_OUT_AT = `(SELECT signed_out_at FROM user WHERE email = ?1)`;
/** Selects only sign-ins until the person was signed out, if the owner is a person. */
const untilSignedOut = (kind: OwnerKind): string => (kind === "user" ? ` AND ${signedInUntil(SIGNED_OUT_AT)}` : "");
/** Ordered by the key, so that two statements of a transaction select the same rows. */
const someGrants = (kind: OwnerKind, columns: string): string =>
  `SELECT ${columns} FROM ${grantsOf(kind)}${untilSignedOut(kind)} ORDER BY id LIMIT ${MAX_ROWS[kind]}`;
/** Reads all codes of the last hours; if the user (`?2`) is known, only that user's. */
const someCodes = (kind: OwnerKind, columns: string, isUserKnown: boolean): string => `
  SELECT ${columns} FROM authorization_code WHERE ${isUserKnown ? "email = ?2 AND " : ""}${COLUMN[kind]} = ?1${untilSignedOut(kind)}
  ORDER BY code_hash LIMIT ${MAX_ROWS[kind]}`;
const hasMore = (kind: OwnerKind): string => `SELECT 1 FROM ${grantsOf(kind)} LIMIT 1 OFFSET ${MAX_ROWS[kind]}`;
const removeGrants = (kind: OwnerKind): string => `DELETE FROM refresh_grant WHERE id IN (${someGrants(kind, "id")})`;
const removeCodes = (kind: OwnerKind, isUserKnown: boolean): string =>
  `DELETE FROM authorization_code WHERE code_hash IN (${someCodes(kind, "code_hash", isUserKnown)})`;
const REMOVE_SESSIONS = {
  user: `DELETE FROM session WHERE email = ?1 AND ${sessionsUntil(SIGNED_OUT_AT)}`,
  session: `DELETE FROM session WHERE id_hash IN (${SESSIONS_OF_SID})`,
} as const;
/** Consents go too: an intruder may have given them in the user's name. */
const CONSENTS_OF = { client: "client = ?1", user: `email = ?1 AND given_at <= ${SIGNED_OUT_AT}` } as const;
const removeConsents = (kind: "client" | "user"): string => `
  DELETE FROM consent WHERE (email, client, org) IN (
    SELECT email, client, org FROM consent WHERE ${CONSENTS_OF[kind]} LIMIT ${MAX_ROWS[kind]})`;
const revokeGrants = (isUserKnown: boolean): string => `
  INSERT OR REPLACE INTO revocation (seq, kind, key, until_ms, expires_sec, client, issued_to)
  SELECT ${NEXT_REVOCATION}, 'grant', id, ${Number.MAX_SAFE_INTEGER}, ?3, ${grantFamilySql("client", "email")}, client FROM (
    SELECT id, client, email FROM (${someGrants("session", "id, client, email")})
    UNION SELECT grant_id, client, email FROM (${someCodes("session", "grant_id, client, email", isUserKnown)}))`;
/** Our choice: the account page shows 50. Each isolate holds these rows for an hour. */
export const MOST_ENDED_SESSIONS = 1_000;
const HAS_ENDED_MANY = `
  SELECT 1 FROM revocation WHERE client = ?1 AND expires_sec > unixepoch() LIMIT 1 OFFSET ${MOST_ENDED_SESSIONS - 1}`;
const SIGN_OUT = `UPDATE user SET signed_out_at = ${signedOutAt("?2")} WHERE email = ?1`;

export type RevokeAllStore = ReturnType<typeof createRevokeAllStore>;

/**
 * Revokes everything that a client, user, tenant or session got until now. Registrations stay.
 *
 *   access tokens            revoked everywhere within 5 s, even those issued later from older records
 *   refresh grants, codes    removed
 *   consents                 removed, for a client or a user
 *   browser sessions         removed, for a user or a session; the grants of a session are revoked too
 *
 * Nothing else can use the database during a transaction, so each removes a limited number of rows. Thousands of grants
 * take several: the first writes the audit row, and each revokes again the tokens that grants still there got
 * meanwhile. A user is signed out by the first, which makes the user's grants invalid. The others leave what the user
 * begins after that.
 */
export function createRevokeAllStore(
  db: D1Database,
  trust: Pick<TrustStore, "revokeStatement" | "revokeSessionStatement" | "addStatement" | "endedGuard">,
  audit: AuditTrail,
) {
  const signOutStatement = (email: string, nowMs: number): D1PreparedStatement =>
    db.prepare(SIGN_OUT).bind(email, nowMs);

  const cleanupStep = (kind: OwnerKind, key: string, nowMs: number, email?: string): CleanupStep => ({
    mostRows: MAX_ROWS[kind],
    exceeds: db.prepare(hasMore(kind)).bind(key),
    statements: [
      ...(kind === "session"
        ? [db.prepare(revokeGrants(email !== undefined)).bind(key, email ?? null, allExpiredSec(nowMs))]
        : []),
      ...(kind === "session" || kind === "user" ? [db.prepare(REMOVE_SESSIONS[kind]).bind(key)] : []),
      ...(kind === "client" || kind === "user" ? [db.prepare(removeConsents(kind)).bind(key)] : []),
      db.prepare(removeGrants(kind)).bind(key),
      db.prepare(removeCodes(kind, email !== undefined)).bind(...(email === undefined ? [key] : [key, email])),
    ],
  });

  async function cleanUp(
    kind: OwnerKind,
    key: string,
    nowMs: number,
    beside: (step: number) => readonly D1PreparedStatement[],
    email?: string,
  ): Promise<"ended" | "more"> {
    for (let step = 0; step < MAX_STEPS; step++) {
      const { statements, mostRows } = cleanupStep(kind, key, nowMs, email);
      const results = await db.batch([...beside(step), ...statements]);
      if (results.every(({ meta }) => meta.changes < mostRows)) return "ended";
    }
    return "more";
  }

  return {
    /** Invalidates every sign-in of the user until now: sessions, ID token hints, codes and refresh tokens. */
    signOutStatement,
    /** The statements that remove rows, for the caller's transaction. */
    cleanupStep,
    /**
     * `more`: access tokens are revoked, but grants remain. They are invalid if a user was signed out; else they give
     * new tokens until a repeated call removes them. `grants`: of a session, elsewhere; they are revoked here.
     */
    revokeAll: (
      { kind, key, nowMs, record, person, organization }: Revoking,
      grants: readonly RevokedGrant[] = [],
    ): Promise<"ended" | "more"> => {
      const revoked = grants.map((grant) => grantRevocation(grant, nowMs));
      const expiresSec = allExpiredSec(nowMs);
      const revoke =
        kind === "session"
          ? trust.revokeSessionStatement(key, person, expiresSec)
          : trust.revokeStatement(kind, key, expiresSec, "always", organization);
      const beside = (step: number): readonly D1PreparedStatement[] => [
        ...(step === 0 && kind === "user" ? [signOutStatement(key, nowMs)] : []),
        ...(step === 0 || kind !== "user" ? [revoke] : []),
        ...(step === 0 && organization !== undefined ? [trust.endedGuard(organization)] : []),
        ...(step === 0 && record !== undefined ? [audit.statement("always", record)] : []),
        ...(step === 0 && revoked.length > 0 ? [trust.addStatement(revoked)] : []),
      ];
      return cleanUp(kind, key, nowMs, beside, person);
    },
    /** True if the person has ended as many sessions within the last hour as isolates should hold of one person. */
    hasEndedMany: async (email: string): Promise<boolean> =>
      (await db.prepare(HAS_ENDED_MANY).bind(endedSessionsKey(email)).first()) !== null,
    /** Removes the rows of a user who was signed out. They are invalid already, so rows that remain do no harm. */
    async deleteSignedOut(email: string): Promise<void> {
      await cleanUp("user", email, 0, () => []);
    },
  };
}
