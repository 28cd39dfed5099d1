import { problem, type Problem } from "../../http/errors/errors.ts";
import { PROOF_ALGS } from "../../http/callers/proof.ts";
import type { FallbackCall } from "../../http/service.ts";
import { answerPreflight, isPreflight } from "./checks.ts";
import type { RegisteredService, Registry } from "../registry/registry.ts";

/**
 * A service that requires a token is a protected resource (RFC 9728). Its 401 names the address of its metadata, where
 * a client finds the issuer of tokens and their scopes.
 *
 *   401 WWW-Authenticate: … resource_metadata ──▶ metadata: authorization_servers ──▶ the issuer's own metadata
 *
 * An address below a service means the service, as in `resource` (RFC 8707): a client that knows only a deeper address,
 * such as `/notes/v1/sse`, reads the metadata of that address. The metadata names the requested address, since a client
 * must not use metadata of another one (RFC 9728 3.3). A public service has no metadata.
 */
export interface ResourceMetadataDeps {
  /** The issuer for requests to this origin. */
  readonly issuer: (origin: string) => string;
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";
const MAX_AGE_SEC = 300;

export const isMetadataPath = (path: string): boolean => path.startsWith(`${WELL_KNOWN}/`);

/** Answers with the metadata of a path. Undefined if no service that requires a token is at the path or above it. */
export async function answerMetadata(
  { issuer }: ResourceMetadataDeps,
  registry: Pick<Registry, "find">,
  { request, path, publicBase, url, nowMs }: FallbackCall,
): Promise<Response | Problem | undefined> {
  const described = path.slice(WELL_KNOWN.length);
  const service = await registry.find(described, nowMs);
  if (service?.access !== "token") return undefined;
  // Clients in browsers send headers of their own, such as MCP-Protocol-Version.
  if (isPreflight(request)) return answerPreflight(request);
  if (request.method !== "GET" && request.method !== "HEAD")
    return problem("unsupported_method", "Metadata is read with GET.", { headers: { allow: "GET, HEAD" } });
  const metadata = {
    resource: `${publicBase}${described}`,
    resource_name: service.name,
    authorization_servers: [issuer(url.origin)],
    bearer_methods_supported: ["header"],
    dpop_signing_alg_values_supported: PROOF_ALGS,
    // A client cannot request a pattern, so patterns are left out.
    ...(scopesOf(service).length === 0 ? {} : { scopes_supported: scopesOf(service) }),
  };
  return Response.json(metadata, {
    headers: { "cache-control": `public, max-age=${MAX_AGE_SEC}`, "access-control-allow-origin": "*" },
  });
}

const scopesOf = ({ scopes }: RegisteredService): readonly string[] => scopes.filter((scope) => !scope.endsWith("*"));
/** Maximum length of the scopes in a challenge. Without them, clients read the scopes in the metadata. */
const MAX_CHALLENGE_CHARS = 1024;

/** Adds the scopes to request and the address of the metadata to a 401. */
export function withMetadata(refused: Problem, service: RegisteredService, publicBase: string): Problem {
  const challenge = refused.headers["www-authenticate"];
  if (challenge === undefined || service.access !== "token") return refused;
  const address = new URL(`${publicBase}${WELL_KNOWN}${service.proxyPath}`).href;
  const scope = scopesOf(service).join(" ");
  const scopes = scope === "" || scope.length > MAX_CHALLENGE_CHARS ? "" : `, scope="${scope}"`;
  const named = `${challenge}${scopes}, resource_metadata="${address}"`;
  return { ...refused, headers: { ...refused.headers, "www-authenticate": named } };
}
