import { ok, type Result } from "../../platform/model/result.ts";
import { quoted, type FederationFailure } from "../model/provider-failure.ts";
import type { ProviderRecord } from "./federation-store.ts";
import type { FetchJson } from "./fetch-json.ts";
import { loadKeys } from "./keys.ts";
import { loadMetadata, type ProviderMetadata } from "./metadata.ts";
import { tokenRequest, type ClientThere } from "./token-request.ts";

/**
 * A trial of a provider without a person: the requests of a sign-in, up to the code, which nobody has. Nobody is signed
 * in, and no cache is used.
 *
 *   secret: opens ──▶ discovery: names the issuer ──▶ keys: can be used ──▶ client: known there, with its secret
 *
 * The first failed check ends the trial. An invented code shows whether the provider knows the client: RFC 6749 5.2 has
 * one error for an invalid code, and another for a client that was not authenticated.
 */
export interface ProviderTrial {
  /** No check failed. */
  readonly works: boolean;
  readonly checks: readonly TrialCheck[];
}

interface TrialCheck {
  readonly check: "secret" | "discovery" | "keys" | "client";
  /** `unclear`: the answer shows neither. */
  readonly result: "passed" | "failed" | "unclear";
  readonly detail: string;
}

interface TrialDeps {
  readonly fetchJson: FetchJson;
  readonly allowLoopback: boolean;
  openSecret(provider: ProviderRecord): Promise<string | undefined>;
}

export async function tryProvider(
  deps: TrialDeps,
  provider: ProviderRecord,
  redirectUri: string,
): Promise<ProviderTrial> {
  const checks: TrialCheck[] = [];
  const failed = (check: TrialCheck["check"], detail: string): ProviderTrial => ({
    works: false,
    checks: [...checks, { check, result: "failed", detail }],
  });
  const { issuer, clientId } = provider;

  const secret = await deps.openSecret(provider);
  if (secret === undefined)
    return failed("secret", "The stored secret cannot be decrypted: SEAL_KEYS lacks the key that sealed it.");
  checks.push({ check: "secret", result: "passed", detail: "It can be decrypted." });

  const metadata = await loadMetadata(issuer, deps.allowLoopback, deps.fetchJson);
  if (!metadata.ok) return failed("discovery", metadata.error.reason);
  const { authorizationEndpoint, jwksUri } = metadata.value;
  checks.push({ check: "discovery", result: "passed", detail: `People sign in at ${authorizationEndpoint}` });

  const keys = await loadKeys(jwksUri, deps.fetchJson);
  if (!keys.ok) return failed("keys", keys.error.reason);
  const { length } = keys.value.keys;
  if (length === 0) return failed("keys", `There are none at ${jwksUri}`);
  checks.push({ check: "keys", result: "passed", detail: `${length} at ${jwksUri}` });

  const known = await knowsClient(deps.fetchJson, { clientId, secret }, metadata.value, redirectUri);
  if (!known.ok) return failed("client", known.error.reason);
  checks.push({ check: "client", ...known.value });
  return { works: known.value.result !== "failed", checks };
}

/** RFC 6749 4.1.3 wants 43 characters or more of a verifier (RFC 7636 4.1). */
const NEVER_GIVEN = "a-code-that-nobody-was-given-to-test-this-client";

async function knowsClient(
  fetchJson: FetchJson,
  client: ClientThere,
  metadata: ProviderMetadata,
  redirectUri: string,
): Promise<Result<Omit<TrialCheck, "check">, FederationFailure>> {
  const fields = {
    grant_type: "authorization_code",
    code: NEVER_GIVEN,
    redirect_uri: redirectUri,
    code_verifier: NEVER_GIVEN,
  };
  const answer = await fetchJson(metadata.tokenEndpoint, tokenRequest(fields, client, metadata));
  if (!answer.ok) return answer;
  const { status, body } = answer.value;
  const { error } = body;
  const said = `To a code that was never given, the token endpoint answers ${status} ${quoted(error)}`;
  if (error === "invalid_grant") return ok({ result: "passed", detail: `${said}, so it knows the client.` });
  const isUnknown = status === 401 || error === "invalid_client" || error === "unauthorized_client";
  return isUnknown
    ? ok({ result: "failed", detail: `${said}: client id or secret are not those that it knows.` })
    : ok({ result: "unclear", detail: `${said}. Sign in by it to be sure.` });
}
