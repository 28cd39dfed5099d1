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
const CODES = {
  "code?": str("A one-time code of the authenticator app."),
  "recovery_code?": str("A recovery code in its place."),
  ...CSRF,
};
const PASSKEY = {
  "challenge?": str("From the page."),
  "credential?": str("The answer of a passkey, as JSON: the page's script makes it."),
};
const AGAIN = "A page: nothing was changed.";

interface More {
  readonly about?: string;
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly again?: string;
  /** A page that follows. */
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
        "step?": str("`address`: the form asks for the address alone."),
        ...PASSKEY,
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
    "POST /second-factor": form("enterAccountCode", {
      about:
        "For a person with a second factor or a passkey, after the password. A wrong code counts as a wrong password does.",
      schema: obj({ ...CODES, ...PASSKEY }),
      example: { code: "123456", csrf: "…" },
      again: "The page again: a wrong or used code or passkey, a blocked account, or an expired form.",
    }),
    "POST /second-factor/set-up": form("offerSecondFactor", {
      about:
        "Stores nothing. A person who signed in at a provider long ago, and has no password, signs in again first.",
      shows: "A page with a new key.",
    }),
    "POST /second-factor/confirm": form("confirmSecondFactor", {
      about: "The password counts as a sign-in attempt. From then on a sign-in needs a code too.",
      schema: obj({
        "code?": str("The first code of the new key."),
        "password?": str("The password, if the person has one.", { format: "password" }),
        "offer?": str("The new key, encrypted."),
        ...CSRF,
      }),
      example: { code: "123456", password: "…", offer: "…", csrf: "…" },
      shows: "A page with the recovery codes.",
      again: "The page again: a wrong code or password, a blocked account, or an expired form.",
    }),
    "POST /second-factor/recovery": form("renewRecoveryCodes", {
      about: "The old recovery codes are void then.",
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
        "Stores nothing. At most 15 minutes after a sign-in, else the person signs in again first; whoever has a passkey " +
        "or a second factor shows it first.",
      shows: "A page that makes a passkey, or one of those that come first.",
    }),
    "POST /passkeys/add": form("addPasskey", {
      about: "Within an hour after the page was made, once. A person has at most twenty passkeys.",
      schema: obj({
        ...CSRF,
        ...PASSKEY,
        "user_handle?": str("What authenticators know the person by, encrypted."),
        "name?": str("A name for the person, at most 60 characters."),
      }),
      example: { csrf: "…", challenge: "…", credential: "{…}", user_handle: "…", name: "Chrome, Windows" },
      shows: "A page that comes first.",
      again: "The page again: the passkey is not acceptable, or the page was too old.",
    }),
    "POST /passkeys/rename": form("renamePasskey", {
      schema: obj({ ...CSRF, "passkey?": str("Its id."), "name?": str("The new name.") }),
      example: { csrf: "…", passkey: "q1Yb…", name: "My phone" },
      shows: "A page that asks for the passkey or the second factor first.",
    }),
    "POST /passkeys/remove": form("removePasskey", {
      about: "Not if it is the person's only way to sign in.",
      schema: obj({ ...CSRF, "passkey?": str("Its id.") }),
      example: { csrf: "…", passkey: "q1Yb…" },
      shows: "A page that asks for the passkey or the second factor first.",
    }),
    "POST /verify-address": form("askToVerifyAddress", {
      about:
        "Sends a link to the address, which works once, for 30 minutes, in this browser: at most three an hour. Only on a " +
        "platform that sends mail.",
    }),
    "POST /end-session": form("endSessionOfAccount", {
      about:
        "Like the operator's `POST /sessions/{sessionId}/revoke`, for a session of the user. At most 15 minutes after a " +
        "sign-in, else the person signs in again first.",
      schema: obj({ ...CSRF, "session?": str("The session.") }),
      example: { csrf: "…", session: "2f1c…" },
    }),
    "POST /link": form("linkProvider", {
      about:
        "Leads to an identity provider whose account there is linked to the user: at most 15 minutes after a sign-in, else " +
        "to a sign-in first. Only a provider with a button, not bound to tenants, whose `domains` have the user's address.",
      ...PROVIDER,
    }),
    "POST /unlink": form("unlinkProvider", {
      about: "Sign-ins by the provider end. The last way to sign in stays.",
      ...PROVIDER,
    }),
    "POST /end-all": form("endAllOfAccount", {
      about:
        "Like the operator's `POST /users/{email}/revoke`. At most 15 minutes after a sign-in, else the person signs in " +
        "again first.",
    }),
  },
};
