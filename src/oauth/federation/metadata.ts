import { Attempts } from "../../platform/copies/attempts.ts";
import { FreshCache } from "../../platform/copies/fresh-cache.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import { parseOutboundUrl } from "../../platform/outside/outbound-url.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { faulty, quoted, type FederationFailure } from "../model/provider-failure.ts";
import { FETCH_LIMITS, type FetchJson, type JsonObject } from "./fetch-json.ts";

/** The part of a provider's metadata (OpenID Connect Discovery 1.0) that is used here. */
export interface ProviderMetadata {
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly jwksUri: string;
  readonly userinfoEndpoint: string | undefined;
  /** The platform's authentication at the token endpoint. */
  readonly clientAuthentication: "client_secret_basic" | "client_secret_post";
  /** Its responses to the browser name the issuer (RFC 9207). */
  readonly namesIssuer: boolean;
}

/** Our choice: metadata rarely changes. Failures are not cached. */
const CACHE = { ttlMs: 600_000, maxEntries: 100 } as const;

export function createMetadataSource(allowLoopback: boolean, isolate: Isolate, fetchJson: FetchJson) {
  const cache = new FreshCache<string, Result<ProviderMetadata, FederationFailure>>(
    { ...CACHE, keeps: (kept) => kept.ok },
    isolate,
    // A failed call is a value, so one provider's failure is not another's.
    new Attempts(isolate, 2 * FETCH_LIMITS.timeoutMs),
  );
  return {
    find: (issuer: string, nowMs: number): Promise<Result<ProviderMetadata, FederationFailure>> =>
      cache.get(issuer, nowMs, () => loadMetadata(issuer, allowLoopback, fetchJson)),
  };
}

/** Asks the provider now. */
export async function loadMetadata(
  issuer: string,
  allowLoopback: boolean,
  fetchJson: FetchJson,
): Promise<Result<ProviderMetadata, FederationFailure>> {
  // Checked at registration and here again: the deployment may have become stricter.
  const address = parseOutboundUrl(issuer, allowLoopback);
  if (!address.ok) return faulty(`the issuer ${issuer} ${address.error}`);
  const answer = await fetchJson(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  if (!answer.ok) return answer;
  if (answer.value.status >= 300) return faulty(`discovery at ${issuer} answers ${answer.value.status}`);
  const metadata = readMetadata(answer.value.body, issuer, allowLoopback);
  return metadata.ok ? metadata : faulty(`discovery at ${issuer}: ${metadata.error}`);
}

/** Checks a discovery document. The issuer must equal the registered one exactly, which prevents mix-up attacks. */
export function readMetadata(
  document: JsonObject,
  issuer: string,
  allowLoopback: boolean,
): Result<ProviderMetadata, string> {
  if (document["issuer"] !== issuer) return err(`it is about the issuer ${quoted(document["issuer"])}`);
  const address = (name: string): Result<string, string> => {
    const value = document[name];
    if (typeof value !== "string") return err(`${name} is missing`);
    const read = parseOutboundUrl(value, allowLoopback);
    return read.ok ? ok(value) : err(`${name} ${read.error}`);
  };
  const authorization = address("authorization_endpoint");
  if (!authorization.ok) return authorization;
  const token = address("token_endpoint");
  if (!token.ok) return token;
  const jwks = address("jwks_uri");
  if (!jwks.ok) return jwks;
  const userinfo = document["userinfo_endpoint"] === undefined ? ok(undefined) : address("userinfo_endpoint");
  if (!userinfo.ok) return userinfo;
  // Absent means Basic (Discovery 3).
  const methods = document["token_endpoint_auth_methods_supported"] ?? ["client_secret_basic"];
  const method = (["client_secret_basic", "client_secret_post"] as const).find(
    (known) => Array.isArray(methods) && methods.includes(known),
  );
  if (method === undefined) return err("its token endpoint takes no client secret");
  return ok({
    authorizationEndpoint: authorization.value,
    tokenEndpoint: token.value,
    jwksUri: jwks.value,
    userinfoEndpoint: userinfo.value,
    clientAuthentication: method,
    namesIssuer: document["authorization_response_iss_parameter_supported"] === true,
  });
}
