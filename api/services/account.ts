import { page, type AnswerEntry, type Entry, type Parameter, type ServiceEntries } from "../model/entry.ts";
import { obj, str, type Schema } from "../model/schema.ts";

/** The account page and its forms. */
const ACCOUNT = "Account";

const UI_LOCALES: Parameter = { text: "Languages of the page, the preferred one first (BCP 47)." };
const CSRF = { "csrf?": str("Binds the form to the browser's session.") };
const TO_PAGE: AnswerEntry = {
  text: "Back to the page with the result, or to the sign-in form if nobody is signed in any more.",
  headers: ["Location"],
};
const AGAIN = "A page: nothing was changed.";

const form = (
  id: string,
  more: { readonly about?: string; readonly schema?: Schema; readonly example?: unknown; readonly again?: string } = {},
): Entry => ({
  id,
  tag: ACCOUNT,
  ...(more.about === undefined ? {} : { about: more.about }),
  parameters: { ui_locales: UI_LOCALES },
  body: { schema: more.schema ?? obj(CSRF), example: more.example ?? { csrf: "…" } },
  answers: { 303: TO_PAGE },
  errors: { 400: more.again ?? AGAIN },
});

export const account: ServiceEntries = {
  base: "/account",
  tags: [
    {
      name: ACCOUNT,
      description:
        "The page where people see which applications have access to their account, revoke it, change their " +
        "password and sign out. Pages and redirects for browsers.",
    },
  ],
  parameters: {},
  schemas: {},
  entries: {
    // The service's own address, with an empty path.
    "GET ": {
      id: "getAccount",
      tag: ACCOUNT,
      parameters: {
        ui_locales: UI_LOCALES,
        plat_id_provider: {
          text:
            "The identity provider, if nobody is signed in: `default_idp`, `legacy_idp` (one directory), or the " +
            "id of a registered provider.",
        },
      },
      answers: {
        200: { text: "The page, or the sign-in form.", mediaTypes: page! },
        302: { text: "To another identity provider, to sign in there.", headers: ["Location"] },
      },
      errors: { 400: "A page: the identity provider cannot be used." },
    },
    "POST /sign-in": form("signInToAccount", {
      about: "Only for the page: its form holds a token that is bound to the browser.",
      schema: obj({
        "csrf?": str("Binds the form to the browser."),
        "email?": str("Who signs in."),
        "password?": str("The password.", { format: "password" }),
      }),
      example: { email: "ada@demo.example", password: "…" },
      again: "The page again: wrong e-mail or password, a blocked account, or an expired form.",
    }),
    "POST /sign-out": form("signOutOfAccount", { about: "Tokens live on." }),
    "POST /remove-access": form("removeAccess", {
      about: "Like `DELETE /refreshtokens` with a `clientId`. Missing grants count as removed.",
      schema: obj({ "client_id?": str("The application's client."), ...CSRF }),
      example: { client_id: "demo.shop" },
    }),
    "POST /password": form("changePassword", {
      about:
        "The old password counts as a sign-in attempt. Every other session, token and grant of the user is " +
        "revoked; this browser stays signed in.",
      schema: obj({
        "password?": str("The old password.", { format: "password" }),
        "new_password?": str("The new password: 8 to 256 characters, not a common one, and not the address.", {
          format: "password",
        }),
        "repeated_password?": str("The new password again.", { format: "password" }),
        ...CSRF,
      }),
      example: { password: "…", new_password: "a new password", repeated_password: "a new password" },
      again: "The page again: the old password is wrong, the account is blocked, or the new password is refused.",
    }),
    "POST /verify-address": form("askToVerifyAddress", {
      about:
        "Sends a link to the address, which works once, for 30 minutes, in this browser: at most three an hour. Only on a " +
        "platform that sends mail.",
    }),
    "POST /end-session": form("endSessionOfAccount", {
      about: "Like the operator's `POST /sessions/{sessionId}/revoke`, for a session of the user.",
      schema: obj({ ...CSRF, "session?": str("The session.") }),
      example: { csrf: "…", session: "2f1c…" },
    }),
    "POST /end-all": form("endAllOfAccount", { about: "Like the operator's `POST /users/{email}/revoke`." }),
  },
};
