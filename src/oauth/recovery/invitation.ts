/**
 * Invitations: an operator invites a person by mail, and the link in it makes the person a member. If the platform
 * sends no mail, or for the first operator, an operator gets the link and hands it over (by hand).
 *
 *   PUT …/invitations/{email} ──mail──▶ GET /invitation: a page ──▶ POST /invitation ──▶ a member
 *   POST …/{email}/link ──by hand──────▶ the same
 *
 * - The page asks for a password too, if the person has no way to sign in yet.
 * - The link works once and in any browser: that of a mail for a week, a link by hand for a day. Opening it changes
 *   nothing.
 * - The link of a mail also verifies the address, since the person reads mail there. A link by hand does not.
 * - The form is bound to the browser that opened the link, so no other site can send it.
 * - One transaction sets the password, adds the member and ends the invitation. Of two requests at once, one succeeds.
 */
import { sha256Hex } from "../../platform/secrets/hash.ts";
import { describeError } from "../../platform/runtime/log.ts";
import { hashPassword } from "../../platform/secrets/password-hash.ts";
import type { AnyCall } from "../model/call.ts";
import type { Parameters } from "../model/parameters.ts";
import { withParameters } from "../model/redirect.ts";
import { brandOfPlace } from "../pages/brand.ts";
import { pageContext } from "../pages/page.ts";
import type { NewPasswordFault } from "../pages/views/links.ts";
import { csrfToken, readCookie, recognizeBrowser, verifyCsrfToken, withCookie } from "../sign-in/browser.ts";
import { deviceCookie } from "../sign-in/device.ts";
import type { Invitation } from "./invitation-store.ts";
import { accountOf } from "./link.ts";
import { chosenPasswordFault } from "./new-password.ts";
import type { LinkDeps, RecoveryDeps } from "./recovery.ts";
import { readForm, type FormCall } from "../sign-in/form.ts";

const ACTION = "accept invitation";
/** How often one request tries, if the person's ways to sign in change each time. */
const MOST_TRIES = 3;

/** The link of an invitation. */
export const invitationLink = (base: string, token: string): string =>
  withParameters(`${base}/invitation`, { query: { token } });

/** Sends the link to the person. Returns false if the mail was not accepted. */
export async function sendInvitation(
  deps: RecoveryDeps,
  invited: {
    readonly email: string;
    readonly token: string;
    readonly place: string;
    /** The inviting tenant. Undefined: an organization invites. */
    readonly tenant?: string;
    readonly language: string;
    readonly origin: string;
    readonly nowMs: number;
  },
): Promise<boolean> {
  const { email, token, place, tenant, language, origin, nowMs } = invited;
  const base = deps.mailBase(origin);
  const link = invitationLink(base, token);
  try {
    const from = { kind: tenant === undefined ? "organization" : "tenant", owner: tenant ?? "" };
    const brand = await brandOfPlace(deps, from, nowMs);
    const view = { uiLocales: language, acceptLanguage: null, brand };
    await deps.sendMail(deps.mails.invitation({ ...view, email, link, base, place }));
    return true;
  } catch (thrown) {
    deps.log.error("mail not sent", { user: email, error: describeError(thrown) });
    return false;
  }
}

/** `GET /invitation`: shows the invitation. */
export async function openInvitation(deps: LinkDeps, call: AnyCall): Promise<Response> {
  const token = call.url.searchParams.get("token") ?? "";
  const invitation = await deps.invitations.find(await sha256Hex(token), call.nowMs);
  return invitation === undefined ? voidPage(deps, call) : invitationPage(deps, call, { invitation, token });
}

/**
 * `POST /invitation`
 *
 *   sent from another site ──▶ 400 page          the invitation is not open ──▶ 400 page
 *   the form is stale, or the new password is not acceptable ──▶ 400, the page again
 *   the person got or lost a way to sign in at the same moment ──▶ once more from the beginning;
 *     each time ──▶ 400, the page again
 *   else ──▶ a member. A typed password of a person who can sign in by now is not set, and the page says so
 */
export async function acceptInvitation(deps: LinkDeps, call: FormCall): Promise<Response> {
  const form = readForm(deps, call, ACTION);
  return form.ok ? acceptForm(deps, call, form.value) : form.error;
}

async function acceptForm(deps: LinkDeps, call: FormCall, form: Parameters, triesLeft = MOST_TRIES): Promise<Response> {
  const token = form.get("token") ?? "";
  const tokenHash = await sha256Hex(token);
  const invitation = await deps.invitations.find(tokenHash, call.nowMs);
  if (invitation === undefined) return voidPage(deps, call);
  const again = (fault: NewPasswordFault): Promise<Response> =>
    invitationPage(deps, call, { invitation, token, fault });
  if (!(await verifyCsrfToken(deps, readCookie(call, "browser", deps.names), form.get("csrf")))) return again("stale");
  const { email, needsPassword } = invitation;
  const password = form.get("new_password") ?? "";
  const fault = needsPassword ? await chosenPasswordFault(deps, email, password, form) : undefined;
  if (fault !== undefined) return again(fault);
  const hash = needsPassword ? hashPassword(password, deps.random) : null;
  // Nothing is read after the change, since a failure would hide it.
  const brand = await brandOfPlace(deps, invitation, call.nowMs);
  if (!(await accept(deps, call, { tokenHash, invitation, hash })))
    return triesLeft > 1 ? acceptForm(deps, call, form, triesLeft - 1) : again("stale");
  deps.log.info("invitation accepted", { requestId: call.requestId, user: email });
  const view = {
    ...pageContext(call, localesOf(invitation), brand),
    next: accountOf(call),
    place: invitation.place,
    passwordIsUnused: !needsPassword && password !== "",
  };
  const page = deps.pages.linkUsed({ ...view, kind: "invitation" });
  return needsPassword ? withCookie(page, await deviceCookie(deps, call, email, call.nowMs)) : page;
}

function accept(
  { invitations, audit }: LinkDeps,
  { nowMs, requestId }: AnyCall,
  accepted: { readonly tokenHash: string; readonly invitation: Invitation; readonly hash: string | null },
): Promise<boolean> {
  const { tokenHash, invitation, hash } = accepted;
  const { email, kind, owner, byHand } = invitation;
  const subject = `${kind}s/${owner}/members/${email}`;
  const record = { atMs: nowMs, requestId, actor: `user ${email}`, action: ACTION, subject, outcome: "done" } as const;
  const row = audit.statement("always", {
    ...record,
    reason: byHand ? "by a link from an operator" : "by a link sent to the address",
  });
  return invitations.accept(tokenHash, invitation, hash, nowMs, row);
}

async function invitationPage(
  deps: LinkDeps,
  call: AnyCall,
  shown: { readonly invitation: Invitation; readonly token: string; readonly fault?: NewPasswordFault },
): Promise<Response> {
  const { invitation, token, fault } = shown;
  const browser = recognizeBrowser(deps, call);
  const page = deps.pages.invitation({
    ...pageContext(call, localesOf(invitation), await brandOfPlace(deps, invitation, call.nowMs)),
    status: fault === undefined ? 200 : 400,
    action: `${deps.pagesBase(call)}/invitation`,
    hidden: { token, csrf: await csrfToken(deps, browser.key) },
    email: invitation.email,
    place: invitation.place,
    needsPassword: invitation.needsPassword,
    fault,
  });
  return withCookie(page, browser.cookie);
}

function voidPage(deps: LinkDeps, call: AnyCall): Response {
  const reason = "the invitation is unknown, accepted, withdrawn or expired";
  deps.noteRefusal(call, ACTION, { error: "invalid_request", reason, actor: "" });
  return deps.pages.linkVoid({ ...pageContext(call, undefined), kind: "invitation", account: accountOf(call) });
}

const localesOf = ({ language }: Invitation): string | undefined => (language === "" ? undefined : language);
