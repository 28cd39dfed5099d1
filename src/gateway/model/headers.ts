import type { Names } from "../../platform/model/names.ts";

/**
 * Headers as plain values, with names in lower case and only the last of several `Set-Cookie`. They are read once and
 * passed on as plain values: each access to the runtime's `Headers` leaves V8, and a `Headers` object costs ten times
 * as much as a plain one.
 */
export type ReceivedHeaders = ReadonlyMap<string, string>;

/** Headers to send. Without a prototype, since a caller may name a header `constructor`. */
export type OutgoingHeaders = Record<string, string>;

export const emptyHeaders = (): OutgoingHeaders => Object.create(null) as OutgoingHeaders;

/** Reads headers. Undefined if they take more than `maxBytes` in HTTP/1.1. */
export function readHeaders(headers: Headers, maxBytes: number): ReceivedHeaders | undefined {
  const received = new Map<string, string>();
  let sizeBytes = 0;
  for (const [name, value] of headers) {
    sizeBytes += name.length + value.length + ": \r\n".length;
    received.set(name, value);
  }
  return sizeBytes > maxBytes ? undefined : received;
}

/** The declared length of a body. */
export function contentLength(headers: ReceivedHeaders): number | undefined {
  const length = headers.get("content-length");
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}

/** Headers of a single connection, never passed on in either direction (RFC 9110 section 7.6.1). */
const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);

/** Selects the headers that belong to the connection: the known ones, and those that its `Connection` header names. */
export function hopByHop(headers: ReceivedHeaders): (name: string) => boolean {
  const named = (headers.get("connection") ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim());
  return (name) => HOP_BY_HOP.has(name) || named.includes(name);
}

/** The name with `-` in place of `_`, `.` and the like: some servers read `X_Forwarded_For` as `X-Forwarded-For`. */
export const canonicalName = (name: string): string => name.replaceAll(/[^a-z0-9]/gi, "-");

/** True if the header's name starts with the platform's prefix. */
export const isPlatformHeader = (name: string, names: Names): boolean =>
  canonicalName(name).startsWith(names.header(""));

/**
 * True if a cookie belongs to the platform's sign-in pages, so that no service may get it or set it. `=name=value` is a
 * cookie without a name, which a browser sends back as `name=value`.
 */
export const isPlatformCookie = (cookie: string, names: Names): boolean =>
  cookie
    .replace(/^[\s=]+/, "")
    .toLowerCase()
    .replace(/^__(host|secure)-/, "")
    .startsWith(names.parameter(""));

/** A `Cookie` header without the platform's cookies. The runtime joins several headers with commas. */
export const withoutPlatformCookies = (cookies: string, names: Names): string =>
  cookies
    .split(/(?=[;,])/)
    .filter((cookie) => !isPlatformCookie(cookie.replace(/^[;,]/, ""), names))
    .join("")
    .replace(/^[;,\s]+/, "");

/** True if an `Accept-Encoding` allows a coding. Without the header no coding is allowed. */
export function acceptsCoding(accepted: string | undefined, coding: string): boolean {
  if (accepted === undefined) return false;
  const weights = new Map<string, boolean>();
  for (const item of accepted.toLowerCase().split(",")) {
    const [name = "", ...parameters] = item.split(";").map((part) => part.trim());
    weights.set(name, !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)));
  }
  return weights.get(coding) ?? weights.get("*") ?? false;
}

/** The gateway's name in `Via` (RFC 9110 section 7.6.3). */
export const viaName = (names: Names): string => `${names.platform}-gateway`;

/** Number of times that a request has passed this gateway already. */
export const countHops = (headers: ReceivedHeaders, names: Names): number =>
  (headers.get("via") ?? "").split(",").filter((hop) => hop.trim().split(/\s+/)[1] === viaName(names)).length;

export const isReadMethod = (method: string): boolean => method === "GET" || method === "HEAD";
