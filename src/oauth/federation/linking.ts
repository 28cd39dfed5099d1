import type { AuditRecord, AuditTrail } from "../../platform/audit.ts";
import { ok, type Result } from "../../platform/result.ts";
import { mayVouchFor } from "../model/binding.ts";
import type { AnyCall } from "../model/call.ts";
import { denied, type FederationFailure } from "../model/provider-failure.ts";
import type { ProviderRecord } from "./federation-store.ts";
import type { Federation } from "./federation.ts";
import type { Account, LinkedBy } from "./identity-store.ts";

export interface LinkingDeps {
  readonly federation: Federation;
  readonly audit: AuditTrail;
}

/**
 * Whose account at a provider it is that signs in here for the first time (OIDC Core 5.7: by `iss` and `sub`, and by nothing
 * that changes hands). Its e-mail says who it could be; that it is, somebody has to say:
 *
 *   another domain than the provider is bound to, no such user, a user who has another account there ──▶ denied
 *   the user has a password, `linking` is `confirm` ──▶ the user says it, by the password, once (endpoints/link-identity.ts)
 *   `linking` is `verified_email`, of a provider that is bound to domains ──▶ linked
 *   else ──▶ denied: an operator links them
 */
export interface Unlinked extends Account {
  /** Normalised, and verified by the provider. */
  readonly email: string;
  readonly vouchedAtMs: number;
}

/** Whether the user has to confirm it; the others are linked. */
export async function linkAtFirstUse(
  deps: LinkingDeps,
  unlinked: Unlinked,
  provider: ProviderRecord,
  call: AnyCall,
): Promise<Result<"linked" | "to confirm", FederationFailure>> {
  const { email } = unlinked;
  if (!mayVouchFor(provider, email)) return denied(`it is not bound to the domain of ${email}`);
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

/** Links them, unless anything of it changed meanwhile. Two who come at once with the same are both right. */
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
  await identities.link({ ...unlinked, by, nowMs: call.nowMs }, [deps.audit.statement("if changed", record)]);
  return (await identities.findUser(unlinked)) === email
    ? ok(true)
    : denied(`${email}, or the account there, changed meanwhile`);
}
