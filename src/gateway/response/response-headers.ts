import type { Names } from "../../platform/model/names.ts";
import {
  emptyHeaders,
  hopByHop,
  isPlatformHeader,
  type OutgoingHeaders,
  type ReceivedHeaders,
} from "../model/headers.ts";

/** Headers that speak for the platform's whole host: a service must not set them. */
const HOST_WIDE = new Set([
  "alt-svc",
  "strict-transport-security",
  "clear-site-data",
  "service-worker-allowed",
  "origin-agent-cluster",
  "set-login",
  "use-as-dictionary",
  "public-key-pins",
  "nel",
  "report-to",
  "reporting-endpoints",
]);

export interface ResponsePlan {
  /** Rewrites the value of a header that holds addresses. */
  header(value: string): string;
  /** True if the body differs from the one that the service sent, since it is rewritten or decoded. */
  readonly isChanged: boolean;
  /** True if the entity tag is passed on as a weak one. */
  readonly weakensETag: boolean;
  /** Headers that replace the service's own. */
  readonly extra: Readonly<Record<string, string>>;
}

/** Headers that describe the exact bytes that the service sent. */
export const BYTE_HEADERS: ReadonlySet<string> = new Set([
  "content-length",
  "content-encoding",
  "content-md5",
  "digest",
  "content-digest",
  "repr-digest",
  "accept-ranges",
  "content-range",
]);

/**
 * True if a `Content-Range` or `Accept-Ranges` counts bytes. Services count the rows of a list too (`items 0-9/66`, RFC
 * 9110 section 14.1): such a header stays even if the body is rewritten.
 */
export const isByteRange = (range: string): boolean => /^\s*bytes\b/i.test(range);
const RANGES: ReadonlySet<string> = new Set(["accept-ranges", "content-range"]);
const describesBytes = (name: string, value: string): boolean =>
  BYTE_HEADERS.has(name) && (!RANGES.has(name) || isByteRange(value));

/** The platform decides who may read a response, the same for all services, as in its answer to the preflight. */
const CROSS_ORIGIN = "access-control-";

/** A service's headers as the caller gets them, without cookies. */
export function responseHeaders(received: ReceivedHeaders, plan: ResponsePlan, names: Names): OutgoingHeaders {
  const isHopByHop = hopByHop(received);
  const headers = emptyHeaders();
  for (const [name, value] of received) {
    if (isHopByHop(name) || HOST_WIDE.has(name) || isPlatformHeader(name, names) || name === "set-cookie") continue;
    if (name.startsWith(CROSS_ORIGIN) || (plan.isChanged && describesBytes(name, value))) continue;
    headers[name] = name === "link" || name === "location" ? plan.header(value) : value;
  }
  const etag = headers["etag"];
  if (plan.weakensETag && etag?.startsWith(`"`) === true) headers["etag"] = `W/${etag}`;
  Object.assign(headers, plan.extra);
  headers[`${CROSS_ORIGIN}allow-origin`] = "*";
  headers[`${CROSS_ORIGIN}expose-headers`] = "*";
  return headers;
}
