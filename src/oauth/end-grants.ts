import type { AnyCall, OAuthContext } from "./context.ts";
import type { Ended } from "./store/trust-store.ts";
import { allExpiredSec } from "./tokens/access-token.ts";

export interface EndReason {
  readonly actor: string;
  readonly action: string;
  readonly reason: string;
}

/** What ends a grant's access tokens: every one that was issued, and those that are being issued now. */
export const endOfGrant = (id: string, nowMs: number): Ended => ({
  kind: "grant",
  key: id,
  expiresSec: allExpiredSec(nowMs),
});

/** Ends grants with their access and refresh tokens, and says so in the audit log: one transaction. May be repeated. */
export async function endGrants(
  ids: readonly string[],
  why: EndReason,
  { nowMs, requestId }: Pick<AnyCall, "nowMs" | "requestId">,
  { trust, refreshGrants, audit, log }: Pick<OAuthContext, "trust" | "refreshGrants" | "audit" | "log">,
): Promise<void> {
  const rows = ids.map((id) =>
    audit.statement("always", { ...why, atMs: nowMs, requestId, subject: `grants/${id}`, outcome: "done" }),
  );
  await trust.end(
    ids.map((id) => endOfGrant(id, nowMs)),
    [refreshGrants.removeStatement(ids), ...rows],
  );
  for (const grantId of ids) log.info("grant ended", { requestId, grantId, ...why });
}
