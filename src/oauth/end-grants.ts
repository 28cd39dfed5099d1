import type { AuditRecord } from "../platform/audit.ts";
import type { AnyCall, OAuthContext } from "./context.ts";
import type { Ended } from "./store/trust-store.ts";
import { allExpiredSec } from "./tokens/access-token.ts";

/** What the audit log says of it. */
export type EndReason = Pick<AuditRecord, "actor" | "action" | "subject" | "reason">;

/** Grants that are ended in one transaction, and such steps of one request. */
const OF_USER = { grants: 500, steps: 20 } as const;

/** What ends a grant's access tokens: every one that was issued, and those that are being issued now. */
export const endOfGrant = (id: string, nowMs: number): Ended => ({
  kind: "grant",
  key: id,
  expiresSec: allExpiredSec(nowMs),
});

/**
 * Ends grants with their access and refresh tokens, and says so in the audit log: one transaction, with the statements
 * `beside`. May be repeated.
 */
export async function endGrants(
  ids: readonly string[],
  why: EndReason,
  { nowMs, requestId }: Pick<AnyCall, "nowMs" | "requestId">,
  { trust, refreshGrants, audit, log }: Pick<OAuthContext, "trust" | "refreshGrants" | "audit" | "log">,
  beside: readonly D1PreparedStatement[] = [],
): Promise<void> {
  await trust.end(
    ids.map((id) => endOfGrant(id, nowMs)),
    [
      refreshGrants.removeStatement(ids),
      ...beside,
      audit.statement("always", { ...why, atMs: nowMs, requestId, outcome: "done" }),
    ],
  );
  log.info("grants ended", { requestId, ...why });
}

/**
 * Ends all grants of a user, or those of one client alone. `by`: how the user asked for it. False: there are more than one
 * request ends.
 */
export async function endGrantsOfUser(
  { email, clientId, by }: { readonly email: string; readonly clientId: string | undefined; readonly by: string },
  call: Pick<AnyCall, "nowMs" | "requestId">,
  context: Pick<OAuthContext, "trust" | "refreshGrants" | "grantLists" | "audit" | "log">,
): Promise<boolean> {
  for (let step = 0; step < OF_USER.steps; step++) {
    const ids = await context.grantLists.idsOf(email, clientId, OF_USER.grants);
    if (ids.length > 0)
      await endGrants(ids, byUser(email, `users/${email}/grants`, `${ids.length} ${by}`), call, context);
    if (ids.length < OF_USER.grants) return true;
  }
  return false;
}

/** What the audit log says of grants that their user ended. */
export const byUser = (email: string, subject: string, reason: string): EndReason => ({
  actor: `user ${email}`,
  action: "delete refresh tokens",
  subject,
  reason,
});
