import { toBase64Url } from "../../platform/text/encoding.ts";
import { sha256 } from "../../platform/secrets/hash.ts";
import type { Names } from "../../platform/model/names.ts";
import { randomSecret, type Random } from "../../platform/runtime/random.ts";
import { ok, type Result } from "../../platform/model/result.ts";
import type { Addresses, AnyCall } from "../model/call.ts";
import { readAuthorizationParameters, type AuthorizationParameters, promptValues } from "../model/parameters.ts";
import { faulty, quoted, type FederationFailure } from "../model/provider-failure.ts";
import type { Federation } from "./federation.ts";
import type { PendingSignIn } from "./pending.ts";

/** Dependencies of a sign-in at a provider. */
export interface FederationDeps extends Pick<Addresses, "pagesBase"> {
  readonly federation: Federation;
  readonly names: Names;
  readonly random: Random;
}

/** Parameters of the client's request that the provider should see. */
const PASSED_ON = ["login_hint", "ui_locales", "max_age"] as const;
/** `consent` concerns the client, which the provider does not know. */
const PROMPTS_PASSED_ON: readonly string[] = ["none", "login", "select_account"];

export const isProvider = async (
  deps: Pick<FederationDeps, "federation">,
  id: string,
  nowMs: number,
): Promise<boolean> => (await deps.federation.providers.find(id, nowMs)) !== undefined;

/** Each provider has its own address, so none can pass its response off as another's (RFC 9700 4.4.2.2). */
export const callbackAddress = (deps: FederationDeps, providerId: string, call: AnyCall): string =>
  `${deps.pagesBase(call)}/callback/${providerId}`;

/**
 * Returns the provider's address for the sign-in. `request`: the form-encoded authorization request to continue with.
 * `browserKey`: the browser's cookie, which the response must set at the latest. `expected`: the expected user, if any.
 */
export async function beginFederation(
  deps: FederationDeps,
  providerId: string,
  {
    request,
    browserKey,
    expected,
    linkFor,
  }: Pick<PendingSignIn, "request" | "linkFor"> & {
    readonly browserKey: string;
    readonly expected?: string | undefined;
  },
  call: AnyCall,
): Promise<Result<URL, FederationFailure>> {
  const { federation, random } = deps;
  const provider = await federation.providers.find(providerId, call.nowMs);
  if (provider === undefined) return faulty(`there is no identity provider ${quoted(providerId)}`);
  const metadata = await federation.metadata.find(provider.issuer, call.nowMs);
  if (!metadata.ok) return metadata;

  const [state, nonce, verifier] = [randomSecret(random), randomSecret(random), randomSecret(random)];
  const { issuer, clientId } = provider;
  const pending = { provider: providerId, issuer, clientId, nonce, verifier, request, begunAtMs: call.nowMs, linkFor };
  if (!(await federation.pending.add(state, browserKey, pending)))
    return faulty(`the identity provider ${providerId} has just been removed`);

  const clientRequest = readClientRequest(deps, request);
  const url = new URL(metadata.value.authorizationEndpoint);
  const parameters: Record<string, string | undefined> = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: callbackAddress(deps, providerId, call),
    scope: provider.scopes.join(" "),
    state,
    nonce,
    code_challenge: toBase64Url(await sha256(verifier)),
    code_challenge_method: "S256",
    ...Object.fromEntries(PASSED_ON.map((name) => [name, clientRequest.get(name)])),
    ...(expected === undefined ? {} : { login_hint: expected }),
    prompt: promptValues(clientRequest)
      .filter((prompt) => PROMPTS_PASSED_ON.includes(prompt))
      .join(" "),
  };
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined && value !== "") url.searchParams.set(name, value);
  return ok(url);
}

/** Reads the client's request, which a pending sign-in carries as text. */
export const readClientRequest = ({ names }: Pick<FederationDeps, "names">, request: string): AuthorizationParameters =>
  readAuthorizationParameters(new URLSearchParams(request), names);
