import * as oauth from "oauth4webapi";
import { getStart } from "../../api/plinth.ts";
import { AdminRefusal } from "../client/admin-client.ts";
import { asFetch, hasJson, send } from "../client/send.ts";

const TIMEOUT_MS = 15_000;

/** The platform's metadata: its addresses, and the prefix of its scopes. */
export interface Discovered {
  readonly server: oauth.AuthorizationServer;
  /** `plat` */
  readonly platform: string;
  /** Pages by name: `documentation`, `account`. */
  readonly links: Readonly<Record<string, string>>;
}

/** Options of the OAuth library. It may use plain http, since `findTarget` allows that only for this machine. */
export const REQUEST = {
  [oauth.allowInsecureRequests]: true,
  [oauth.customFetch]: (url: string, request: object) => send(url, request, TIMEOUT_MS),
} as const;

export async function discover(base: string): Promise<Discovered> {
  const links = await readLinks(base);
  const metadata = links["signIn"] ?? "";
  const issuer = new URL(metadata.slice(0, Math.max(0, metadata.indexOf("/.well-known/"))));
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { ...REQUEST, algorithm: "oidc" }),
  );
  return { server, platform: prefixOf(server), links };
}

/** The pages that the platform's own address names. */
export async function readLinks(base: string): Promise<Readonly<Record<string, string>>> {
  const accept = { accept: "application/json" };
  let isJson = false;
  const fetchStart = asFetch(async (url, request) => {
    const response = await send(url, { ...request, headers: accept }, TIMEOUT_MS);
    isJson = hasJson(response);
    return response;
  });
  const { status, data } = await getStart({ baseUrl: base, fetch: fetchStart });
  const links = isJson ? (data as { readonly links?: Record<string, string> } | null)?.links : undefined;
  if (status !== 200 || !URL.canParse(links?.["signIn"] ?? ""))
    throw new AdminRefusal(status, "", `${base} does not answer as a platform does. Is it one, with its path prefix?`);
  return links ?? {};
}

/** The prefix of scopes, which the operator chose: `plat` of `plat.no_tenant`. */
function prefixOf({ scopes_supported: scopes = [] }: oauth.AuthorizationServer): string {
  const known = scopes.find((scope) => scope.endsWith(".no_tenant"));
  return known?.slice(0, -".no_tenant".length) ?? "plat";
}
