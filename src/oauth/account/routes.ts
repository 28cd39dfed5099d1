/**
 * `/account`: the page of a person who signs in (contract 1.1). Who is signed in, which applications have lasting access,
 * and what can be ended or changed of it.
 *
 *   nobody ──form, or another provider──▶ signed in ──sign out · end everything · 12 h──▶ nobody
 *                                            └── take access away · change the password: signed in still
 *
 * A signed-in browser alone sees and changes anything, and only what is its user's. The forms carry a token that is bound
 * to the session, so that no other site sends them; each is answered by a redirect to the page, or by the page with what
 * was wrong (changes.ts, password.ts). Sessions are those of `/authorize` (sign-in/sessions.ts).
 */
import { defineRoute, formBody, type Route } from "../../http/route.ts";
import { revokeAll, removeAccess, signOut, type FormCall } from "./changes.ts";
import type { AccountDeps } from "./deps.ts";
import { account } from "./page.ts";
import { changePassword } from "./password.ts";
import { accountSignIn } from "./sign-in.ts";

/** Three passwords in the longest spelling of a form. */
const FORM_BYTES = 16 * 1024;

export function createAccountRoutes(deps: AccountDeps): readonly Route[] {
  const form = (
    path: string,
    operation: "signIn" | "changeAccount",
    summary: string,
    handle: (deps: AccountDeps, call: FormCall) => Promise<Response>,
  ): Route =>
    defineRoute({
      method: "POST",
      path,
      summary,
      operation,
      body: formBody(FORM_BYTES),
      produces: "any",
      handle: (call) => handle(deps, call),
    });
  return [
    defineRoute({
      method: "GET",
      path: "",
      summary: "The page of a person who signs in",
      operation: "showAccount",
      produces: "any",
      handle: (call) => account(deps, call),
    }),
    form("/sign-in", "signIn", "Sign in for the page", accountSignIn),
    form("/sign-out", "changeAccount", "Sign this browser out", signOut),
    form("/remove-access", "changeAccount", "Take an application's lasting access away", removeAccess),
    form("/password", "changeAccount", "Change the password", changePassword),
    form("/end-all", "changeAccount", "End every session, grant and token of the user", revokeAll),
  ];
}
