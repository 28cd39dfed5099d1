import { fromBase64Url, toBase64Url, utf8 } from "../../platform/encoding.ts";
import type { Names } from "../../platform/names.ts";
import { randomSecret, type Random } from "../../platform/random.ts";
import type { Sealer } from "../../platform/seal.ts";
import type { AnyCall } from "../model/call.ts";

/** What cookies and the tokens of forms are made with. */
export interface BrowserDeps {
  readonly names: Names;
  readonly random: Random;
  readonly sealer: Sealer;
}

/**
 * What a browser keeps for us: two cookies of 256 random bits each (contract 2.4), a word, and who signed in by it.
 *
 *   browser   knows the browser again before anybody signed in. A form carries a token made of it (HMAC), so no other
 *             site and no other browser can send the form, and nobody is signed in as somebody else behind their back.
 *   session   stands for the sign-in; made anew by each one (session fixation), stored as its hash.
 *   device    which users signed in by this browser before (device.ts)
 *   notice    what the form before did, for the page that follows it (account/notice.ts).
 *
 * `__Host-` lets neither another host of the domain nor plain http set them. On plain-http loopback the names have no
 * such prefix, since browsers would refuse it there.
 */
export type CookieKind = "browser" | "session" | "device" | "notice";

/** What a cookie of ours can hold; undefined for anything else. */
export function readCookie(call: AnyCall, kind: "browser" | "session", names: Names): string | undefined {
  const value = readRawCookie(call, kind, names);
  return fromBase64Url(value ?? "")?.length === 32 ? value : undefined;
}

/** Whatever stands there. */
export function readRawCookie(call: AnyCall, kind: CookieKind, names: Names): string | undefined {
  const name = cookieName(call, kind, names);
  for (const pair of (call.request.headers.get("cookie") ?? "").split(";")) {
    const equals = pair.indexOf("=");
    if (equals !== -1 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/** Gone with the browser; how long a session lasts is the server's to know. */
export const setCookie = (call: AnyCall, kind: CookieKind, value: string, names: Names): string =>
  `${cookieName(call, kind, names)}=${value}; Path=/; HttpOnly; SameSite=Lax${isSecure(call) ? "; Secure" : ""}`;

/** Kept for so long. */
export const setLastingCookie = (
  call: AnyCall,
  kind: "device",
  value: string,
  maxAgeSec: number,
  names: Names,
): string => `${setCookie(call, kind, value, names)}; Max-Age=${maxAgeSec}`;

export const deleteCookie = (call: AnyCall, kind: CookieKind, names: Names): string =>
  `${setCookie(call, kind, "", names)}; Max-Age=0`;

/** The answer with a cookie beside those that it sets already. */
export function withCookie(response: Response, cookie: string | undefined): Response {
  if (cookie !== undefined) response.headers.append("set-cookie", cookie);
  return response;
}

export interface Browser {
  /** What its cookie says, or will. */
  readonly key: string;
  /** Undefined where it has the cookie already. */
  readonly cookie: string | undefined;
}

/** The browser as its cookie tells it, or one that gets a cookie with the answer. */
export function recognizeBrowser({ names, random }: Pick<BrowserDeps, "names" | "random">, call: AnyCall): Browser {
  const known = readCookie(call, "browser", names);
  if (known !== undefined) return { key: known, cookie: undefined };
  const key = randomSecret(random);
  return { key, cookie: setCookie(call, "browser", key, names) };
}

const CSRF = "csrf";

/** `key`: a secret of the browser that is shown the form. */
export async function csrfToken({ sealer }: Pick<BrowserDeps, "sealer">, key: string): Promise<string> {
  const [macKey] = await sealer.macKeys(CSRF);
  if (macKey === undefined) throw new Error("a sealer has a key");
  return toBase64Url(new Uint8Array(await crypto.subtle.sign("HMAC", macKey, utf8(key))));
}

/** Whether the form was made for this very browser, or session. */
export async function verifyCsrfToken(
  { sealer }: Pick<BrowserDeps, "sealer">,
  key: string | undefined,
  token: string | undefined,
): Promise<boolean> {
  const mac = token === undefined ? undefined : fromBase64Url(token);
  if (key === undefined || mac === undefined) return false;
  for (const macKey of await sealer.macKeys(CSRF))
    if (await crypto.subtle.verify("HMAC", macKey, mac, utf8(key))) return true;
  return false;
}

/** Whose page sent the request (Fetch Metadata); undefined where the browser does not say. */
export const fetchSite = (request: Request): string | undefined => request.headers.get("sec-fetch-site") ?? undefined;

/**
 * Whether a form came from a page of somebody else. Browsers that do not say by Fetch Metadata still send `Origin` with a
 * form; our pages let them send none but `null` (`Referrer-Policy`). The host decides: a proxy may have taken TLS away.
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
