import type { Principal } from "../../http/auth.ts";
import type { Names } from "../../platform/names.ts";
import { hopByHop, isPlatforms, spelled, withoutPlatformCookies, noHeaders, type GivenHeaders, type MadeHeaders } from "../model/headers.ts";

export interface RequestFacts {
  readonly headers: GivenHeaders;
  /** The public address. */
  readonly url: URL;
  /** Path of the public address up to where the service's own begins. */
  readonly publicPath: string;
  readonly principal: Principal | undefined;
  /** In the place of the one that was sent; undefined: that one, if any. */
  readonly authorization: string | undefined;
  readonly requestId: string;
  readonly sessionId: string;
  readonly isUpgrade: boolean;
}

/** Made anew by us, or by the runtime for the connection to the service. */
const REMADE = new Set(["host", "content-length", "expect", "via", "forwarded", "accept-encoding", "cookie"]);
/**
 * Who calls by what address is ours to say; and by some of these a server takes another path than the one that was
 * asked for.
 */
const NOT_BELIEVED = new Set(["x-real-ip", "true-client-ip", "x-client-ip", "x-original-url", "x-rewrite-url"]);
const NOT_BELIEVED_PREFIXES: readonly string[] = ["x-forwarded-", "cf-"];
/** The runtime's, which makes the handshake with the service itself. */
const HANDSHAKE = new Set([
  "sec-websocket-key",
  "sec-websocket-version",
  "sec-websocket-extensions",
  "sec-websocket-accept",
]);

/** What a service gets of a caller's headers, and what it learns from the platform besides (contract section 6). */
export function requestHeaders(facts: RequestFacts, names: Names): MadeHeaders {
  const given = facts.headers;
  const endsHere = hopByHop(given);
  const headers = noHeaders();
  for (const [name, value] of given) if (!endsHere(name) && !isRefused(spelled(name), names)) headers[name] = value;

  if (facts.authorization !== undefined) headers["authorization"] = facts.authorization;
  const cookies = withoutPlatformCookies(given.get("cookie") ?? "", names);
  if (cookies !== "") headers["cookie"] = cookies;
  headers["accept-encoding"] = decodableOf(given.get("accept-encoding"));
  const ifMatch = given.get("if-match");
  if (ifMatch !== undefined) headers["if-match"] = unweakened(ifMatch);
  headers["via"] = [given.get("via"), `1.1 ${pseudonym(names)}`].filter(Boolean).join(", ");
  if (facts.isUpgrade) headers["upgrade"] = "websocket";

  const address = given.get("cf-connecting-ip");
  if (address !== undefined) headers["x-forwarded-for"] = address;
  headers["x-forwarded-proto"] = facts.url.protocol.slice(0, -1);
  headers["x-forwarded-host"] = facts.url.host;
  headers["x-forwarded-prefix"] = facts.publicPath;

  headers[names.header("request-id")] = facts.requestId;
  headers[names.header("session-id")] = facts.sessionId;
  const { principal } = facts;
  if (principal === undefined) return headers;
  const identity = {
    tenant: principal.tenant,
    client: principal.clientId,
    user: principal.user,
    scopes: principal.scopes.join(" "),
  };
  for (const [suffix, value] of Object.entries(identity))
    if (value !== "") headers[names.header(suffix)] = asciiOf(value);
  headers[names.header("client-authenticated")] = String(principal.clientAuthenticated);
  return headers;
}

const isRefused = (name: string, names: Names): boolean =>
  REMADE.has(name) ||
  HANDSHAKE.has(name) ||
  NOT_BELIEVED.has(name) ||
  NOT_BELIEVED_PREFIXES.some((prefix) => name.startsWith(prefix)) ||
  isPlatforms(name, names);

/** How we are called in `Via` (RFC 9110 section 7.6.3). */
const pseudonym = (names: Names): string => `${names.platform}-gateway`;

/** How often a request came by here already. */
export const hopsOf = (headers: GivenHeaders, names: Names): number =>
  (headers.get("via") ?? "").split(",").filter((hop) => hop.trim().split(/\s+/)[1] === pseudonym(names)).length;

/** Header values are ASCII: what is more, and `%` itself, is percent-encoded UTF-8. */
const asciiOf = (value: string): string => value.replaceAll(/%|[^\x20-\x7e]+/g, encodeURIComponent);

/** What the caller takes of what can be decoded here, should the body have to be rewritten. */
const DECODABLE: readonly string[] = ["gzip", "br"];

export function decodableOf(accepted: string | undefined): string {
  const taken = DECODABLE.filter((coding) => accepts(accepted, coding));
  return taken.length === 0 ? "identity" : taken.join(", ");
}

/** Whether an `Accept-Encoding` allows a coding. Without one nothing is sent that has to be decoded. */
export function accepts(accepted: string | undefined, coding: string): boolean {
  if (accepted === undefined) return false;
  const weights = new Map<string, boolean>();
  for (const item of accepted.toLowerCase().split(",")) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim());
    weights.set(name, !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)));
  }
  return weights.get(coding) ?? weights.get("*") ?? false;
}

/**
 * Entity tags of rewritten bodies are handed out as weak ones (response/response-headers.ts), and `If-Match` compares strongly: a
 * weak tag never matches (RFC 9110 section 13.1.1). So here they are again what the service made; one that it made as
 * weak still matches nothing.
 */
const unweakened = (ifMatch: string): string => ifMatch.replaceAll(/(^|,)(\s*)W\/(?=")/g, "$1$2");
