import type { Actor, Principal } from "../../http/callers/auth.ts";
import { type Call, json, type Answer } from "../../http/route.ts";
import { toSec } from "../../platform/runtime/clock.ts";
import { authenticateClient, noCredentials, readCredentials } from "../clients/authentication.ts";
import type { ClientRecord } from "../clients/directory-store.ts";
import { reauthorize } from "../grants/reauthorize.ts";
import { tokenState } from "../grants/refresh-rotation.ts";
import { audienceClaim } from "../tokens/access-token.ts";
import type { Issuer } from "../model/call.ts";
import { failure } from "../model/failure.ts";
import { readParameters } from "../model/parameters.ts";
import { EVERYTHING } from "../model/granted-scopes.ts";
import type { TokenEndpointDeps } from "./deps.ts";

/**
 * `POST /introspect` (RFC 7662): the current state of a token. A client may ask about its own tokens; the client of a
 * registered service and the operator may ask about any. All other tokens are reported as inactive.
 */
export async function introspect(
  deps: TokenEndpointDeps,
  call: Call<unknown, unknown, URLSearchParams, undefined>,
): Promise<Answer> {
  const parameters = readParameters(call.body, deps.names);
  if (!parameters.ok) return deps.refuse(call, "introspect", parameters.error);
  const credentials = readCredentials(call.request, parameters.value);
  if (!credentials.ok) return deps.refuse(call, "introspect", credentials.error);
  if (credentials.value === undefined) return deps.refuse(call, "introspect", noCredentials());
  const entry = await deps.directory.find(credentials.value.clientId, undefined, call);
  const client = await authenticateClient(deps, credentials.value, entry, call);
  if (!client.ok) return deps.refuse(call, "introspect", client.error);
  const token = parameters.value.get("token");
  if (token === undefined)
    return deps.refuse(call, "introspect", failure("invalid_request", "token is missing.", undefined, client.value.id));

  const described = token.includes(".")
    ? await describeAccessToken(deps, token, call)
    : await describeRefreshToken(deps, token, call);
  if (described === "unavailable") return deps.unavailable();
  const isActive = described !== undefined && maySee(deps, client.value, described.client_id);
  return json(200, isActive ? { active: true, ...described } : { active: false }, { "cache-control": "no-store" });
}

const maySee = ({ builtIn }: TokenEndpointDeps, client: ClientRecord, owner: string): boolean =>
  client.id === owner || client.service !== undefined || client.id === builtIn.operatorClientId;

/** The response (RFC 7662 2.2), with the token's tenant. It is empty for an organization, and outside any tenant. */
interface Description {
  readonly scope: string;
  readonly client_id: string;
  readonly iss: string;
  readonly sub: string;
  readonly iat: number;
  readonly tenant: string;
  readonly username?: string;
  readonly token_type?: string;
  readonly act?: Actor;
  readonly cnf?: { readonly jkt: string };
  readonly aud?: string | readonly string[];
  readonly exp?: number;
  readonly jti?: string;
}

type IntrospectCall = Call<unknown, unknown, unknown, undefined>;

async function describeAccessToken(
  deps: TokenEndpointDeps,
  token: string,
  call: IntrospectCall,
): Promise<Description | "unavailable" | undefined> {
  const verified = await deps.verifier.verifyNow([token], call.nowMs);
  if (!verified.ok) return "unavailable";
  const [found] = verified.value;
  return found?.ok === true ? toDescription(found.value, deps.issuerFor(call)) : undefined;
}

const toDescription = (token: Principal, { issuer, audience }: Issuer): Description => ({
  scope: token.scopes.join(" "),
  client_id: token.clientId,
  token_type: token.proofKey === undefined ? "Bearer" : "DPoP",
  ...(token.act === undefined ? {} : { act: token.act }),
  ...(token.proofKey === undefined ? {} : { cnf: { jkt: token.proofKey } }),
  sub: token.subject,
  ...(token.user === "" ? {} : { username: token.user }),
  iss: issuer,
  aud: audienceClaim(token, audience),
  iat: token.issuedAtSec,
  exp: token.expiresAtSec,
  jti: token.tokenId,
  tenant: token.tenant,
});

/**
 * A refresh token is active if a refresh would succeed now, and has the scopes that the refresh would get. A replaced
 * token is inactive, even while it can still get its successor. Refresh tokens have no `exp` and no `aud`.
 */
async function describeRefreshToken(
  deps: TokenEndpointDeps,
  token: string,
  call: IntrospectCall,
): Promise<Description | undefined> {
  const found = await deps.refreshGrants.find(await deps.refreshGrants.tokens.read(token));
  if (found === undefined || tokenState(found, call.nowMs).kind !== "living") return undefined;
  const { clientId, email } = found.grant;
  const { client, asOfMs } = await deps.directory.find(clientId, undefined, call);
  if (client?.grantTypes.includes("refresh_token") !== true) return undefined;
  const caller = { client, authenticated: client.confidential, asOfMs };
  const reauthorized = await reauthorize(deps, caller, found.grant, { scopes: EVERYTHING, resources: [] }, call.nowMs);
  if (!reauthorized.ok) return undefined;
  const { scopes, subject, tenant } = reauthorized.value.granted;
  return {
    scope: scopes.join(" "),
    client_id: clientId,
    sub: subject,
    username: email,
    iss: deps.issuerFor(call).issuer,
    iat: toSec(found.createdAtMs),
    tenant,
  };
}
