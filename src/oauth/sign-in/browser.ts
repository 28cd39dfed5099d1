import { fromBase64Url, toBase64Url, utf8 } from "../../platform/text/encoding.ts";
import type { Names } from "../../platform/model/names.ts";
import { randomSecret, type Random } from "../../platform/runtime/random.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";
import { looksHeld } from "../homes/held-token.ts";
import type { AnyCall } from "../model/call.ts";

/** Dependencies of cookies and form tokens. */
export interface BrowserDeps {
  readonly names: Names;
  readonly random: Random;
  readonly sealer: Sealer;
}

/**
 * The cookies of a browser. The first two hold 256 random bits each.
 *
 *   browser   recognizes the browser before anybody signs in. Forms carry an HMAC of it, so no other site or browser
 *             can send them, and nobody can sign a person in to a foreign account unnoticed.
 *   session   identifies the sign-in. Each sign-in renews it (session fixation); stored as a hash.
 *   device    the users who signed in by this browser before (device.ts).
 *   notice    the result of the previous form, for the page that follows (account/notice.ts).
 *
 * The prefix `__Host-` stops other hosts of the domain and plain http from setting them. Browsers refuse that prefix on
 * plain-http loopback, so the names have none there.
 */
export type CookieKind = "browser" | "session" | "device" | "notice";

/** Undefined unless the value has the form of our cookies. */
export function readCookie(call: AnyCall, kind: "browser" | "session", names: Names): string | undefined {
  const value = readRawCookie(call, kind, names);
  return value !== undefined && looksHeld(value) ? value : undefined;
}

/** The value as sent. */
export function readRawCookie(call: AnyCall, kind: CookieKind, names: Names): string | undefined {
  const name = cookieName(call, kind, names);
  for (const pair of (call.request.headers.get("cookie") ?? "").split(";")) {
    const equals = pair.indexOf("=");
    if (equals !== -1 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/** A session cookie. The server decides how long a session lasts. */
export const setCookie = (call: AnyCall, kind: CookieKind, value: string, names: Names): string =>
  `${cookieName(call, kind, names)}=${value}; Path=/; HttpOnly; SameSite=Lax${isSecure(call) ? "; Secure" : ""}`;

/** A cookie that outlives the browser session. */
export const setLastingCookie = (
  call: AnyCall,
  kind: "device",
  value: string,
  maxAgeSec: number,
  names: Names,
): string => `${setCookie(call, kind, value, names)}; Max-Age=${maxAgeSec}`;

export const deleteCookie = (call: AnyCall, kind: CookieKind, names: Names): string =>
  `${setCookie(call, kind, "", names)}; Max-Age=0`;

/** Adds a cookie to those that the response sets already. */
export function withCookie(response: Response, cookie: string | undefined): Response {
  if (cookie !== undefined) response.headers.append("set-cookie", cookie);
  return response;
}

export interface Browser {
  /** The value of its cookie, old or new. */
  readonly key: string;
  /** Undefined if the browser has the cookie already. */
  readonly cookie: string | undefined;
}

/** Reads the browser's cookie, or makes one for the response to set. */
export function recognizeBrowser({ names, random }: Pick<BrowserDeps, "names" | "random">, call: AnyCall): Browser {
  const known = readCookie(call, "browser", names);
  if (known !== undefined) return { key: known, cookie: undefined };
  const key = randomSecret(random);
  return { key, cookie: setCookie(call, "browser", key, names) };
}

const CSRF = "csrf";

/** `key`: a secret of the browser or session that gets the form. */
export async function csrfToken({ sealer }: Pick<BrowserDeps, "sealer">, key: string): Promise<string> {
  return toBase64Url(await createMac(sealer, CSRF, key));
}

/** Checks that the form was made for this browser or session. */
export async function verifyCsrfToken(
  { sealer }: Pick<BrowserDeps, "sealer">,
  key: string | undefined,
  token: string | undefined,
): Promise<boolean> {
  const mac = token === undefined ? undefined : fromBase64Url(token);
  return key !== undefined && mac !== undefined && verifyMac(sealer, CSRF, key, mac);
}

/** `purpose` separates the keys: a MAC for one purpose is not valid for another. */
export async function createMac(sealer: Sealer, purpose: string, text: string): Promise<Uint8Array> {
  const [key] = await sealer.macKeys(purpose);
  if (key === undefined) throw new Error("a sealer has a key");
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8(text)));
}

export async function verifyMac(
  sealer: Sealer,
  purpose: string,
  text: string,
  mac: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  for (const key of await sealer.macKeys(purpose))
    if (await crypto.subtle.verify("HMAC", key, mac, utf8(text))) return true;
  return false;
}

/** The site that sent the request (Fetch Metadata). Undefined if the browser does not say. */
export const fetchSite = (request: Request): string | undefined => request.headers.get("sec-fetch-site") ?? undefined;

/**
 * Detects a form from another site. Browsers without Fetch Metadata send `Origin` with a form; our own pages send
 * `null` (`Referrer-Policy`). Only hosts are compared, because a proxy may have removed TLS.
 */
export function isCrossSite({ request, url }: Pick<AnyCall, "request" | "url">): boolean {
  const site = fetchSite(request);
  if (site !== undefined) return site !== "same-origin" && site !== "none";
  const origin = request.headers.get("origin") ?? "null";
  return origin !== "null" && URL.parse(origin)?.host !== url.host;
}

const isSecure = (call: AnyCall): boolean => call.url.protocol === "https:";

const cookieName = (call: AnyCall, kind: CookieKind, names: Names): string =>
  `${isSecure(call) ? "__Host-" : ""}${names.platform}_${kind}`;

export const CROSS_SITE_FORM = "The form was sent from another site.";
