import type { Principal } from "../../http/callers/auth.ts";
import type { Names } from "../../platform/model/names.ts";
import {
  acceptsCoding,
  canonicalName,
  emptyHeaders,
  hopByHop,
  isPlatformHeader,
  viaName,
  withoutPlatformCookies,
  type OutgoingHeaders,
  type ReceivedHeaders,
} from "../model/headers.ts";

export interface RequestContext {
  readonly headers: ReceivedHeaders;
  /** The public address of the request. */
  readonly url: URL;
  /** Path of the service's public address, with the prefix. */
  readonly publicPath: string;
  readonly principal: Principal | undefined;
  /** Replaces the caller's `Authorization`; undefined if the caller's is kept. */
  readonly authorization: string | undefined;
  readonly requestId: string;
  readonly sessionId: string;
  readonly isUpgrade: boolean;
}

/** Headers that are replaced below, or by the runtime for the connection to the service. */
const REPLACED = new Set(["host", "content-length", "expect", "via", "forwarded", "accept-encoding", "cookie"]);
/** Headers of the trace, which exchange.ts passes on if they are valid. */
const TRACE = new Set(["traceparent", "tracestate"]);
/** Headers that fake the caller's address, or make some servers use another path than the requested one. */
const UNTRUSTED = new Set(["x-real-ip", "true-client-ip", "x-client-ip", "x-original-url", "x-rewrite-url"]);
const UNTRUSTED_PREFIXES: readonly string[] = ["x-forwarded-", "cf-"];
/** The runtime makes the WebSocket handshake with the service itself. */
const HANDSHAKE = new Set([
  "sec-websocket-key",
  "sec-websocket-version",
  "sec-websocket-extensions",
  "sec-websocket-accept",
]);

/** The headers for the service: those of the caller that are passed on, and those that the platform adds. */
export function requestHeaders(context: RequestContext, names: Names): OutgoingHeaders {
  const received = context.headers;
  const isHopByHop = hopByHop(received);
  const headers = emptyHeaders();
  for (const [name, value] of received)
    if (!isHopByHop(name) && !isDropped(canonicalName(name), names)) headers[name] = value;

  if (context.authorization !== undefined) headers["authorization"] = context.authorization;
  const cookies = withoutPlatformCookies(received.get("cookie") ?? "", names);
  if (cookies !== "") headers["cookie"] = cookies;
  headers["accept-encoding"] = acceptedCodings(received.get("accept-encoding"));
  const ifMatch = received.get("if-match");
  if (ifMatch !== undefined) headers["if-match"] = strongETags(ifMatch);
  headers["via"] = [received.get("via"), `1.1 ${viaName(names)}`].filter(Boolean).join(", ");
  if (context.isUpgrade) headers["upgrade"] = "websocket";

  const address = received.get("cf-connecting-ip");
  if (address !== undefined) headers["x-forwarded-for"] = address;
  headers["x-forwarded-proto"] = context.url.protocol.slice(0, -1);
  headers["x-forwarded-host"] = context.url.host;
  headers["x-forwarded-prefix"] = context.publicPath;

  headers[names.header("request-id")] = context.requestId;
  headers[names.header("session-id")] = context.sessionId;
  const { principal } = context;
  if (principal === undefined) return headers;
  const identity = {
    tenant: principal.tenant,
    client: principal.clientId,
    user: principal.user,
    scopes: principal.scopes.join(" "),
  };
  for (const [suffix, value] of Object.entries(identity))
    if (value !== "") headers[names.header(suffix)] = percentEncode(value);
  if (principal.proofKey !== undefined) {
    // The proof is valid only for the gateway's address. The service gets the thumbprint of its key instead.
    delete headers["dpop"];
    headers[names.header("proof-key")] = principal.proofKey;
  }
  headers[names.header("client-authenticated")] = String(principal.clientAuthenticated);
  return headers;
}

const isDropped = (name: string, names: Names): boolean =>
  REPLACED.has(name) ||
  TRACE.has(name) ||
  HANDSHAKE.has(name) ||
  UNTRUSTED.has(name) ||
  UNTRUSTED_PREFIXES.some((prefix) => name.startsWith(prefix)) ||
  isPlatformHeader(name, names);

/** Encodes `%` and all characters but printable ASCII, since header values are ASCII. */
const percentEncode = (value: string): string => value.replaceAll(/%|[^\x20-\x7e]+/g, encodeURIComponent);

/** Codings that the runtime can decode if the body must be rewritten. */
const DECODABLE: readonly string[] = ["gzip", "br"];

function acceptedCodings(accepted: string | undefined): string {
  const taken = DECODABLE.filter((coding) => acceptsCoding(accepted, coding));
  return taken.length === 0 ? "identity" : taken.join(", ");
}

/**
 * Makes the weak tags of an `If-Match` strong. A rewritten body gets a weak tag (response-headers.ts), and `If-Match`
 * never matches a weak one (RFC 9110 section 13.1.1). A tag that the service itself made weak still matches nothing.
 */
const strongETags = (ifMatch: string): string => ifMatch.replaceAll(/(^|,)(\s*)W\/(?=")/g, "$1$2");
