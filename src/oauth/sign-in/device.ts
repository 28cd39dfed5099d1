import { normalizeEmail } from "../../platform/text/email.ts";
import { fromBase64Url, toBase64Url } from "../../platform/text/encoding.ts";
import { randomId } from "../../platform/runtime/random.ts";
import type { AnyCall } from "../model/call.ts";
import { hasTwoFactors, type Methods } from "../model/methods.ts";
import type { UserRecord } from "../users/user-store.ts";
import type { Accounts, Device, SignIn } from "./accounts.ts";
import type { Tell } from "./tell.ts";
import { createMac, verifyMac, readRawCookie, setLastingCookie, withCookie, type BrowserDeps } from "./browser.ts";
import { DAY_MS } from "../../platform/runtime/clock.ts";

/**
 * Browsers in which users signed in before, recognized by a cookie (OWASP, "Slow down online guessing attacks with
 * device cookies"). Their attempts are counted separately, so strangers who guess cannot lock the user out. A thief of
 * the cookie gets a counter of the same strength and nothing else.
 *
 *   none ──sign-in──▶ known for this user ──a year · signed out everywhere · password changed──▶ none
 *
 * The cookie names no user. Each entry is `<id>.<time in base 36>.<MAC over user, id and time>`. People who share a
 * browser have an entry each.
 */
export interface SignInDeps extends BrowserDeps {
  readonly accounts: Accounts;
  /** The form for a forgotten password; undefined if the platform sends no mail. */
  forgotAddress(call: AnyCall): string | undefined;
  readonly tell: Tell;
}

const PURPOSE = "device";
const LIFETIME_MS = 365 * DAY_MS;
/** People per browser. Older entries are dropped. */
const MAX_ENTRIES = 5;
const ENTRY = /^([\w-]{1,64})\.([0-9a-z]{1,10})\.([\w-]{43})$/;
const MAX_ENTRY_CHARS = 64 + 1 + 10 + 1 + 43;
const SEPARATOR = "~";

/** Signs in on one of our pages, with the browser's device entry if it has one. */
export const signInByPassword = async (
  deps: SignInDeps,
  address: string,
  password: string,
  call: AnyCall,
): Promise<SignIn> => deps.accounts.signIn(address, { password, device: await knownDevice(deps, call, address) }, call);

/**
 * The id of browsers in which the user signed in without a password. They share one count. Otherwise somebody with the
 * user's account at a provider could start any number of sessions, and guess passwords in each.
 */
const WITHOUT_PASSWORD = "without-password";

/**
 * Adds the device cookie to the response of a sign-in and tells the person, unless the browser has the cookie. If a
 * second factor follows, this happens after it.
 */
export async function rememberDevice(
  deps: SignInDeps,
  call: AnyCall,
  answer: Response,
  { email, device, needsCode }: Omit<Extract<SignIn, { readonly kind: "ok" }>, "user">,
): Promise<Response> {
  if (device || needsCode) return answer;
  deps.tell(call, "sign_in", email);
  return withCookie(answer, await deviceCookie(deps, call, email, call.nowMs));
}

/** The same after a sign-in by a provider or a passkey. */
export async function rememberWithoutPassword(
  deps: SignInDeps,
  call: AnyCall,
  answer: Response,
  { email, signedOutAtMs, hasSecondFactor }: Pick<UserRecord, "email" | "signedOutAtMs" | "hasSecondFactor">,
  methods: Methods | undefined,
): Promise<Response> {
  if (hasSecondFactor && !hasTwoFactors(methods)) return answer;
  const known = await knownDevice(deps, call, email);
  if (known !== undefined && known.sinceMs > signedOutAtMs) return answer;
  deps.tell(call, "sign_in", email);
  return withCookie(answer, await deviceCookie(deps, call, email, call.nowMs, WITHOUT_PASSWORD));
}

/** The browser's entry for this user, if valid. */
export async function knownDevice(deps: BrowserDeps, call: AnyCall, address: string): Promise<Device | undefined> {
  const email = normalizeEmail(address);
  if (email === undefined) return undefined;
  for (const entry of readEntries(deps, call)) {
    const device = await readEntry(deps, entry, email);
    if (device !== undefined && call.nowMs < device.sinceMs + LIFETIME_MS) return device;
  }
  return undefined;
}

/** The cookie that recognizes the browser for this user from now on. */
export async function deviceCookie(
  deps: BrowserDeps,
  call: AnyCall,
  email: string,
  sinceMs: number,
  id: string = randomId(deps.random),
): Promise<string> {
  const device = { id, sinceMs };
  const mac = toBase64Url(await createMac(deps.sealer, PURPOSE, macInput(email, device)));
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
  return (await verifyMac(sealer, PURPOSE, macInput(email, device), mac)) ? device : undefined;
}

const macInput = (email: string, { id, sinceMs }: Device): string => JSON.stringify([email, id, sinceMs]);
