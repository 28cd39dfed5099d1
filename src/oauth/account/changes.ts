import { err, ok, type Result } from "../../platform/model/result.ts";
import { isRecent } from "../factors/factors.ts";
import { revokeAccess } from "../grants/revoke-grants.ts";
import { readParameters, type Parameters } from "../model/parameters.ts";
import type { AccountNotice } from "../pages/views/account.ts";
import { sendLink } from "../recovery/link.ts";
import type { RecoveryDeps } from "../recovery/recovery.ts";
import { isCrossSite, recognizeBrowser, verifyCsrfToken, withCookie, CROSS_SITE_FORM } from "../sign-in/browser.ts";
import { endBrowserSession, findAccountSession, type Session } from "../sign-in/sessions.ts";
import type { AccountDeps } from "./deps.ts";
import { formKey } from "./form-key.ts";
import { accountErrorPage, redirectToAccount, requestedLocales } from "./notice.ts";
import { accountPage } from "./page.ts";
import { signInAgain } from "./sign-in.ts";
import type { FormCall } from "../sign-in/form.ts";

export interface Admitted {
  readonly session: Session;
  readonly form: Parameters;
}

/**
 * Checks a form of the account page. Returns its session, or a response that changes nothing.
 *
 *   sent from another site, or with a field twice (model/parameters.ts) ──▶ 400 page
 *   nobody is signed in any more ──▶ 303 to the page, to sign in, which says so (`isOver`)
 *   the form is of another sign-in ──▶ 400, the page again
 */
export async function admit(
  deps: AccountDeps,
  call: FormCall,
  action: string,
  isOver: AccountNotice = "notSignedIn",
): Promise<Result<Admitted, Response>> {
  const refusePage = (detail: string, reason = detail): Result<never, Response> =>
    err(accountErrorPage(deps, call, action, { detail, reason }));
  if (isCrossSite(call)) return refusePage(CROSS_SITE_FORM);
  const form = readParameters(call.body, deps.names);
  if (!form.ok) return refusePage(form.error.description, form.error.reason);
  const session = await findAccountSession(deps, call);
  if (session === undefined) return err(redirectToAccount(deps, call, isOver));
  if (await verifyCsrfToken(deps, formKey(deps, call), form.value.get("csrf")))
    return ok({ session, form: form.value });
  const actor = `user ${session.user.email}`;
  const reason = "the form was not made for this session";
  deps.noteRefusal(call, action, { error: "invalid_request", reason, actor });
  return err(await accountPage(deps, call, session, "stale"));
}

/**
 * `POST /account/remove-access`: revokes all grants of one client, as `DELETE /refreshtokens` does, and its consent.
 */
export async function removeAccess(deps: AccountDeps, call: FormCall): Promise<Response> {
  const admitted = await admit(deps, call, "remove access");
  if (!admitted.ok) return admitted.error;
  const { session, form } = admitted.value;
  const clientId = form.get("client_id");
  if (clientId === undefined) return accountErrorPage(deps, call, "remove access", { detail: "client_id is missing." });
  const { email } = session.user;
  const ended = await revokeAccess(
    deps,
    { email, clientId, by: `of client ${clientId} at the account page` },
    call,
    deps.consents.revokeStatement(email, clientId),
  );
  // If grants remain, the page still shows the application, and the user can repeat.
  return redirectToAccount(deps, call, ended ? "removed" : undefined);
}

/** `POST /account/verify-address`: sends a link to the address, after the answer. */
export async function askToVerify(deps: AccountDeps, recovery: RecoveryDeps, call: FormCall): Promise<Response> {
  const admitted = await admit(deps, call, "verify address");
  if (!admitted.ok) return admitted.error;
  const { email } = admitted.value.session.user;
  const browser = recognizeBrowser(deps, call);
  const wanted = { email, browserKey: browser.key, request: "", locales: requestedLocales(call) };
  call.waitUntil(sendLink(recovery, call, { ...wanted, purpose: "verify", action: "verify address" }));
  return withCookie(redirectToAccount(deps, call, "linkSent"), browser.cookie);
}

/** `POST /account/sign-out`: ends this browser's session. Tokens stay valid by their own rules. */
export async function signOut(deps: AccountDeps, call: FormCall): Promise<Response> {
  // If it has just ended, the person has their wish.
  const admitted = await admit(deps, call, "sign out", "signedOut");
  if (!admitted.ok) return admitted.error;
  const cookie = await endBrowserSession(deps, call);
  deps.log.info("session ended", { requestId: call.requestId, user: admitted.value.session.user.email });
  return withCookie(redirectToAccount(deps, call, "signedOut"), cookie);
}

/**
 * `POST /account/end-session`: ends one session of the user, and every grant and token issued in it, as an operator's
 * `POST sessions/{id}/revoke` does. It needs a sign-in of the last quarter of an hour (ASVS 7.5.2).
 *
 * One request ends 10,000 grants. Those that are left would still give access, so the page says that this is not all.
 * The same form ends more of them, and `POST /account/end-all` all.
 */
export async function endSession(deps: AccountDeps, call: FormCall): Promise<Response> {
  const admitted = await admit(deps, call, "end session");
  if (!admitted.ok) return admitted.error;
  const { session, form } = admitted.value;
  if (!isRecent(session, call)) return signInAgain(deps, call, session);
  const { email } = session.user;
  const sid = form.get("session") ?? "";
  // If it has just ended, the person has their wish.
  if (!(await deps.sessions.owns(email, sid))) return redirectToAccount(deps, call, undefined);
  const { nowMs, requestId } = call;
  const by = { atMs: nowMs, requestId, actor: `user ${email}`, subject: `sessions/${sid}` };
  try {
    const record = { ...by, action: "revoke", outcome: "done", reason: "" } as const;
    const ended = await deps.revocations.revokeAll({ kind: "session", key: sid, nowMs, record, person: email });
    deps.log.info("session ended", { requestId, user: email });
    return redirectToAccount(deps, call, ended === "ended" ? "sessionEnded" : "sessionEndedPartly");
  } finally {
    // The statement may have run even if its response was lost.
    deps.trust.markStale();
    deps.sessionsEnded({ email });
  }
}

/**
 * `POST /account/end-all`: revokes every session, grant and token of the user, as an operator's `POST
 * users/{email}/revoke` does. It needs a sign-in as recent.
 */
export async function revokeAll(deps: AccountDeps, call: FormCall): Promise<Response> {
  const admitted = await admit(deps, call, "end all");
  if (!admitted.ok) return admitted.error;
  const { session } = admitted.value;
  if (!isRecent(session, call)) return signInAgain(deps, call, session);
  const { email } = session.user;
  const { nowMs, requestId } = call;
  const by = { atMs: nowMs, requestId, actor: `user ${email}`, subject: `users/${email}` };
  const record = { ...by, action: "revoke", outcome: "done", reason: "" } as const;
  try {
    // Some of more than 100,000 grants are left. They are invalid, because the person was signed out after them.
    await deps.revocations.revokeAll({ kind: "user", key: email, nowMs, record });
  } finally {
    // The statement may have run even if its response was lost.
    deps.trust.markStale();
    deps.sessionsEnded({ email });
  }
  deps.log.info("everything of a user ended", { requestId, user: email });
  return withCookie(redirectToAccount(deps, call, "ended"), await endBrowserSession(deps, call));
}
