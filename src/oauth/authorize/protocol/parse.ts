import { err, ok, type Result } from "../../../platform/model/result.ts";
import type { ClientRecord } from "../../clients/directory-store.ts";
import type { AnyCall } from "../../model/call.ts";
import { parseClaims, type ClaimsRefusal, type ClaimsRequest } from "../../model/claims.ts";
import { deviceOf, type AuthorizationParameters, type RequestedDevice } from "../../model/parameters.ts";
import { isRegisteredRedirectUri, onlyRedirectUri } from "../../model/redirect.ts";
import { parseScopes, type ScopeRefusal, type ScopeRequest, type TenantRights } from "../../model/granted-scopes.ts";
import { findResources, type Resource } from "../../model/resource.ts";
import type { PageRefusal } from "../../pages/page.ts";
import type { AuthorizeDeps } from "./deps.ts";

/** The response types, the grant that a client needs for each, and where the response goes. */
export const FLOWS = {
  code: { grantType: "authorization_code", mode: "query" },
  token: { grantType: "implicit", mode: "fragment" },
  id_token: { grantType: "implicit", mode: "fragment" },
  "id_token token": { grantType: "implicit", mode: "fragment" },
} as const;

export type Flow = keyof typeof FLOWS;

/** The request asks for an ID token already, with or without the scope `openid`. */
export const hasIdToken = (flow: Flow | undefined): boolean => flow === "id_token" || flow === "id_token token";

/** OAuth 2.0 Form Post Response Mode: the browser posts the response to the redirect URI, so no address holds it. */
export const FORM_POST = "form_post";

/** A request whose client and redirect URI are known. `checks.ts` checks the rest. */
export interface ParsedRequest {
  readonly parameters: AuthorizationParameters;
  readonly client: ClientRecord;
  readonly redirectUri: string;
  readonly flow: Flow | undefined;
  /** The device that waits for the answer; the browser stays here. */
  readonly device: RequestedDevice | undefined;
  readonly scopes: Result<ScopeRequest, ScopeRefusal>;
  readonly claims: Result<ClaimsRequest, ClaimsRefusal>;
  /** The services that the tokens are for (RFC 8707). Empty: the whole platform. */
  readonly resources: Result<readonly Resource[], string>;
  /** The tenant that the request names, else the client's. Undefined if there is no such tenant. */
  readonly tenant: TenantRights | undefined;
  /** The database's time when client and tenant were read. */
  readonly asOfMs: number;
}

/** Our choice. A URL can contain the state twice. */
const MAX_STATE_CHARS = 4096;

/** One text for every case, so a caller cannot probe for clients, and a developer sees both parameters. */
const NOT_REGISTERED =
  "No client is registered with this client_id and this redirect_uri. redirect_uri can be omitted only if exactly one is registered.";

/** Finds the client and the redirect URI. An unregistered URI is never used (RFC 6749 3.1.2.4). */
export async function parseRequest(
  deps: Pick<AuthorizeDeps, "names" | "directory" | "pagesBase" | "issuerFor" | "findResource">,
  parameters: AuthorizationParameters,
  call: AnyCall,
): Promise<Result<ParsedRequest, PageRefusal>> {
  const fail = (detail: string, reason = detail, clientId = ""): Result<never, PageRefusal> =>
    err({ detail, reason, clientId });
  for (const name of ["client_id", "redirect_uri"])
    if (parameters.repeated.includes(name)) return fail(`${name} is given more than once.`);
  const clientId = parameters.get("client_id");
  if (clientId === undefined) return fail("client_id is missing.");
  const scopes = parseScopes(parameters.get("scope") ?? "", deps.names);
  const tenantId = scopes.ok ? scopes.value.tenant : undefined;
  const { client, clientFault, tenant, asOfMs } = await deps.directory.find(clientId, tenantId, call);
  if (clientFault !== undefined) return fail(clientFault, `client ${clientId.slice(0, 256)}: ${clientFault}`);
  if (client === undefined)
    return fail(NOT_REGISTERED, `client ${clientId.slice(0, 64)} is unknown, or it or its tenant is disabled`);
  call.attributeTo("", client.id);
  const device = deviceOf(parameters, deps.names);
  const ownPage = device && `${deps.pagesBase(call)}/device`;
  const redirectUri = ownPage ?? parameters.get("redirect_uri") ?? onlyRedirectUri(client.redirectUris);
  if (redirectUri === undefined)
    return fail(NOT_REGISTERED, "redirect_uri is missing, and not exactly one is registered", client.id);
  if (device === undefined && !isRegisteredRedirectUri(redirectUri, client.redirectUris))
    return fail(NOT_REGISTERED, `redirect_uri ${redirectUri.slice(0, 200)} is not registered`, client.id);
  // A response without the state would be useless to the client (RFC 6749 4.1.2.1).
  if ((parameters.get("state")?.length ?? 0) > MAX_STATE_CHARS)
    return fail(`state is longer than ${MAX_STATE_CHARS} characters.`, undefined, client.id);
  const flow = parseFlow(parameters.get("response_type"));
  const claims = parseClaims(parameters.get("claims"), parameters.get("acr_values"));
  const resources = await findResources(deps, parameters.get("resource"), call);
  return ok({ device, parameters, client, redirectUri, flow, scopes, claims, resources, tenant, asOfMs });
}

/** The order of the words does not matter (OAuth 2.0 Multiple Response Type Encoding Practices 3). */
function parseFlow(responseType = ""): Flow | undefined {
  const flow = responseType.split(" ").sort().join(" ");
  return Object.hasOwn(FLOWS, flow) ? (flow as Flow) : undefined;
}
