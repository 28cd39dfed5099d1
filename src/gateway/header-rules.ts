import type { Names } from "../platform/names.ts";
import type { GivenHeaders } from "./model/headers.ts";

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
