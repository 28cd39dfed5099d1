import type { AuditRecord, AuditTrail } from "../../platform/audit.ts";
import type { Log } from "../../platform/log.ts";
import type { AnyCall } from "../model/call.ts";
import { allExpiredSec } from "../tokens/access-token.ts";
import type { NewRevocation } from "../tokens/trust-store.ts";
import type { Trust } from "../tokens/trust.ts";
import type { GrantListStore } from "./grant-list-store.ts";
import type { RefreshStore } from "./refresh-store.ts";

export interface RevokeGrantsDeps {
  readonly trust: Trust;
  readonly refreshGrants: RefreshStore;
  readonly audit: AuditTrail;
  readonly log: Log;
}

export interface RevokeAccessDeps extends RevokeGrantsDeps {
  readonly grantLists: GrantListStore;
}

/** What the audit log says of it. */
export type RevocationReason = Pick<AuditRecord, "actor" | "action" | "subject" | "reason">;

/** Grants that are ended in one transaction, and such steps of one request. */
const OF_USER = { grants: 500, steps: 20 } as const;

/** What ends a grant's access tokens: every one that was issued, and those that are being issued now. */
export const grantRevocation = (id: string, nowMs: number): NewRevocation => ({
  kind: "grant",
  key: id,
  expiresSec: allExpiredSec(nowMs),
});

/**
 * Ends grants with their access and refresh tokens, and says so in the audit log: one transaction, with the statements
 * `beside`. May be repeated.
 */
export async function revokeGrants(
  { trust, refreshGrants, audit, log }: RevokeGrantsDeps,
  ids: readonly string[],
  why: RevocationReason,
  { nowMs, requestId }: Pick<AnyCall, "nowMs" | "requestId">,
  beside: readonly D1PreparedStatement[] = [],
): Promise<void> {
  await trust.revoke(
    ids.map((id) => grantRevocation(id, nowMs)),
    [
      refreshGrants.removeStatement(ids),
      ...beside,
      audit.statement("always", { ...why, atMs: nowMs, requestId, outcome: "done" }),
    ],
  );
  log.info("grants ended", { requestId, ...why });
}

/**
 * Ends all that a client got of a user: its grants, and with the last of them also codes, access tokens and ID token
 * hints that are of no such grant. `by`: how the user asked for it. `consent`: takes back what the user allowed the
 * client, with the last of them too. The audit log says so where something was there. False: there are more grants than
 * one request ends.
 */
export async function revokeAccess(
  deps: RevokeAccessDeps,
  { email, clientId, by }: { readonly email: string; readonly clientId: string; readonly by: string },
  call: Pick<AnyCall, "nowMs" | "requestId">,
  consent?: D1PreparedStatement,
): Promise<boolean> {
  const { grantLists, trust, audit } = deps;
  const { nowMs, requestId } = call;
  for (let step = 0; step < OF_USER.steps; step++) {
    const ids = await grantLists.grantIds(email, clientId, OF_USER.grants);
    const isLast = ids.length < OF_USER.grants;
    const rest = isLast ? grantLists.revokeRestStatements(email, clientId, allExpiredSec(nowMs)) : [];
    const taken = consent !== undefined && isLast ? [consent] : [];
    const why = deletedByUser(email, `users/${email}/grants`, `${ids.length} ${by}`);
    const ifTaken = taken.map(() => audit.statement("if changed", { ...why, atMs: nowMs, requestId, outcome: "done" }));
    try {
      if (ids.length > 0) await revokeGrants(deps, ids, why, call, [...taken, ...rest]);
      else await trust.revoke([], [...taken, ...ifTaken, ...rest]);
    } finally {
      // Whatever became of the answer: the rest may have been written, which this isolate's copy does not know.
      if (isLast) trust.markStale();
    }
    if (isLast) return true;
  }
  return false;
}

/** What the audit log says of grants that their user ended. */
export const deletedByUser = (email: string, subject: string, reason: string): RevocationReason => ({
  actor: `user ${email}`,
  action: "delete refresh tokens",
  subject,
  reason,
});
