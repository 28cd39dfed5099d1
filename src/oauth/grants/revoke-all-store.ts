import type { AuditRecord, AuditTrail } from "../../platform/audit.ts";
import { allExpiredSec } from "../tokens/access-token.ts";
import type { OwnerKind, TrustStore } from "../tokens/trust-store.ts";
import { signedOutAt } from "../users/user-store.ts";
import type { GrantCleanup } from "./grant-cleanup-store.ts";

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
