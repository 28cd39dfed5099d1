import type { AuditRecord } from "../platform/audit.ts";
import type { AnyCall, OAuthContext } from "./context.ts";
import type { Ended } from "./store/trust-store.ts";
import { allExpiredSec } from "./tokens/access-token.ts";

/** What the audit log says of it. */
export type EndReason = Pick<AuditRecord, "actor" | "action" | "subject" | "reason">;

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
