import { err, ok, type Result } from "../../platform/result.ts";
import type { ClientRecord } from "../clients/directory.ts";
import type { AnyCall } from "../model/call.ts";
import type { AuthorizationParameters } from "../model/parameters.ts";
import { isRegisteredRedirectUri, onlyRedirectUri } from "../model/redirect.ts";
import { parseScopes, type ScopeRefusal, type ScopeRequest, type TenantRights } from "../model/scopes.ts";
import type { PageRefusal } from "../pages/page.ts";
import type { AuthorizeDeps } from "./deps.ts";

/** What a client may ask for, the grant that it must be registered for, and where the answer goes. */
export const FLOWS = {
  code: { grantType: "authorization_code", mode: "query" },
  token: { grantType: "implicit", mode: "fragment" },
  "id_token token": { grantType: "implicit", mode: "fragment" },
} as const;

export type Flow = keyof typeof FLOWS;

/** A request of which it is known who asks and where the answer goes, and nothing else: `checks.ts` looks at the rest. */
export interface ParsedRequest {
  readonly parameters: AuthorizationParameters;
  readonly client: ClientRecord;
  readonly redirectUri: string;
  readonly flow: Flow | undefined;
  readonly scopes: Result<ScopeRequest, ScopeRefusal>;
  /** The tenant that is named, else the client's; undefined: there is no such tenant. */
  readonly tenant: TenantRights | undefined;
  /** When client and tenant were read, by the database's clock. */
  readonly asOfMs: number;
}

/** Our choice: it stands in an address up to twice. */
const MAX_STATE_CHARS = 4096;

/** One text for all of it: nobody learns which clients there are, and a developer sees both at once. */
const NOT_REGISTERED =
  "No client is registered with this client_id and this redirect_uri. The second may be left out where exactly one is registered.";

/** Who asks and where the answer goes (RFC 6749 3.1.2.4: an address that is not registered is never used). */
export async function parseRequest(
  deps: AuthorizeDeps,
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
  const asked = scopes.ok ? scopes.value.tenant : undefined;
  const { client, tenant, asOfMs } = await deps.directory.find(clientId, asked, call.nowMs);
  if (client === undefined) return fail(NOT_REGISTERED, `client ${clientId.slice(0, 64)} is unknown or disabled`);
  const redirectUri = parameters.get("redirect_uri") ?? onlyRedirectUri(client.redirectUris);
  if (redirectUri === undefined)
    return fail(NOT_REGISTERED, "redirect_uri is missing, and not exactly one is registered", client.id);
  if (!isRegisteredRedirectUri(redirectUri, client.redirectUris))
    return fail(NOT_REGISTERED, `redirect_uri ${redirectUri.slice(0, 200)} is not registered`, client.id);
  // An answer without it would be one that the client cannot match to a request (RFC 6749 4.1.2.1).
  if ((parameters.get("state")?.length ?? 0) > MAX_STATE_CHARS)
    return fail(
      `state is longer than ${MAX_STATE_CHARS} characters, so no answer could give it back.`,
      undefined,
      client.id,
    );
  const flow = parseFlow(parameters.get("response_type"));
  return ok({ parameters, client, redirectUri, flow, scopes, tenant, asOfMs });
}

/** The order of the words does not matter (OAuth 2.0 Multiple Response Type Encoding Practices 3). */
function parseFlow(responseType = ""): Flow | undefined {
  const flow = responseType.split(" ").sort().join(" ");
  return Object.hasOwn(FLOWS, flow) ? (flow as Flow) : undefined;
}
