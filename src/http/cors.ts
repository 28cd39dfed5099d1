/** Cross-origin rules: services answer any origin, without credentials; pages answer none. */
import type { Names } from "../platform/model/names.ts";

/**
 * Request headers of the API, of uploads with file name and digest, and of conditional and resumed downloads, for a
 * preflight that names none.
 */
const ALLOWED_HEADERS = [
  "Authorization",
  "Content-Type",
  "If-None-Match",
  "Range",
  "Idempotency-Key",
  "Prefer",
  "Consumer",
  "Content-Disposition",
  "Content-MD5",
  "Content-Digest",
  "Repr-Digest",
  "If-Match",
  "If-Range",
  "If-Modified-Since",
];
/** Response headers of the API, and those that tell readers of content about ranges and the age of a cached copy. */
const EXPOSED_HEADERS = [
  "Link",
  "Location",
  "ETag",
  "Retry-After",
  "WWW-Authenticate",
  "DPoP-Nonce",
  "Accept-Ranges",
  "Content-Range",
  "Content-Disposition",
  "Age",
];
/** The platform's own headers, without its prefix. */
const EXPOSED_SUFFIXES = ["request-id", "delivery-attempt", "events-lost"];
export const PREFLIGHT_MAX_AGE_SEC = 7200;

/** Names of headers with commas between them. */
export const HEADER_NAMES = /^[!#$%&'*+.^_`|~0-9A-Za-z, -]{1,4096}$/;

/**
 * Allows every header that the browser asks for, such as `traceparent` or those of a tool for developers. A list would
 * protect nothing: any origin may call, and none has credentials.
 */
export function preflight(methods: readonly string[], names: Names, { headers: asked }: Request): Response {
  const requested = asked.get("access-control-request-headers") ?? "";
  const known = [...ALLOWED_HEADERS, names.header("session-id")];
  const isKnown = new Set(known.map((name) => name.toLowerCase()));
  const more = HEADER_NAMES.test(requested) ? requested.split(",").map((name) => name.trim()) : [];
  const headers = new Headers({
    "access-control-allow-methods": methods.join(", "),
    "access-control-allow-headers": [...known, ...more.filter((name) => !isKnown.has(name.toLowerCase()))].join(", "),
    vary: "Access-Control-Request-Headers",
    "access-control-max-age": String(PREFLIGHT_MAX_AGE_SEC),
    allow: methods.join(", "),
  });
  return new Response(null, { status: 204, headers });
}

/** The value of `Access-Control-Expose-Headers`. */
export const exposedHeaders = (names: Names): string =>
  [...EXPOSED_HEADERS, ...EXPOSED_SUFFIXES.map(names.header)].join(", ");

export function allowAnyOrigin(headers: Headers, exposed: string): void {
  headers.set("access-control-allow-origin", "*");
  headers.set("access-control-expose-headers", exposed);
}
