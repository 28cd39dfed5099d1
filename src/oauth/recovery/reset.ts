import { sha256Hex } from "../../platform/hash.ts";
import { hashPassword, PASSWORD_CHARS } from "../../platform/password-hash.ts";
import { newPasswordFault } from "../../platform/password-rules.ts";
import type { AnyCall } from "../model/call.ts";
import { readParameters, type Parameters } from "../model/parameters.ts";
import { withParameters } from "../model/redirect.ts";
import { pageContext, refusedPage } from "../pages/page.ts";
import type { NewPasswordFault } from "../pages/port.ts";
import { CROSS_SITE_FORM, csrfToken, isCrossSite, recognizeBrowser, verifyCsrfToken } from "../sign-in/browser.ts";
import { allExpiredSec } from "../tokens/access-token.ts";
import type { FormCall } from "./forgot.ts";
import type { MailLink } from "./mail-link-store.ts";
import type { RecoveryDeps } from "./recovery.ts";

const ACTION = "reset password";

interface Opened {
  readonly link: MailLink;
  readonly token: string;
  readonly tokenHash: string;
  /** The secret of this browser. */
  readonly browserKey: string;
  readonly browserHash: string;
}

/** `GET /reset`: the link of the mail. Uses nothing up. */
export async function openLink(deps: RecoveryDeps, call: AnyCall): Promise<Response> {
  const opened = await find(deps, call, call.url.searchParams.get("token") ?? "");
  return "link" in opened ? newPasswordPage(deps, call, opened, undefined) : voidPage(deps, call, opened.kind);
}

/**
 * `POST /reset`: the new password.
 *
 *   sent from another site ──▶ 400 page          the link is not usable, or another browser's ──▶ 400 page
 *   the form is stale, or the password is not acceptable ──▶ 400, the page again; the link stays usable
 *   else ──▶ the password is changed, everything else of the person ends, the link is used; a page that leads on
 */
export async function resetPassword(deps: RecoveryDeps, call: FormCall): Promise<Response> {
  const refusePage = (detail: string, reason = detail): Response =>
    refusedPage(deps, call, ACTION, { detail, reason, clientId: "" });
  if (isCrossSite(call)) return refusePage(CROSS_SITE_FORM);
  const form = readParameters(call.body, deps.names);
  if (!form.ok) return refusePage(form.error.description, form.error.reason);
  const opened = await find(deps, call, form.value.get("token") ?? "");
  if (!("link" in opened)) return voidPage(deps, call, opened.kind);
  const { link, tokenHash, browserKey, browserHash } = opened;
  if (!(await verifyCsrfToken(deps, browserKey, form.value.get("csrf"))))
    return newPasswordPage(deps, call, opened, "stale");
  const password = form.value.get("new_password") ?? "";
  const { email } = link;
  const owner = { email, platform: [deps.names.platform] };
  const fault = inputFault(password, form.value) ?? (await newPasswordFault(password, owner, deps.commonPasswords));
  if (fault !== undefined) return newPasswordPage(deps, call, opened, fault);
  const hash = hashPassword(password, deps.random);
  if (!(await store(deps, call, { tokenHash, browserHash, email, hash }))) return voidPage(deps, call, "void");
  deps.log.info("password reset", { requestId: call.requestId, user: email });
  call.waitUntil(deps.accounts.unlock(email));
  call.waitUntil(deps.revocations.deleteSignedOut(email, call.nowMs));
  return deps.pages.passwordSet({ ...pageContext(call, localesOf(link)), next: nextOf(deps, call, link) });
}

/** Changes the password, signs everybody out, revokes all tokens and writes the audit row, in one transaction. */
async function store(
  deps: RecoveryDeps,
  { nowMs, requestId }: AnyCall,
  change: {
    readonly tokenHash: string;
    readonly browserHash: string;
    readonly email: string;
    readonly hash: string;
  },
): Promise<boolean> {
  const { email } = change;
  const about = { atMs: nowMs, requestId, actor: `user ${email}`, action: ACTION, subject: `users/${email}` };
  try {
    return await deps.mailLinks.setPassword({ ...change, nowMs }, [
      deps.revocations.revokeStatement("user", email, allExpiredSec(nowMs), "if changed"),
      deps.audit.statement("if changed", { ...about, outcome: "done", reason: "by a link sent to the address" }),
    ]);
  } finally {
    // The statement may have run even if its response was lost.
    deps.trust.markStale();
  }
}

/** `elsewhere`: the link is usable, in the browser that asked for it. */
type Unusable = { readonly kind: "void" | "elsewhere" };

async function find(deps: RecoveryDeps, call: AnyCall, token: string): Promise<Opened | Unusable> {
  const tokenHash = await sha256Hex(token);
  const link = await deps.mailLinks.find(tokenHash, call.nowMs);
  if (link === undefined) return { kind: "void" };
  const { key: browserKey } = recognizeBrowser(deps, call);
  const browserHash = await sha256Hex(browserKey);
  if (browserHash !== link.browserHash) return { kind: "elsewhere" };
  return { link, token, tokenHash, browserKey, browserHash };
}

function inputFault(password: string, form: Parameters): NewPasswordFault | undefined {
  if (password.length < PASSWORD_CHARS.min || password.length > PASSWORD_CHARS.max) return "length";
  return password === form.get("repeated_password") ? undefined : "repeated";
}

async function newPasswordPage(
  deps: RecoveryDeps,
  call: AnyCall,
  { link, token, browserKey }: Opened,
  fault: NewPasswordFault | undefined,
): Promise<Response> {
  return deps.pages.newPassword({
    ...pageContext(call, localesOf(link)),
    status: fault === undefined ? 200 : 400,
    action: `${deps.pagesBase(call)}/reset`,
    hidden: { token, csrf: await csrfToken(deps, browserKey) },
    email: link.email,
    fault,
  });
}

function voidPage(deps: RecoveryDeps, call: AnyCall, kind: Unusable["kind"]): Response {
  const reason = kind === "void" ? "the link is unknown, used, void or expired" : "the link is another browser's";
  deps.noteRefusal(call, ACTION, { error: "invalid_request", reason, actor: "" });
  return deps.pages.linkVoid({ ...pageContext(call, undefined), kind, account: accountOf(call) });
}

const accountOf = ({ publicBase }: AnyCall): string => `${publicBase}/account`;

/** The application's sign-in, or the account page. */
const nextOf = (deps: RecoveryDeps, call: AnyCall, { request }: MailLink): string =>
  request === ""
    ? accountOf(call)
    : withParameters(`${deps.pagesBase(call)}/authorize`, { query: Object.fromEntries(new URLSearchParams(request)) });

const localesOf = ({ request }: MailLink): string | undefined =>
  new URLSearchParams(request).get("ui_locales") ?? undefined;
