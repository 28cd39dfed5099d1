import { fromBase64Url, joinBytes, toBase64Url, utf8 } from "../../platform/text/encoding.ts";
import { sha256Hex } from "../../platform/secrets/hash.ts";
import { createMac, verifyMac, type BrowserDeps } from "../sign-in/browser.ts";
import { HOUR_MS } from "../../platform/runtime/clock.ts";

/**
 * A challenge: 16 random bytes, the time, and a MAC of 32 over them, the purpose and a secret of the browser or the
 * session. A page therefore costs no row, and another browser's page is of no use. The challenge counts once: the
 * transaction that acts on an answer stores its digest until it has expired (passkey-store.ts).
 */
export type ChallengePurpose = "sign in" | "second factor" | "add";

export interface Challenge {
  readonly text: string;
  readonly digest: string;
  readonly endsAtMs: number;
}

/** Our choice: people leave a sign-in page open. Each page has its own challenge. */
const LIFETIME_MS = HOUR_MS;
const RANDOM_BYTES = 16;
/** Digits of the time, to the base of 36. */
const TIME_CHARS = 10;
const HEAD = RANDOM_BYTES + TIME_CHARS;
const MAC_PURPOSE = "passkey challenge";

/** `key`: the secret that the page's form is bound to. */
export async function makeChallenge(
  { random, sealer }: Pick<BrowserDeps, "random" | "sealer">,
  purpose: ChallengePurpose,
  key: string,
  nowMs: number,
): Promise<string> {
  const time = utf8(nowMs.toString(36).padStart(TIME_CHARS, "0"));
  const head = joinBytes([random.bytes(RANDOM_BYTES), time]);
  return toBase64Url(joinBytes([head, await createMac(sealer, MAC_PURPOSE, macInput(purpose, key, head))]));
}

/** Undefined if it was made for something else, for another browser, or too long ago. */
export async function openChallenge(
  { sealer }: Pick<BrowserDeps, "sealer">,
  purpose: ChallengePurpose,
  key: string | undefined,
  text: string,
  nowMs: number,
): Promise<Challenge | undefined> {
  const bytes = fromBase64Url(text);
  if (key === undefined || bytes === undefined) return undefined;
  const [head, mac] = [bytes.slice(0, HEAD), bytes.slice(HEAD)];
  if (!(await verifyMac(sealer, MAC_PURPOSE, macInput(purpose, key, head), mac))) return undefined;
  const madeAtMs = parseInt(new TextDecoder().decode(head.slice(RANDOM_BYTES)), 36);
  const endsAtMs = madeAtMs + LIFETIME_MS;
  return nowMs < endsAtMs ? { text, digest: await sha256Hex(`${MAC_PURPOSE} ${text}`), endsAtMs } : undefined;
}

const macInput = (purpose: ChallengePurpose, key: string, head: Uint8Array): string =>
  JSON.stringify([purpose, key, toBase64Url(head)]);
