import { toHex } from "../../platform/text/encoding.ts";
import { sha256Hex } from "../../platform/secrets/hash.ts";
import { networkOf } from "../../platform/outside/ip-range.ts";
import { describeError } from "../../platform/runtime/log.ts";
import { randomSecret } from "../../platform/runtime/random.ts";
import type { AnyCall } from "../model/call.ts";
import { withParameters } from "../model/redirect.ts";
import { brandOfAddress } from "../pages/brand.ts";
import { pageContext } from "../pages/page.ts";
import { createMac, recognizeBrowser } from "../sign-in/browser.ts";
import { knownDevice } from "../sign-in/device.ts";
import type { MailLink, Purpose } from "./mail-link-store.ts";
import { LINK_LIFE_MS, type RecoveryDeps } from "./recovery.ts";

const NETWORK = "mail link network";
const PATH = { reset: "/reset", verify: "/verify" } as const satisfies Record<Purpose, string>;

export interface WantedLink {
  readonly purpose: Purpose;
  readonly email: string;
  /** The key of the browser in which the link works. */
  readonly browserKey: string;
  /** The authorization request to continue with. May be empty. */
  readonly request: string;
  readonly locales: string | undefined;
  /** The action in the audit log. */
  readonly action: string;
}

/** Makes a link and sends it. Runs after the response, so it never throws. A mail that is not accepted is logged. */
export async function sendLink(deps: RecoveryDeps, call: AnyCall, wanted: WantedLink): Promise<void> {
  const { requestId, nowMs } = call;
  const { purpose, email, action } = wanted;
  const base = deps.mailBase(call.url.origin);
  try {
    const token = randomSecret(deps.random);
    const network = networkOf(call.request.headers.get("cf-connecting-ip") ?? "");
    const made = await deps.mailLinks.make({
      purpose,
      tokenHash: await sha256Hex(token),
      email,
      browserHash: await sha256Hex(wanted.browserKey),
      networkHash: toHex(await createMac(deps.sealer, NETWORK, network)),
      knownSinceMs: (await knownDevice(deps, call, email))?.sinceMs ?? 0,
      request: wanted.request,
      nowMs,
      expiresAtMs: nowMs + LINK_LIFE_MS,
    });
    const about = { atMs: nowMs, requestId, actor: "", action, subject: `users/${email}` };
    if (!made) {
      const reason = "no such user, no password to reset, or too many links within an hour";
      return await deps.audit.note({ ...about, outcome: "refused", reason });
    }
    const link = withParameters(`${base}${PATH[purpose]}`, { query: { token } });
    const brand = await brandOfAddress(deps, email);
    await deps.sendMail(deps.mails[purpose]({ ...pageContext(call, wanted.locales, brand), email, link, base }));
    await deps.audit.note({ ...about, outcome: "done", reason: "a link was sent" });
  } catch (thrown) {
    deps.log.error("mail not sent", { requestId, user: email, error: describeError(thrown) });
  }
}

export interface OpenedLink {
  readonly link: MailLink;
  readonly token: string;
  readonly tokenHash: string;
  /** The key of this browser. */
  readonly browserKey: string;
  readonly browserHash: string;
}

/** `elsewhere`: the link is valid, but only in the browser that requested it. */
export type Unusable = { readonly kind: "void" | "elsewhere" };

export async function findLink(
  deps: RecoveryDeps,
  call: AnyCall,
  purpose: Purpose,
  token = "",
): Promise<OpenedLink | Unusable> {
  const tokenHash = await sha256Hex(token);
  const link = await deps.mailLinks.find(purpose, tokenHash, call.nowMs);
  if (link === undefined) return { kind: "void" };
  const { key: browserKey } = recognizeBrowser(deps, call);
  const browserHash = await sha256Hex(browserKey);
  if (browserHash !== link.browserHash) return { kind: "elsewhere" };
  return { link, token, tokenHash, browserKey, browserHash };
}

/** The 400 page for a link that cannot be used. */
export function voidPage(deps: RecoveryDeps, call: AnyCall, action: string, { kind }: Unusable): Response {
  const reason = kind === "void" ? "the link is unknown, used, void or expired" : "the link is another browser's";
  deps.noteRefusal(call, action, { error: "invalid_request", reason, actor: "" });
  return deps.pages.linkVoid({ ...pageContext(call, undefined), kind, account: accountOf(call) });
}

export const accountOf = ({ publicBase }: AnyCall): string => `${publicBase}/account`;
