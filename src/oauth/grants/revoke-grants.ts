import type { AuditRecord, AuditTrail } from "../../platform/ports/audit.ts";
import type { Log } from "../../platform/runtime/log.ts";
import { grantRevocation, type RevokedGrant } from "../homes/grant-revocation.ts";
import type { AnyCall } from "../model/call.ts";
import { allExpiredSec } from "../tokens/access-token.ts";
import type { RevokedTokensStore } from "../tokens/revoked-tokens-store.ts";
import type { Trust } from "../tokens/trust.ts";
import type { GrantLists } from "./grant-lists.ts";
import type { RefreshGrants } from "./refresh-grants.ts";

export interface RevokeGrantsDeps {
  readonly trust: Trust;
  readonly revokedTokens: RevokedTokensStore;
  readonly refreshGrants: RefreshGrants;
  readonly audit: AuditTrail;
  readonly log: Log;
}

export interface RevokeAccessDeps extends RevokeGrantsDeps {
  readonly grantLists: GrantLists;
}

/** The reason, for the audit log. */
export type RevocationReason = Pick<AuditRecord, "actor" | "action" | "subject" | "reason">;

/** Grants revoked in one transaction, and such transactions per request. */
const MAX = { grants: 500, steps: 20 } as const;

/**
 * Revokes grants with their access and refresh tokens, with an audit row and the statements `beside` in one transaction
 * of the directory. Grants that lie elsewhere are made void before it, and removed after it. Can be repeated.
 */
export async function revokeGrants(
  { trust, revokedTokens, refreshGrants, audit, log }: RevokeGrantsDeps,
  grants: readonly RevokedGrant[],
  why: RevocationReason,
  { nowMs, requestId }: Pick<AnyCall, "nowMs" | "requestId">,
  beside: readonly D1PreparedStatement[] = [],
): Promise<void> {
  await refreshGrants.voidElsewhere(grants);
  const ended = grants.map((grant) => grantRevocation(grant, nowMs));
  const about = { ...why, atMs: nowMs, requestId, outcome: "done" } as const;
  await trust.revoke(ended, [
    ...revokedTokens.collapseStatements(ended, allExpiredSec(nowMs), (reason) =>
      audit.statement("if changed", { ...about, reason }),
    ),
    refreshGrants.removeStatement(grants.map(({ id }) => id)),
    ...beside,
    audit.statement("always", about),
  ]);
  await refreshGrants.removeElsewhere(grants);
  log.info("grants ended", { requestId, ...why });
}

/**
 * Revokes everything that a client got from a user: its grants, and with the last of them also codes, access tokens and
 * ID token hints without a grant. `by`: how the user asked, for the audit log. `consent`: a statement that revokes the
 * consent, run with the last grants too. Returns false if there are more grants than one request revokes.
 */
export async function revokeAccess(
  deps: RevokeAccessDeps,
  { email, clientId, by }: { readonly email: string; readonly clientId: string; readonly by: string },
  call: Pick<AnyCall, "nowMs" | "requestId">,
  consent?: D1PreparedStatement,
): Promise<boolean> {
  const { grantLists, trust, audit } = deps;
  const { nowMs, requestId } = call;
  for (let step = 0; step < MAX.steps; step++) {
    const ids = await grantLists.grantIds(email, clientId, MAX.grants);
    const isLast = ids.length < MAX.grants;
    const rest = isLast ? grantLists.revokeRestStatements(email, clientId, allExpiredSec(nowMs)) : [];
    const taken = consent !== undefined && isLast ? [consent] : [];
    const why = deletedByUser(email, `users/${email}/grants`, `${ids.length} ${by}`);
    const ifTaken = taken.map(() => audit.statement("if changed", { ...why, atMs: nowMs, requestId, outcome: "done" }));
    try {
      const grants = ids.map((id) => ({ id, email, clientId }));
      if (ids.length > 0) await revokeGrants(deps, grants, why, call, [...taken, ...rest]);
      else await trust.revoke([], [...taken, ...ifTaken, ...rest]);
      // Codes may have been redeemed since the grants were read: their tokens are revoked when they give no more.
      if (isLast) while ((await grantLists.endAccessElsewhere(email, clientId)) > 0) await trust.revoke([], rest);
    } finally {
      // The last statements may have run even if their response was lost, and this isolate's copy does not show them.
      if (isLast) trust.markStale();
    }
    if (isLast) return true;
  }
  return false;
}

/** The audit record of grants that their user deleted. */
export const deletedByUser = (email: string, subject: string, reason: string): RevocationReason => ({
  actor: `user ${email}`,
  action: "delete refresh tokens",
  subject,
  reason,
});
