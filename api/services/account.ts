import { page, type AnswerEntry, type Entry, type Parameter, type ServiceEntries } from "../model/entry.ts";
import { obj, str, type Schema } from "../model/schema.ts";

/** The account page and its forms. */
const ACCOUNT = "Account";

const UI_LOCALES: Parameter = { text: "Languages of the page, the preferred one first (BCP 47)." };
const CSRF = { "csrf?": str("Binds the form to the browser's session.") };
const TO_PAGE: AnswerEntry = {
  text: "To the page, which shows the result, or the sign-in form if nobody is signed in any more.",
  headers: ["Location"],
};
const CODES = {
  "code?": str("A one-time code of the authenticator app."),
  "recovery_code?": str("A recovery code, in place of a one-time code."),
  ...CSRF,
};
const PASSKEY = {
  "challenge?": str("The challenge of the page, for a passkey."),
  "credential?": str("The answer of a passkey, as JSON from the page's script."),
};
const AGAIN = "A page: nothing was changed.";

interface More {
  readonly about?: string;
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly again?: string;
  /** The page of a 200 response, if there is one. */
  readonly shows?: string;
}

const form = (id: string, more: More = {}): Entry => ({
  id,
  tag: ACCOUNT,
  ...(more.about === undefined ? {} : { about: more.about }),
  parameters: { ui_locales: UI_LOCALES },
  body: { schema: more.schema ?? obj(CSRF), example: more.example ?? { csrf: "…" } },
  answers: more.shows === undefined ? { 303: TO_PAGE } : { 200: { text: more.shows, mediaTypes: page! }, 303: TO_PAGE },
  errors: { 400: more.again ?? AGAIN },
});

const PROVIDER = {
  schema: obj({ ...CSRF, "provider?": str("The provider's id.") }),
  example: { csrf: "…", provider: "corporate" },
};

export const account: ServiceEntries = {
  base: "/account",
  tags: [
    {
      name: ACCOUNT,
      description:
        "The page on which people see the applications that have access to their account, end this access, and change how " +
        "they sign in. Pages and redirects for browsers.",
    },
  ],
  parameters: {},
  schemas: {},
  entries: {
    // The page is at the service's base, so its path is empty.
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
      about: "Only for the page. Its form holds a token that is bound to the browser.",
      schema: obj({
        "csrf?": str("Binds the form to the browser."),
        "email?": str("The user's e-mail."),
        "password?": str("The password.", { format: "password" }),
        "step?": str("`address`: the form asked for the address alone."),
        ...PASSKEY,
      }),
      example: { email: "ada@demo.example", password: "…" },
      again: "The page again: wrong e-mail or password, a blocked account, or an expired form.",
    }),
    "POST /sign-out": form("signOutOfAccount", { about: "Access and refresh tokens stay valid." }),
    "POST /remove-access": form("removeAccess", {
      about: "Like `DELETE /refreshtokens` of that client. Withdraws the consent too. Missing grants count as removed.",
      schema: obj({ "client_id?": str("The application's client."), ...CSRF }),
      example: { client_id: "demo.shop" },
    }),
    "POST /password": form("changePassword", {
      about:
        "A wrong old password counts like a failed sign-in. Every other session, token and grant of the user is " +
        "revoked. This browser stays signed in.",
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
    "POST /second-factor": form("enterAccountCode", {
      about:
        "For a person with a second factor or a passkey, after the password. A wrong code counts like a wrong password.",
      schema: obj({ ...CODES, ...PASSKEY }),
      example: { code: "123456", csrf: "…" },
      again: "The page again: a wrong or used code or passkey, a blocked account, or an expired form.",
    }),
    "POST /second-factor/set-up": form("offerSecondFactor", {
      about:
        "Stores nothing. A person without a password signs in again first, more than 15 minutes after the sign-in.",
      shows: "A page with a new secret.",
    }),
    "POST /second-factor/confirm": form("confirmSecondFactor", {
      about: "A wrong password counts like a failed sign-in. From then on, each sign-in needs a code too.",
      schema: obj({
        "code?": str("The first code of the new secret."),
        "password?": str("The password, if the person has one.", { format: "password" }),
        "offer?": str("The new secret, encrypted."),
        ...CSRF,
      }),
      example: { code: "123456", password: "…", offer: "…", csrf: "…" },
      shows: "A page with the recovery codes.",
      again: "The page again: a wrong code or password, a blocked account, or an expired form.",
    }),
    "POST /second-factor/recovery": form("renewRecoveryCodes", {
      about: "Replaces the old recovery codes, which become void.",
      schema: obj(CODES),
      example: { code: "123456", csrf: "…" },
      shows: "A page with the new recovery codes.",
    }),
    "POST /second-factor/remove": form("removeSecondFactor", {
      schema: obj(CODES),
      example: { code: "123456", csrf: "…" },
    }),
    "POST /passkeys/new": form("newPasskey", {
      about:
        "Stores nothing. A person with a passkey or a second factor shows it first. More than 15 minutes after the " +
        "sign-in, the person signs in again first.",
      shows: "The page that makes a passkey, or the page for one of these steps.",
    }),
    "POST /passkeys/add": form("addPasskey", {
      about: "Works once, within an hour after the page was made. A person has at most twenty passkeys.",
      schema: obj({
        ...CSRF,
        ...PASSKEY,
        "user_handle?": str("The id of the person for authenticators, encrypted."),
        "name?": str("The person's name for the passkey, at most 60 characters."),
      }),
      example: { csrf: "…", challenge: "…", credential: "{…}", user_handle: "…", name: "Chrome, Windows" },
      shows: "The page for signing in again, or for the second factor, if it comes first.",
      again: "The page again: the passkey is not acceptable, or the page was too old.",
    }),
    "POST /passkeys/rename": form("renamePasskey", {
      schema: obj({ ...CSRF, "passkey?": str("The passkey's id."), "name?": str("The new name.") }),
      example: { csrf: "…", passkey: "q1Yb…", name: "My phone" },
      shows: "A page that asks for the passkey or the second factor first.",
    }),
    "POST /passkeys/remove": form("removePasskey", {
      about:
        "The only way to sign in cannot be removed. More than 15 minutes after the sign-in, the person signs in again first.",
      schema: obj({ ...CSRF, "passkey?": str("The passkey's id.") }),
      example: { csrf: "…", passkey: "q1Yb…" },
      shows: "A page that asks for the passkey or the second factor first.",
    }),
    "POST /verify-address": form("askToVerifyAddress", {
      about:
        "Sends a link to the address. It works once, within 30 minutes, in this browser. An account gets at most three an " +
        "hour. Exists only on a platform that sends mail.",
    }),
    "POST /end-session": form("endSessionOfAccount", {
      about:
        "Like the operator's `POST /sessions/{sessionId}/revoke`, for a session of the user. More than 15 minutes after " +
        "the sign-in, the person signs in again first.",
      schema: obj({ ...CSRF, "session?": str("The session's id.") }),
      example: { csrf: "…", session: "2f1c…" },
    }),
    "POST /link": form("linkProvider", {
      about:
        "Redirects to the identity provider, to link an account there to the user. More than 15 minutes after the sign-in, " +
        "the person signs in again first. The provider must not be bound to tenants, its `domains` must include the " +
        "user's, and its `linking` must not be `operator`.",
      ...PROVIDER,
    }),
    "POST /unlink": form("unlinkProvider", {
      about:
        "Ends sign-ins by the provider. The only way to sign in cannot be removed. More than 15 minutes after the sign-in, " +
        "the person signs in again first.",
      ...PROVIDER,
    }),
    "POST /end-all": form("endAllOfAccount", {
      about:
        "Like the operator's `POST /users/{email}/revoke`. More than 15 minutes after the sign-in, the person signs in " +
        "again first.",
    }),
  },
};
