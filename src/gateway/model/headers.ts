import type { Names } from "../../platform/names.ts";

/**
 * Headers as plain values, names in small letters; of several `Set-Cookie` the last. They are read once and handed on as a
 * plain object: the runtime's own `Headers` leave V8 for each look, and each object of them costs as much as ten.
 */
export type GivenHeaders = ReadonlyMap<string, string>;

/** What becomes of them. Without a prototype, since any name is a name. */
export type MadeHeaders = Record<string, string>;

export const noHeaders = (): MadeHeaders => Object.create(null) as MadeHeaders;

/** Undefined where they take more than `maxBytes`, as HTTP/1.1 writes them. */
export function readHeaders(headers: Headers, maxBytes: number): GivenHeaders | undefined {
  const given = new Map<string, string>();
  let sizeBytes = 0;
  for (const [name, value] of headers) {
    sizeBytes += name.length + value.length + ": \r\n".length;
    given.set(name, value);
  }
  return sizeBytes > maxBytes ? undefined : given;
}

/** The length of a body as it is declared. */
export function lengthOf(headers: GivenHeaders): number | undefined {
  const length = headers.get("content-length");
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}

/** Of one connection, never passed on (RFC 9110 section 7.6.1), in both directions. */
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

/** Headers that end here: those of the connection and those that its `Connection` header names. */
export function hopByHop(headers: GivenHeaders): (name: string) => boolean {
  const named = (headers.get("connection") ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim());
  return (name) => HOP_BY_HOP.has(name) || named.includes(name);
}

/** Some servers take `_`, `.` and the like in names for `-`, so a header counts by what it may become. */
export const spelled = (name: string): string => name.replaceAll(/[^a-z0-9]/gi, "-");

/** Whether a header is one of the platform's own names. */
export const isPlatforms = (name: string, names: Names): boolean => spelled(name).startsWith(names.header(""));

/**
 * Whether a cookie is the platform's own, of its sign-in pages: no service sees it or sets it. `=name=value` is one without
 * a name, which a browser sends back as `name=value`.
 */
export const isPlatformCookie = (cookie: string, names: Names): boolean =>
  cookie
    .replace(/^[\s=]+/, "")
    .toLowerCase()
    .replace(/^__(host|secure)-/, "")
    .startsWith(names.parameter(""));

/** A `Cookie` header without those; of several headers the runtime makes one, with commas. */
export const withoutPlatformCookies = (cookies: string, names: Names): string =>
  cookies
    .split(/(?=[;,])/)
    .filter((cookie) => !isPlatformCookie(cookie.replace(/^[;,]/, ""), names))
    .join("")
    .replace(/^[;,\s]+/, "");

export const isToRead = (method: string): boolean => method === "GET" || method === "HEAD";
