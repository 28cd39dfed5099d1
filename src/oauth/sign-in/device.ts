import { normalizeEmail } from "../../platform/email.ts";
import { fromBase64Url, toBase64Url, utf8 } from "../../platform/encoding.ts";
import { randomId } from "../../platform/random.ts";
import type { AnyCall } from "../model/call.ts";
import type { Accounts, Device, SignIn } from "./accounts.ts";
import { readRawCookie, setLastingCookie, withCookie, type BrowserDeps } from "./browser.ts";

/**
 * Browsers that users signed in by before, known by a cookie (OWASP, "Slow down online guessing attacks with device
 * cookies"). Their attempts are counted apart, so strangers who guess at an account do not lock its user out; who steals
 * the cookie has a count of the same strength and nothing else.
 *
 *   none ──sign-in by password──▶ known for this user ──a year · the user signed out everywhere, has another password──▶ none
 *
 * The cookie names no user: each entry is `<id>.<time in base 36>.<MAC over user, id and time>`, several users' in a
 * browser that they share.
 */
export interface SignInDeps extends BrowserDeps {
  readonly accounts: Accounts;
}

const PURPOSE = "device";
const LIFETIME_MS = 365 * 24 * 3_600_000;
/** People who sign in by one browser; the ones before are forgotten. */
const MAX_ENTRIES = 5;
const ENTRY = /^([\w-]{1,64})\.([0-9a-z]{1,10})\.([\w-]{43})$/;
const MAX_ENTRY_CHARS = 64 + 1 + 10 + 1 + 43;
const SEPARATOR = "~";

/** A sign-in at a page of ours, as the browser that it is. */
export const signInByPassword = async (
  deps: SignInDeps,
  address: string,
  password: string,
  call: AnyCall,
): Promise<SignIn> => deps.accounts.signIn(address, { password, device: await knownDevice(deps, call, address) }, call);

/** The answer to a sign-in, by which the browser is known from now on unless it was. */
export async function rememberDevice(
  deps: BrowserDeps,
  call: AnyCall,
  answer: Response,
  { email, device }: Extract<SignIn, { readonly kind: "ok" }>,
): Promise<Response> {
  return device ? answer : withCookie(answer, await deviceCookie(deps, call, email, call.nowMs));
}

/** The browser as one that this user signed in by; undefined where nobody knows. */
export async function knownDevice(deps: BrowserDeps, call: AnyCall, address: string): Promise<Device | undefined> {
  const email = normalizeEmail(address);
  if (email === undefined) return undefined;
  for (const entry of readEntries(deps, call)) {
    const device = await readEntry(deps, entry, email);
    if (device !== undefined && call.nowMs < device.sinceMs + LIFETIME_MS) return device;
  }
  return undefined;
}

/** The cookie by which the browser is known for this user from now on. */
export async function deviceCookie(deps: BrowserDeps, call: AnyCall, email: string, sinceMs: number): Promise<string> {
  const device = { id: randomId(deps.random), sinceMs };
  const [key] = await deps.sealer.macKeys(PURPOSE);
  if (key === undefined) throw new Error("a sealer has a key");
  const mac = toBase64Url(new Uint8Array(await crypto.subtle.sign("HMAC", key, signed(email, device))));
  const others: string[] = [];
  for (const entry of readEntries(deps, call))
    if ((await readEntry(deps, entry, email)) === undefined) others.push(entry);
  const entries = [`${device.id}.${sinceMs.toString(36)}.${mac}`, ...others].slice(0, MAX_ENTRIES);
  return setLastingCookie(call, "device", entries.join(SEPARATOR), LIFETIME_MS / 1000, deps.names);
}

function readEntries({ names }: BrowserDeps, call: AnyCall): readonly string[] {
  const text = readRawCookie(call, "device", names) ?? "";
  return text.length > MAX_ENTRIES * (MAX_ENTRY_CHARS + 1)
    ? []
    : text.split(SEPARATOR).filter((entry) => ENTRY.test(entry));
}

async function readEntry({ sealer }: BrowserDeps, entry: string, email: string): Promise<Device | undefined> {
  const [, id, time, macText = ""] = ENTRY.exec(entry) ?? [];
  const mac = fromBase64Url(macText);
  if (id === undefined || time === undefined || mac === undefined) return undefined;
  const device = { id, sinceMs: parseInt(time, 36) };
  for (const key of await sealer.macKeys(PURPOSE))
    if (await crypto.subtle.verify("HMAC", key, mac, signed(email, device))) return device;
  return undefined;
}

const signed = (email: string, { id, sinceMs }: Device): Uint8Array<ArrayBuffer> =>
  utf8(JSON.stringify([email, id, sinceMs]));
