/**
 * A signed-in person links and unlinks their accounts at identity providers.
 *
 *   not linked ──form, at most 15 min after a sign-in──▶ at the provider ──back in the same session──▶ linked
 *                                                             └── refused, signed out, or of another user: not linked
 *   linked ──form, at most 15 min after a sign-in, not the last way to sign in──▶ not linked; sign-ins by it end
 *
 * - The person proves both accounts, so their addresses may differ. The provider must be allowed to vouch for the
 *   person's address here, must not be bound to tenants, and must let users link themselves (`linking`).
 * - The sign-in at the provider is bound to the browser and to the session. So nobody can link an account for another
 *   person, by sending them to the provider or by bringing a response into their session.
 * - An account there has at most one user here, and a user at most one account at a provider. The database decides
 *   races.
 */
import { beginFederation } from "../federation/begin.ts";
import { FOR_ACCOUNT } from "../federation/pending.ts";
import { isLinkableBy } from "../federation/providers.ts";
import type { Account, LinkFor } from "../federation/identity-store.ts";
import { isRecent } from "../factors/factors.ts";
import type { AnyCall } from "../model/call.ts";
import type { FederationFailure } from "../model/provider-failure.ts";
import { redirect } from "../model/redirect.ts";
import { recognizeBrowser, withCookie } from "../sign-in/browser.ts";
import { findAccountSession, type Session } from "../sign-in/sessions.ts";
import { changingSession } from "../users/user-store.ts";
import { admit } from "./changes.ts";
import type { AccountDeps } from "./deps.ts";
import { accountErrorPage, redirectToAccount } from "./notice.ts";
import { accountPage } from "./page.ts";
import { signInAgain } from "./sign-in.ts";
import type { FormCall } from "../sign-in/form.ts";
import { ownChange } from "../model/own-change.ts";

const LINK = "link identity";
const UNLINK = "unlink identity";

/** `POST /account/link` */
export async function linkProvider(deps: AccountDeps, call: FormCall): Promise<Response> {
  const admitted = await admit(deps, call, LINK);
  if (!admitted.ok) return admitted.error;
  const { session, form } = admitted.value;
  const { email } = session.user;
  const id = form.get("provider") ?? "";
  const provider = await deps.federation.providers.find(id, call.nowMs);
  if (provider === undefined || !isLinkableBy(provider, email))
    return accountErrorPage(deps, call, LINK, { detail: "This identity provider cannot be linked here." });
  if (!isRecent(session, call)) return signInAgain(deps, call, session);
  const browser = recognizeBrowser(deps, call);
  const pending = { request: FOR_ACCOUNT, browserKey: browser.key, linkFor: { email, sid: session.sid } };
  const address = await beginFederation(deps, id, pending, call);
  if (!address.ok) return refuseLink(deps, call, session, address.error);
  return withCookie(redirect(303, address.value.href), browser.cookie);
}

/** Links the account after the browser's return from the provider. `linked`: the user whose account it is already. */
export async function finishLink(
  deps: AccountDeps,
  call: AnyCall,
  linkFor: LinkFor,
  came: { readonly account: Account; readonly linked: string | undefined } | { readonly failure: FederationFailure },
): Promise<Response> {
  const session = await findAccountSession(deps, call);
  if (session === undefined || session.sid !== linkFor.sid || session.user.email !== linkFor.email)
    return accountErrorPage(deps, call, LINK, { detail: "", reason: "the session that began it is over" });
  if ("failure" in came) return refuseLink(deps, call, session, came.failure);
  const { account, linked } = came;
  const { email } = linkFor;
  if (linked !== undefined && linked !== email) return refuseTaken(deps, call, session, account);
  if (linked === undefined) {
    const { identities } = deps.federation;
    const subject = `users/${email}/identities/${account.provider}`;
    await identities.linkInSession(account, email, changingSession(session), call.nowMs, [
      deps.audit.statement(
        "if changed",
        ownChange(call, { email, action: LINK, subject, reason: "by the person, signed in" }),
      ),
    ]);
    const now = await identities.findUser(account);
    if (now !== email)
      return now === undefined
        ? redirectToAccount(deps, call, "notChanged")
        : refuseTaken(deps, call, session, account);
    deps.log.info("identity linked", { requestId: call.requestId, user: email, provider: account.provider });
    deps.tell(call, "linked", email);
  }
  return redirectToAccount(deps, call, "linked");
}

function refuseTaken(deps: AccountDeps, call: AnyCall, session: Session, { provider }: Account): Promise<Response> {
  const reason = `identity provider ${provider}: the account there is linked to another user`;
  return refuse(deps, call, session, { error: "access_denied", reason }, "linkedElsewhere");
}

const refuseLink = (deps: AccountDeps, call: AnyCall, session: Session, failure: FederationFailure) =>
  refuse(deps, call, session, failure, "notLinked");

function refuse(
  deps: AccountDeps,
  call: AnyCall,
  session: Session,
  { error, reason }: FederationFailure,
  fault: "linkedElsewhere" | "notLinked",
): Promise<Response> {
  deps.noteRefusal(call, LINK, { error, reason, actor: `user ${session.user.email}` });
  return accountPage(deps, call, session, fault);
}

/** `POST /account/unlink` */
export async function unlinkProvider(deps: AccountDeps, call: FormCall): Promise<Response> {
  const admitted = await admit(deps, call, UNLINK);
  if (!admitted.ok) return admitted.error;
  const { session, form } = admitted.value;
  const { email } = session.user;
  if (!isRecent(session, call)) return signInAgain(deps, call, session);
  const provider = form.get("provider") ?? "";
  const removed = await deps.federation.identities.unlink(email, provider, [
    deps.audit.statement(
      "if changed",
      ownChange(call, { email, action: UNLINK, subject: `users/${email}/identities/${provider}` }),
    ),
  ]);
  if (!removed) return accountPage(deps, call, session, "lastWay");
  deps.log.info("identity unlinked", { requestId: call.requestId, user: email, provider });
  deps.tell(call, "unlinked", email);
  return redirectToAccount(deps, call, "unlinked");
}
