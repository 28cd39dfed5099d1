import { hashPassword } from "../../platform/secrets/password-hash.ts";
import type { AnyCall } from "../model/call.ts";
import { withParameters } from "../model/redirect.ts";
import { brandOfRequest } from "../pages/brand.ts";
import { pageContext } from "../pages/page.ts";
import type { NewPasswordFault } from "../pages/views/links.ts";
import { csrfToken, verifyCsrfToken, withCookie } from "../sign-in/browser.ts";
import { deviceCookie } from "../sign-in/device.ts";
import { allExpiredSec } from "../tokens/access-token.ts";
import { accountOf, findLink, voidPage, type OpenedLink } from "./link.ts";
import type { MailLink, PasswordSet } from "./mail-link-store.ts";
import { chosenPasswordFault } from "./new-password.ts";
import type { RecoveryDeps } from "./recovery.ts";
import { readForm, type FormCall } from "../sign-in/form.ts";
import { ownChange } from "../model/own-change.ts";

const ACTION = "reset password";

/** `GET /reset`: opens the link of the mail, and changes nothing. */
export async function openLink(deps: RecoveryDeps, call: AnyCall): Promise<Response> {
  const opened = await findLink(deps, call, "reset", call.url.searchParams.get("token") ?? undefined);
  return "link" in opened ? newPasswordPage(deps, call, opened, undefined) : voidPage(deps, call, ACTION, opened);
}

/**
 * `POST /reset`: the new password.
 *
 *   sent from another site ──▶ 400 page          the link is not valid, or another browser's ──▶ 400 page
 *   the form is stale, or the password is not acceptable ──▶ 400, the page again; the link stays valid
 *   else ──▶ the password is changed; every session, grant and token of the person ends; a page leads on
 */
export async function resetPassword(deps: RecoveryDeps, call: FormCall): Promise<Response> {
  const form = readForm(deps, call, ACTION);
  if (!form.ok) return form.error;
  const opened = await findLink(deps, call, "reset", form.value.get("token"));
  if (!("link" in opened)) return voidPage(deps, call, ACTION, opened);
  const { link, tokenHash, browserKey, browserHash } = opened;
  if (!(await verifyCsrfToken(deps, browserKey, form.value.get("csrf"))))
    return newPasswordPage(deps, call, opened, "stale");
  const password = form.value.get("new_password") ?? "";
  const { email } = link;
  const fault = await chosenPasswordFault(deps, email, password, form.value);
  if (fault !== undefined) return newPasswordPage(deps, call, opened, fault);
  const hash = hashPassword(password, deps.random);
  // Nothing is read after the change, since a failure would hide it.
  const brand = await brandOfRequest(deps, link.request, call);
  const done = await store(deps, call, { tokenHash, browserHash, email, hash });
  if (done === undefined) return voidPage(deps, call, ACTION, { kind: "void" });
  deps.log.info("password reset", { requestId: call.requestId, user: email });
  deps.tell(call, "password", email);
  // With a second factor, wrong codes still count. Otherwise each link would allow its reader more guesses of codes.
  if (!done.hasSecondFactor) call.waitUntil(deps.accounts.unlock(email));
  call.waitUntil(removeSignedOut(deps, email, done.signedOutAtMs));
  const page = deps.pages.linkUsed({
    ...pageContext(call, localesOf(link), brand),
    kind: "reset",
    next: nextOf(deps, call, link),
  });
  // The browser is now known as the person's. With a second factor, it is known only after the code.
  return done.hasSecondFactor ? page : withCookie(page, await deviceCookie(deps, call, email, done.signedOutAtMs + 1));
}

async function removeSignedOut(deps: RecoveryDeps, email: string, signedOutAtMs: number): Promise<void> {
  await deps.revocations.deleteSignedOut(email, signedOutAtMs);
  deps.sessionsEnded({ email });
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
): Promise<PasswordSet | undefined> {
  const { email } = change;
  try {
    return await deps.mailLinks.setPassword({ ...change, nowMs }, [
      deps.revocations.revokeStatement("user", email, allExpiredSec(nowMs), "if changed"),
      deps.audit.statement(
        "if changed",
        ownChange({ nowMs, requestId }, { email, action: ACTION, reason: "by a link sent to the address" }),
      ),
    ]);
  } finally {
    // The statement may have run even if its response was lost.
    deps.trust.markStale();
    deps.sessionsEnded({ email });
  }
}

async function newPasswordPage(
  deps: RecoveryDeps,
  call: AnyCall,
  { link, token, browserKey }: OpenedLink,
  fault: NewPasswordFault | undefined,
): Promise<Response> {
  return deps.pages.newPassword({
    ...pageContext(call, localesOf(link), await brandOfRequest(deps, link.request, call)),
    status: fault === undefined ? 200 : 400,
    action: `${deps.pagesBase(call)}/reset`,
    hidden: { token, csrf: await csrfToken(deps, browserKey) },
    email: link.email,
    fault,
  });
}

/** The address at which the person continues: the application's sign-in, or the account page. */
const nextOf = (deps: RecoveryDeps, call: AnyCall, { request }: MailLink): string =>
  request === ""
    ? accountOf(call)
    : withParameters(`${deps.pagesBase(call)}/authorize`, { query: Object.fromEntries(new URLSearchParams(request)) });

const localesOf = ({ request }: MailLink): string | undefined =>
  new URLSearchParams(request).get("ui_locales") ?? undefined;
