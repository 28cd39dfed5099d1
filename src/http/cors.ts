/** Cross-origin rules (contract 1.4): services answer any origin, without credentials; pages answer none. */
import type { Names } from "../platform/names.ts";

/** The contract's, and what an upload with its file name and digest and a conditional or resumed download send besides. */
const ALLOWED_HEADERS = [
  "Authorization",
  "Content-Type",
  "If-None-Match",
  "Range",
  "Idempotency-Key",
  "Content-Disposition",
  "Content-MD5",
  "Content-Digest",
  "Repr-Digest",
  "If-Match",
  "If-Range",
  "If-Modified-Since",
];
/** The contract's, and what readers of content look at: whether parts can be asked for, and how old an edge's copy is. */
const EXPOSED_HEADERS = [
  "Link",
  "Location",
  "ETag",
  "Retry-After",
  "WWW-Authenticate",
  "Accept-Ranges",
  "Content-Range",
  "Content-Disposition",
  "Age",
];
/** The platform's own ones, without its prefix. */
const EXPOSED_SUFFIXES = ["request-id", "delivery-attempt", "events-lost"];
const PREFLIGHT_MAX_AGE_SEC = 7200;

export function preflight(methods: readonly string[], names: Names): Response {
  const headers = new Headers({
    "access-control-allow-methods": methods.join(", "),
    "access-control-allow-headers": [...ALLOWED_HEADERS, names.header("session-id")].join(", "),
    "access-control-max-age": String(PREFLIGHT_MAX_AGE_SEC),
    allow: methods.join(", "),
  });
  return new Response(null, { status: 204, headers });
}

/** What pages may read of an answer, as one header's value. */
export const exposedHeaders = (names: Names): string =>
  [...EXPOSED_HEADERS, ...EXPOSED_SUFFIXES.map(names.header)].join(", ");

export function allowAnyOrigin(headers: Headers, exposed: string): void {
  headers.set("access-control-allow-origin", "*");
  headers.set("access-control-expose-headers", exposed);
}
