import { err, ok, type Result } from "../../platform/result.ts";
import { endAccess } from "../grants/revoke-grants.ts";
import type { AnyCall } from "../model/call.ts";
import { readParameters, type Parameters } from "../model/form.ts";
import { isFromElsewhere, isOwnForm, withCookie, FROM_ELSEWHERE } from "../sign-in/browser.ts";
import { dropSession, findAccountSession, type Session } from "../sign-in/sessions.ts";
import type { AccountDeps } from "./deps.ts";
import { backToAccount, refusedAtAccount } from "./notice.ts";
import { accountPage, formKey } from "./page.ts";

export type FormCall = AnyCall & { readonly body: URLSearchParams };

export interface Admitted {
  readonly session: Session;
  readonly form: Parameters;
}

/**
 * Who sent a form of the page, or the answer to one that does nothing.
 *
 *   from another site, or a field twice ──▶ 400 page, nothing is looked at
 *   nobody is signed in any more ──▶ 303 to the page, where one signs in
 *   the form is another sign-in's or none ──▶ 400, the page again
 */
export async function admit(call: FormCall, action: string, context: AccountDeps): Promise<Result<Admitted, Response>> {
  const refusePage = (detail: string, reason = detail): Result<never, Response> =>
    err(refusedAtAccount(call, action, { detail, reason }, context));
  if (isFromElsewhere(call)) return refusePage(FROM_ELSEWHERE);
  const form = readParameters(call.body, context.names);
  if (!form.ok) return refusePage(form.error.description, form.error.reason);
  const session = await findAccountSession(call, context);
  if (session === undefined) return err(backToAccount(call, undefined, context));
  if (await isOwnForm(formKey(call, context), form.value.get("csrf"), context))
    return ok({ session, form: form.value });
  const actor = `user ${session.user.email}`;
  const reason = "the form was not made for this session";
  context.noteRefusal(call, action, { error: "invalid_request", reason, actor });
  return err(await accountPage(call, session, "stale", context));
}

/**
 * `POST /account/remove-access`: ends all that one client got, as `DELETE /refreshtokens` does, and takes back what it was
 * allowed. What is gone stays gone.
 */
export async function removeAccess(call: FormCall, context: AccountDeps): Promise<Response> {
  const admitted = await admit(call, "remove access", context);
  if (!admitted.ok) return admitted.error;
  const { session, form } = admitted.value;
  const clientId = form.get("client_id");
  if (clientId === undefined)
    return refusedAtAccount(call, "remove access", { detail: "client_id is missing." }, context);
  const { email } = session.user;
  const ended = await endAccess(
    { email, clientId, by: `of client ${clientId} at the account page` },
    call,
    context,
    context.consents.takeBackStatement(email, clientId),
  );
  // What is left over of very many is shown, and can be taken away by another press.
  return backToAccount(call, ended ? "removed" : undefined, context);
}

/** `POST /account/sign-out`: ends this browser's session. Tokens live on by their own rules. */
export async function signOut(call: FormCall, context: AccountDeps): Promise<Response> {
  const admitted = await admit(call, "sign out", context);
  if (!admitted.ok) return admitted.error;
  const cookie = await dropSession(call, context);
  context.log.info("session ended", { requestId: call.requestId, user: admitted.value.session.user.email });
  return withCookie(backToAccount(call, "signedOut", context), cookie);
}

/** `POST /account/end-all`: ends every session, grant and token of the user, as an operator's `POST users/{email}/revoke`. */
export async function endAll(call: FormCall, context: AccountDeps): Promise<Response> {
  const admitted = await admit(call, "end all", context);
  if (!admitted.ok) return admitted.error;
  const { email } = admitted.value.session.user;
  const { nowMs, requestId } = call;
  const by = { atMs: nowMs, requestId, actor: `user ${email}`, subject: `users/${email}` };
  try {
    // What is left over of very many grants counts no more either.
    await context.endings.endAll("user", email, nowMs, { ...by, action: "revoke", outcome: "done", reason: "" });
  } finally {
    // Whatever became of the answer: it may have been written.
    context.trust.changedBeside();
  }
  context.log.info("everything of a user ended", { requestId, user: email });
  return withCookie(backToAccount(call, "ended", context), await dropSession(call, context));
}
