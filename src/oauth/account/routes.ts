/**
 * `/account`: the page of a signed-in person. It shows the user and the applications with lasting access, and can
 * revoke and change them.
 *
 *   nobody ──form, or another provider, and the second factor──▶ signed in ──sign out · end everything · 12 h──▶ nobody
 *                                     └── remove access · change password, factor, passkey, provider: still signed in
 *
 * A browser must be signed in, and reaches only its own user. The forms carry a token bound to the session, so no other
 * site can send them. The response is a redirect to the page, the page with the error, or the next step, such as the
 * page of recovery codes. Sessions are those of `/authorize` (sign-in/sessions.ts).
 */
import { defineRoute, formBody, type Route } from "../../http/route.ts";
import { askToVerify, endSession, revokeAll, removeAccess, signOut } from "./changes.ts";
import type { AccountDeps } from "./deps.ts";
import { account } from "./page.ts";
import { addPasskey, newPasskey, removePasskey, renamePasskey } from "./passkeys.ts";
import { changePassword } from "./password.ts";
import { linkProvider, unlinkProvider } from "./providers.ts";
import {
  confirmSecondFactor,
  enterAccountCode,
  offerSecondFactor,
  removeSecondFactor,
  renewRecoveryCodes,
} from "./second-factor.ts";
import { accountSignIn } from "./sign-in.ts";
import type { FormCall } from "../sign-in/form.ts";

/** The limit fits three passwords in the longest form encoding. */
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
  const { recovery } = deps;
  return [
    defineRoute({
      method: "GET",
      path: "",
      summary: "The account page, or the sign-in for it",
      operation: "showAccount",
      produces: "any",
      handle: (call) => account(deps, call),
    }),
    form("/sign-in", "signIn", "Sign in to the account page", accountSignIn),
    form("/sign-out", "changeAccount", "Sign this browser out", signOut),
    form("/remove-access", "changeAccount", "End the access of an application", removeAccess),
    form("/password", "changeAccount", "Change the password", changePassword),
    ...(recovery === undefined
      ? []
      : [
          form("/verify-address", "changeAccount", "Send a link that verifies the address", (_, call) =>
            askToVerify(deps, recovery, call),
          ),
        ]),
    form("/end-session", "changeAccount", "End a session of the user", endSession),
    form("/second-factor", "signIn", "Show the second factor to the account page", enterAccountCode),
    form("/second-factor/set-up", "changeAccount", "Begin to set up a second factor", offerSecondFactor),
    form("/second-factor/confirm", "changeAccount", "Set up a second factor", confirmSecondFactor),
    form("/second-factor/recovery", "changeAccount", "Get new recovery codes", renewRecoveryCodes),
    form("/second-factor/remove", "changeAccount", "Remove the second factor", removeSecondFactor),
    form("/passkeys/new", "changeAccount", "Begin to add a passkey", newPasskey),
    form("/passkeys/add", "changeAccount", "Add a passkey", addPasskey),
    form("/passkeys/rename", "changeAccount", "Rename a passkey", renamePasskey),
    form("/passkeys/remove", "changeAccount", "Remove a passkey", removePasskey),
    form("/link", "changeAccount", "Link an account at an identity provider", linkProvider),
    form("/unlink", "changeAccount", "Unlink an account at an identity provider", unlinkProvider),
    form("/end-all", "changeAccount", "End every session, grant and token of the user", revokeAll),
  ];
}
