import { err, ok, type Result } from "../../platform/model/result.ts";
import { finishLink } from "../account/providers.ts";
import { refuseAccountSignIn, enterAccount } from "../account/sign-in.ts";
import { resumeSignIn, refuseSignIn } from "../authorize/resume.ts";
import { readClientRequest } from "../federation/begin.ts";
import type { ProviderRecord } from "../federation/federation-store.ts";
import { linkAtFirstUse } from "../federation/linking.ts";
import type { ProviderMetadata } from "../federation/metadata.ts";
import { FOR_ACCOUNT, type PendingSignIn } from "../federation/pending.ts";
import { vouch, type Vouched } from "../federation/vouch.ts";
import { mayVouchFor } from "../model/binding.ts";
import type { AnyCall } from "../model/call.ts";
import { readParameters, type Parameters, promptValues } from "../model/parameters.ts";
import {
  denied,
  faulty,
  outside,
  quoted,
  SILENT_FAILURES,
  unreachable,
  type FederationFailure,
} from "../model/provider-failure.ts";
import { refusedPage } from "../pages/page.ts";
import { readCookie } from "../sign-in/browser.ts";
import type { PageEndpointDeps } from "./deps.ts";
import { confirmPage } from "./link-identity.ts";

/** `GET /callback/{providerId}`: the browser returns from a provider (OIDC Core 3.1.2.5 and 3.1.2.6, RFC 9207). */
export async function federationCallback(deps: PageEndpointDeps, call: AnyCall, providerId: string): Promise<Response> {
  const refuse = (reason: string): Response =>
    refusedPage(deps, call, "callback", { kind: "over", detail: "", reason, clientId: "" });
  const parameters = readParameters(call.url.searchParams, deps.names);
  if (!parameters.ok) return refuse(parameters.error.reason);
  const state = parameters.value.get("state");
  if (state === undefined) return refuse("the state is missing");
  const pending = await deps.federation.pending.take(state, readCookie(call, "browser", deps.names), call.nowMs);
  if (!pending.ok) return refuse(pending.error);

  const { request, provider, linkFor } = pending.value;
  if (linkFor !== undefined) {
    const read = await readAnswer(deps, parameters.value, providerId, pending.value, call);
    if (!read.ok) {
      const failure = { ...read.error, reason: `identity provider ${provider}: ${read.error.reason}` };
      return finishLink(deps, call, linkFor, { failure });
    }
    const { vouched } = read.value;
    return finishLink(deps, call, linkFor, { account: vouched, linked: vouched.isLinked ? vouched.email : undefined });
  }
  const forAccount = request === FOR_ACCOUNT;
  const admitted = await admit(deps, parameters.value, providerId, pending.value, call);
  if (!admitted.ok) {
    const failure = { ...admitted.error, reason: `identity provider ${provider}: ${admitted.error.reason}` };
    if (forAccount) return refuseAccountSignIn(deps, call, failure);
    return refuseSignIn(deps, call, { request, failure });
  }
  const { vouched, mustConfirm } = admitted.value;
  const { email, provenAtMs } = vouched;
  if (mustConfirm) {
    const { issuer, subject } = vouched;
    const pendingLink = { provider, issuer, subject, email, vouchedAtMs: call.nowMs, provenAtMs, request };
    return confirmPage(deps, call, pendingLink, undefined);
  }
  const newSignIn = { email, provenAtMs, provider };
  return forAccount ? enterAccount(deps, call, newSignIn) : resumeSignIn(deps, call, { newSignIn, request });
}

interface Admitted {
  readonly vouched: Vouched;
  /** The account is not linked yet, and the user must confirm that it is theirs. */
  readonly mustConfirm: boolean;
}

/** Returns the user whom the provider vouches for. Fails unless the account is linked, or can be linked now. */
async function admit(
  deps: PageEndpointDeps,
  answer: Parameters,
  providerId: string,
  pending: PendingSignIn,
  call: AnyCall,
): Promise<Result<Admitted, FederationFailure>> {
  const read = await readAnswer(deps, answer, providerId, pending, call);
  if (!read.ok) return read;
  const { vouched, provider } = read.value;
  if (!mayVouchFor(provider, vouched.email)) return outside(vouched.email);
  if (vouched.isLinked) return ok({ vouched, mustConfirm: false });
  const linked = await linkAtFirstUse(deps, { ...vouched, vouchedAtMs: call.nowMs }, provider, call);
  if (!linked.ok) return linked;
  const mustConfirm = linked.value === "to confirm";
  if (mustConfirm && isSilent(deps, pending))
    return err({ error: "interaction_required", reason: "the account there is not linked yet" });
  return ok({ vouched, mustConfirm });
}

const isSilent = (deps: PageEndpointDeps, { request }: PendingSignIn): boolean =>
  promptValues(readClientRequest(deps, request)).includes("none");

/** Checks the response and returns the account that the provider vouches for. */
async function readAnswer(
  deps: PageEndpointDeps,
  answer: Parameters,
  providerId: string,
  pending: PendingSignIn,
  call: AnyCall,
): Promise<Result<{ readonly vouched: Vouched; readonly provider: ProviderRecord }, FederationFailure>> {
  // A provider must not answer in place of the one that the sign-in began at (mix-up, RFC 9700 4.4).
  if (providerId !== pending.provider) return denied(`the answer came to the address of ${quoted(providerId)}`);
  const provider = await deps.federation.providers.find(providerId, call.nowMs);
  if (provider === undefined) return faulty("it has just been removed");
  if (provider.issuer !== pending.issuer || provider.clientId !== pending.clientId)
    return denied("it has just been changed");
  const metadata = await deps.federation.metadata.find(provider.issuer, call.nowMs);
  if (!metadata.ok) return metadata;
  const silent = isSilent(deps, pending);
  const code = readCode(answer, { issuer: provider.issuer, silent }, metadata.value);
  if (!code.ok) return code;
  const vouched = await vouch(deps, code.value, pending, { provider, metadata: metadata.value }, call);
  return vouched.ok ? ok({ vouched: vouched.value, provider }) : vouched;
}

function readCode(
  answer: Parameters,
  { issuer, silent }: { readonly issuer: string; readonly silent: boolean },
  { namesIssuer }: ProviderMetadata,
): Result<string, FederationFailure> {
  const named = answer.get("iss");
  if (named === undefined && namesIssuer)
    return denied("the answer does not name its issuer, though the provider announced that");
  if (named !== undefined && named !== issuer) return denied(`the answer is of the issuer ${quoted(named)}`);
  const error = answer.get("error");
  if (error !== undefined) return refusal(error, answer.get("error_description") ?? "", silent);
  const code = answer.get("code");
  return code === undefined ? denied("the answer has neither a code nor an error") : ok(code);
}

/** Errors of a provider that failed, or that refuses the platform's own request. */
const FAULTS: readonly string[] = [
  "server_error",
  "invalid_request",
  "unauthorized_client",
  "invalid_scope",
  "unsupported_response_type",
];

/** Maps the provider's error to one for the client. */
function refusal(error: string, description: string, silent: boolean): Result<never, FederationFailure> {
  const reason = `the provider answers ${quoted(error)}: ${quoted(description)}`;
  const unshown = SILENT_FAILURES.find((known) => known === error);
  if (unshown !== undefined && silent) return err({ error: unshown, reason });
  if (error === "temporarily_unavailable") return unreachable(reason);
  return FAULTS.includes(error) ? faulty(reason) : denied(reason);
}
