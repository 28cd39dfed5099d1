import { err, ok, type Result } from "../../platform/result.ts";
import { accountSignInFailed, enterAccount } from "../account/sign-in.ts";
import { promptsOf } from "../authorize/request.ts";
import { goOnSignedIn, signInFailed } from "../authorize/signed-in.ts";
import type { AnyCall, OAuthContext } from "../context.ts";
import { readParameters, type Parameters } from "../form.ts";
import { refusedPage } from "../page.ts";
import { readCookie } from "../sign-in/browser.ts";
import { askedFor } from "./begin.ts";
import { denied, faulty, quoted, SILENT_FAILURES, unreachable, type FederationFailure } from "./failure.ts";
import type { ProviderMetadata } from "./metadata.ts";
import { FOR_ACCOUNT, type PendingSignIn } from "./pending.ts";
import { vouch, type Vouched } from "./vouch.ts";

/** `GET /callback/{providerId}`: the browser comes back from a provider (OIDC Core 3.1.2.5 and 3.1.2.6, RFC 9207). */
export async function federationCallback(call: AnyCall, providerId: string, context: OAuthContext): Promise<Response> {
  const refuse = (reason: string): Response =>
    refusedPage(call, "callback", { kind: "over", detail: "", reason, clientId: "" }, context);
  const parameters = readParameters(call.url.searchParams, context.names);
  if (!parameters.ok) return refuse(parameters.error.reason);
  const state = parameters.value.get("state");
  if (state === undefined) return refuse("the state is missing");
  const pending = await context.federation.pending.take(state, readCookie(call, "browser", context.names), call.nowMs);
  if (!pending.ok) return refuse(pending.error);

  const { request, provider } = pending.value;
  const vouched = await readAnswer(parameters.value, providerId, pending.value, call, context);
  const forAccount = request === FOR_ACCOUNT;
  if (vouched.ok) {
    const who = { ...vouched.value, provider };
    return forAccount ? enterAccount(call, who, context) : goOnSignedIn(call, { who, request }, context);
  }
  const { error, reason } = vouched.error;
  const failure = { error, reason: `identity provider ${provider}: ${reason}` };
  if (forAccount) return accountSignInFailed(call, failure, context);
  return signInFailed(call, { request, failure }, context);
}

/** The user whom the answer vouches for. */
async function readAnswer(
  answer: Parameters,
  providerId: string,
  pending: PendingSignIn,
  call: AnyCall,
  context: OAuthContext,
): Promise<Result<Vouched, FederationFailure>> {
  // A provider that was asked about one user must not answer for another provider.
  if (providerId !== pending.provider) return denied(`the answer came to the address of ${quoted(providerId)}`);
  const provider = await context.federation.providers.find(providerId, call.nowMs);
  if (provider === undefined) return faulty("it was removed meanwhile");
  if (provider.issuer !== pending.issuer || provider.clientId !== pending.clientId)
    return denied("it was changed meanwhile");
  const metadata = await context.federation.metadata.of(provider.issuer, call.nowMs);
  if (!metadata.ok) return metadata;
  const silent = promptsOf(askedFor(pending.request, context)).includes("none");
  const code = readCode(answer, { issuer: provider.issuer, silent }, metadata.value);
  return code.ok ? vouch(code.value, pending, { provider, metadata: metadata.value }, call, context) : code;
}

function readCode(
  answer: Parameters,
  { issuer, silent }: { readonly issuer: string; readonly silent: boolean },
  { namesIssuer }: ProviderMetadata,
): Result<string, FederationFailure> {
  const named = answer.get("iss");
  if (named === undefined && namesIssuer) return denied("the answer does not name its issuer, as the provider's do");
  if (named !== undefined && named !== issuer) return denied(`the answer is of the issuer ${quoted(named)}`);
  const error = answer.get("error");
  if (error !== undefined) return refusal(error, answer.get("error_description") ?? "", silent);
  const code = answer.get("code");
  return code === undefined ? denied("the answer has neither a code nor an error") : ok(code);
}

/** These say that the provider could not, or that it does not like how the platform asked. */
const FAULTS: readonly string[] = [
  "server_error",
  "invalid_request",
  "unauthorized_client",
  "invalid_scope",
  "unsupported_response_type",
];

/** What the client hears of the provider's refusal. */
function refusal(error: string, description: string, silent: boolean): Result<never, FederationFailure> {
  const reason = `the provider answers ${quoted(error)}: ${quoted(description)}`;
  const unshown = SILENT_FAILURES.find((known) => known === error);
  if (unshown !== undefined && silent) return err({ error: unshown, reason });
  if (error === "temporarily_unavailable") return unreachable(reason);
  return FAULTS.includes(error) ? faulty(reason) : denied(reason);
}
