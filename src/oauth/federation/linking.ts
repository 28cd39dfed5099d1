import type { AuditRecord, AuditTrail } from "../../platform/ports/audit.ts";
import { ok, type Result } from "../../platform/model/result.ts";
import type { AnyCall } from "../model/call.ts";
import { denied, type FederationFailure } from "../model/provider-failure.ts";
import type { Tell } from "../sign-in/tell.ts";
import type { ProviderRecord } from "./federation-store.ts";
import type { Federation } from "./federation.ts";
import type { Account, LinkedBy } from "./identity-store.ts";

export interface LinkingDeps {
  readonly federation: Federation;
  readonly audit: AuditTrail;
  readonly tell: Tell;
}

/**
 * An account at a provider that signs in here for the first time. Issuer and `sub` identify it (OIDC Core 5.7). Its
 * verified e-mail address names a user, but somebody has to confirm that the account is theirs:
 *
 *   address of no user, or of one that is linked to another account there ──▶ denied
 *   `linking` is `confirm`, user has a password ──▶ the user confirms once by password (endpoints/link-identity.ts)
 *   `linking` is `verified_email`, provider bound to domains ──▶ linked
 *   else ──▶ denied: an operator links them
 *
 * The person is told by mail of each new link.
 */
export interface Unlinked extends Account {
  /** Normalized, and verified by the provider. */
  readonly email: string;
  readonly vouchedAtMs: number;
}

/** Links the account, or tells that the user has to confirm it. */
export async function linkAtFirstUse(
  deps: LinkingDeps,
  unlinked: Unlinked,
  provider: ProviderRecord,
  call: AnyCall,
): Promise<Result<"linked" | "to confirm", FederationFailure>> {
  const { email } = unlinked;
  const user = await deps.federation.identities.candidate(email, provider.id);
  if (user === undefined) return denied(`user ${email} is unknown or disabled`);
  if (user.isLinked) return denied(`${email} is linked to another account there`);
  if (provider.linking === "verified_email" && provider.domains.length > 0) {
    const linked = await link(deps, unlinked, "verified_email", call);
    return linked.ok ? ok("linked") : linked;
  }
  if (provider.linking === "confirm" && user.hasPassword) return ok("to confirm");
  return denied(`an operator has to link ${email} to the account there`);
}

/** Links the account unless anything changed meanwhile. If two requests link the same at once, both succeed. */
export async function link(
  deps: LinkingDeps,
  unlinked: Unlinked,
  by: LinkedBy,
  call: AnyCall,
): Promise<Result<true, FederationFailure>> {
  const { identities } = deps.federation;
  const { email, provider } = unlinked;
  const record: AuditRecord = {
    atMs: call.nowMs,
    requestId: call.requestId,
    actor: `user ${email}`,
    action: "link identity",
    subject: `users/${email}/identities/${provider}`,
    outcome: "done",
    reason: `by ${by}`,
  };
  const changed = await identities.link({ ...unlinked, by, nowMs: call.nowMs }, [
    deps.audit.statement("if changed", record),
  ]);
  if (changed) deps.tell(call, "linked", email);
  return (await identities.findUser(unlinked)) === email
    ? ok(true)
    : denied(`${email} or the account there has just changed`);
}
