import type { Brand } from "../../platform/model/brand.ts";
import type { Mail, MailNotice } from "../../platform/ports/mail.ts";

/** The place and the reader of a page. */
export interface PageContext {
  /** The parameter `ui_locales`, best first (OIDC Core 3.1.2.1). */
  readonly uiLocales: string | undefined;
  readonly acceptLanguage: string | null;
  /** `{origin}{PATH_PREFIX}` */
  readonly publicBase: string;
  readonly requestId: string;
  readonly brand?: Brand | undefined;
}

/** The page's script asks for a passkey by this, and puts its answer into the field `credential` of the page's form. */
export interface PasskeyRequestView {
  readonly challenge: string;
  /** The domain that the passkeys belong to. */
  readonly rpId: string;
  /** One of these. Empty: any of the domain. */
  readonly allow: readonly { readonly id: string; readonly transports: readonly string[] }[];
}

export interface SignInView extends PageContext {
  readonly status: 200 | 400;
  /** The target of the form. */
  readonly action: string;
  /** Hidden fields of the form. */
  readonly hidden: Readonly<Record<string, string>>;
  /** Prefilled. May be empty. */
  readonly email: string;
  /** Empty if the user signs in for the account page. */
  readonly clientName: string;
  /** An https or data URL. May be empty. */
  readonly logoUri?: string | undefined;
  /** May be empty. */
  readonly tenant: string;
  /** Other identity providers that the person may use instead. */
  readonly providers?: readonly { readonly name: string; readonly href: string }[];
  readonly layout: "page" | "popup";
  /** Undefined: the page offers no passkeys. */
  readonly passkey?: PasskeyRequestView | undefined;
  /** The form asks for the address alone; this leads to one that asks for the password too. */
  readonly byPassword?: string | undefined;
  readonly fault: SignInFault | undefined;
  /** Reports the previous action. */
  readonly notice?: AccountNotice | undefined;
  /** Where the form goes for a forgotten password. Undefined if the platform sends no mail. */
  readonly forgot?: string | undefined;
  /**
   * Addresses that the browser may reach after the form, such as the redirect URI. Browsers apply the page's
   * `form-action` to redirects too, so the page lists their origins there.
   */
  readonly formTargets: readonly string[];
}

/**
 * - `stale`: the form was made for another browser.
 * - `provider`: the other provider vouched for nobody who may sign in here.
 * - `passkey`: it is not known here, or not right.
 * - `again`: no fault; the sign-in is too old for what the person wants.
 * - `another`: not the user whom the client expects. The expected address is prefilled.
 */
export type SignInFault = "wrong" | "passkey" | "blocked" | "stale" | "provider" | "again" | "another";

/** A bound provider vouched for an address outside its domains, or for a place outside its tenants. */
export interface OutsideProviderView extends PageContext {
  readonly kind: "domain" | "tenant";
  /** The provider's id. */
  readonly provider: string;
  readonly user: string;
  readonly clientName: string;
  /** The client's address with the error. */
  readonly back: string;
  /** The same request with the platform's own form. */
  readonly otherWay: string;
}

/** At the first sign-in by a provider, the user confirms by password that the account there is theirs. */
export interface ConfirmLinkView extends PageContext {
  readonly status: 200 | 400;
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  /** The user's address here. The provider verified it. */
  readonly email: string;
  /** The provider's id. */
  readonly provider: string;
  /** Empty if the user signs in for the account page. */
  readonly clientName: string;
  readonly fault: "wrong" | "blocked" | undefined;
  /** As in SignInView. */
  readonly formTargets: readonly string[];
}

/** `stale`: the form was made for another sign-in. `passkey`: it is not one of the person's, or not right. */
export type CodeFault = "wrong" | "blocked" | "stale" | "passkey";

/** Asks for a one-time code or a recovery code, the fields `code` and `recovery_code`, or for a passkey. */
export interface SecondFactorView extends PageContext {
  readonly status: 200 | 400;
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  /** The address of the user, who is signed in by one factor. */
  readonly user: string;
  /** Empty if the user signs in for the account page. */
  readonly clientName: string;
  readonly logoUri?: string | undefined;
  /** The person has an app. Else a passkey is the only way. */
  readonly asksCode: boolean;
  /** Undefined: the person has none, or it cannot be used here. */
  readonly passkey?: PasskeyRequestView | undefined;
  readonly fault: CodeFault | undefined;
  /** As in SignInView. */
  readonly formTargets: readonly string[];
}

/** Shows a new secret as a picture and as text, and asks for its first code. */
export interface SetUpView extends Omit<SecondFactorView, "fault" | "asksCode" | "passkey"> {
  /** The sign-in needs it. Else the person wanted it. */
  readonly isNeeded: boolean;
  readonly asksPassword: boolean;
  /** In base32. */
  readonly secret: string;
  /** The content of the picture. */
  readonly uri: string;
  readonly fault: Exclude<CodeFault, "passkey"> | "password" | undefined;
}

/** Makes a new passkey. The page's script puts it into the field `credential`; `name` is for the person. */
export interface NewPasskeyView extends PageContext {
  readonly status: 200 | 400;
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  readonly challenge: string;
  readonly rpId: string;
  readonly user: { readonly email: string; readonly name: string };
  /** Authenticators know the person by this, in base64url. */
  readonly userHandle: string;
  /** Numbers of the algorithms that are taken (COSE), the preferred one first. */
  readonly algs: readonly number[];
  /** Ids of the passkeys that the person has. */
  readonly known: readonly string[];
  /** Prefilled. */
  readonly name: string;
  readonly account: string;
  /** `stale`: the page was too old. `passkey`: the answer was refused, or the person has too many. */
  readonly fault: "stale" | "passkey" | undefined;
  readonly formTargets: readonly string[];
}

/** Shows recovery codes, once. */
export interface RecoveryCodesView extends PageContext {
  readonly codes: readonly string[];
  /** Where the button leads. */
  readonly action: string;
  /** Fields of the form that goes on. Undefined: a link is enough. */
  readonly hidden: Readonly<Record<string, string>> | undefined;
  readonly formTargets: readonly string[];
}

export interface TenantChooserView extends PageContext {
  readonly logoUri?: string | undefined;
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  readonly clientName: string;
  /** The address of the signed-in user. */
  readonly user: string;
  /** `value`: the value of the form's field `scope` for this tenant. */
  readonly tenants: readonly { readonly id: string; readonly name: string; readonly value: string }[];
  /** As in SignInView. */
  readonly formTargets: readonly string[];
}

/** A scope, in the words of the service that has it. */
export interface ScopeView {
  readonly scope: string;
  /** The name without the prefix, if it is a scope of the platform: the pages have words for these. */
  readonly own: string | undefined;
  readonly words: string | undefined;
}

/** The scopes that a client requests of a user. */
export interface ConsentView extends PageContext {
  readonly status: 200 | 400;
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  readonly client: { readonly id: string; readonly name: string };
  readonly logoUri?: string | undefined;
  /** The client's tenant. */
  readonly tenant: { readonly id: string; readonly name: string };
  /** The user is a member there. */
  readonly isMember: boolean;
  /** Nobody registered the client: the host of the document that describes it, and where the browser goes back to. */
  readonly source: { readonly host: string; readonly goesTo: string; readonly isOnDevice: boolean } | undefined;
  /** The address of the signed-in user. */
  readonly user: string;
  /** The tenant or organization that the scopes are for. Empty outside any. */
  readonly place: string;
  readonly scopes: readonly ScopeView[];
  /** The client learns the user's name. */
  readonly showsName: boolean;
  /** The code of the device that waits for the decision. Undefined: the browser waits itself. */
  readonly device?: string | undefined;
  /** The client keeps access while the user is away. */
  readonly lasts: boolean;
  /** The previous form was made for another sign-in or for other scopes. */
  readonly fault: "stale" | undefined;
  /** As in SignInView. */
  readonly formTargets: readonly string[];
}

/** Asks for the code that a device shows, or says how it went. */
export interface DeviceView extends PageContext {
  readonly kind: "ask" | "allowed" | "denied";
  readonly status: 200 | 400;
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  /** Prefilled. May be empty. */
  readonly userCode: string;
  readonly fault: "wrong" | "blocked" | "stale" | undefined;
  readonly formTargets: readonly string[];
}

/** Asks for the address of somebody who forgot the password. `isSent`: it says instead to look at the mail. */
export interface ForgotView extends PageContext {
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  /** Prefilled. May be empty. */
  readonly email: string;
  readonly isSent: boolean;
}

/** Asks for a new password. */
export interface NewPasswordView extends PageContext {
  readonly status: 200 | 400;
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  /** The address of the account. */
  readonly email: string;
  readonly fault: NewPasswordFault | undefined;
}

/** Asks an invited person to join. */
export interface InvitationView extends PageContext {
  readonly status: 200 | 400;
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  readonly email: string;
  /** The name of the tenant or organization. */
  readonly place: string;
  /** The person has no way to sign in yet, so the page asks for a password. */
  readonly needsPassword: boolean;
  readonly fault: NewPasswordFault | undefined;
}

/** Asks whether the address is the person's own. */
export interface ConfirmAddressView extends PageContext {
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  readonly email: string;
}

/** The link of a mail cannot be used. `elsewhere`: it works in the browser that asked for it. */
export interface LinkVoidView extends PageContext {
  readonly kind: "void" | "elsewhere" | "invitation";
  /** The address of the account page. */
  readonly account: string;
}

/** The link did what it is for: a new password, a membership, a verified address. */
export interface LinkUsedView extends PageContext {
  readonly kind: "reset" | "invitation" | "verify";
  /** Where the person goes on. */
  readonly next: string;
  /** The name of the tenant or organization, for an invitation. */
  readonly place?: string;
}

/** A mail with a link. */
export interface LinkMailView extends Pick<PageContext, "uiLocales" | "acceptLanguage" | "brand"> {
  /** The address of the person and of the account. */
  readonly email: string;
  readonly link: string;
  /** The base of the pages, whose host the mail names. */
  readonly base: string;
  /** The name of the tenant or organization, for an invitation. */
  readonly place?: string;
}

type AccountForm =
  | "signOut"
  | "revokeAll"
  | "removeAccess"
  | "password"
  | "verifyAddress"
  | "endSession"
  | "setUpFactor"
  | "removeFactor"
  | "renewCodes"
  | "newPasskey"
  | "renamePasskey"
  | "removePasskey"
  | "link"
  | "unlink";

/** The page `/account` of a signed-in user. */
export interface AccountView extends PageContext {
  readonly status: 200 | 400;
  /** The target of each form. */
  readonly actions: Readonly<Record<AccountForm, string>>;
  /** Hidden fields of every form. */
  readonly hidden: Readonly<Record<string, string>>;
  readonly user: { readonly email: string; readonly name: string };
  /** Undefined: the platform sends no mail, so the page says nothing about the address. */
  readonly verification: "verified" | "open" | undefined;
  readonly signedInAtMs: number;
  /** The identity provider that vouched. Undefined for the platform's own directory. */
  readonly provider: string | undefined;
  readonly applications: readonly AccountApplication[];
  /** The list is cut; the user has more applications. */
  readonly hasMore: boolean;
  /** The browsers in which the user is signed in, this one first. */
  readonly sessions: readonly AccountSession[];
  /** The list is cut. */
  readonly hasMoreSessions: boolean;
  /** The user can sign in by password, and so can change it. */
  readonly hasPassword: boolean;
  /** Identity providers by which the user can sign in, and others that the user may link. */
  readonly linked: readonly AccountProvider[];
  readonly linkable: readonly AccountProvider[];
  /** As in SignInView. */
  readonly formTargets: readonly string[];
  /** Undefined: none is set up. `recoveryCodes`: how many are left. */
  readonly secondFactor: { readonly recoveryCodes: number } | undefined;
  /** Undefined: the platform has none, and the person too. `mayAdd`: one can be added here. */
  readonly passkeys: { readonly list: readonly AccountPasskey[]; readonly mayAdd: boolean } | undefined;
  readonly notice: AccountNotice | undefined;
  readonly fault: AccountFault | undefined;
}

export interface AccountProvider {
  readonly id: string;
  readonly name: string;
}

export interface AccountPasskey {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
  /** Undefined: never. */
  readonly lastUsedMs: number | undefined;
  /** It is copied to other devices of the person. */
  readonly isBackedUp: boolean;
}

/** A browser in which the user is signed in. Browser, system, country (ISO 3166-1) and city may be empty. */
export interface AccountSession {
  readonly sid: string;
  readonly browser: string;
  readonly system: string;
  readonly country: string;
  readonly city: string;
  /** The identity provider that vouched. */
  readonly provider: string | undefined;
  readonly sinceMs: number;
  /** To the hour. */
  readonly lastUsedMs: number;
  readonly isCurrent: boolean;
}

/** A client that holds refresh tokens of the user or has their consent. */
export interface AccountApplication {
  readonly clientId: string;
  readonly name: string;
  /** `place`: the name of a tenant or an organization. Empty outside any. */
  readonly access: readonly { readonly place: string; readonly scopes: readonly ScopeView[] }[];
  readonly sinceMs: number;
  /** Undefined if it was not used since it was given. */
  readonly lastUsedMs: number | undefined;
}

/** The result of the previous form. `notChanged`: the account changed at the same moment. */
export const ACCOUNT_NOTICES = [
  "removed",
  "changed",
  "notChanged",
  "signedOut",
  "ended",
  "sessionEnded",
  "linkSent",
  "factorRemoved",
  "linked",
  "unlinked",
  "passkeyAdded",
  "passkeyRenamed",
  "passkeyRemoved",
] as const;
export type AccountNotice = (typeof ACCOUNT_NOTICES)[number];

/**
 * The reason why nothing was done.
 * - `stale`: the form was made for another sign-in.
 * - `wrong`, `blocked`: about the old password.
 * - `wrongCode`, `codeBlocked`: about the code of the second factor.
 * - `notLinked`, `linkedElsewhere`: about an account at a provider. `lastWay`: nothing else would sign the user in.
 * - `lastPasskey`: nothing else would sign the user in.
 * - The others are about the new password: its length, too common, part of the account, repeated differently,
 *   unchanged.
 */
export type AccountFault = PasswordFormFault | ProviderFault | "stale" | "wrongCode" | "codeBlocked" | "lastPasskey";
export type ProviderFault = "notLinked" | "linkedElsewhere" | "lastWay";
export type PasswordFormFault = "wrong" | "blocked" | "length" | "common" | "own" | "repeated" | "same";

export type NewPasswordFault = Extract<AccountFault, "stale" | "length" | "common" | "own" | "repeated">;

export interface ErrorView extends PageContext {
  readonly status: number;
  /**
   * `over`: no error, the person signs in again. `account`: a form of the account page, so no application is at fault.
   */
  readonly kind: "request" | "over" | "account" | "busy" | "unavailable" | "internal";
  /** For the client's developer, in English: the wrong parameter and the expected value. May be empty. */
  readonly detail: string;
  /** The address of the account page, for people who came from there. */
  readonly account?: string | undefined;
}

/** The pages for people, made in `ui/`. Each is a complete response with its security headers. */
/** The response to a client that wants it by `response_mode=form_post`. The page sends it, by itself or by a button. */
export interface FormPostView extends PageContext {
  /** The redirect URI. */
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly clientName: string;
  /** As in SignInView. */
  readonly formTargets: readonly string[];
}

export interface Pages {
  signIn(view: SignInView): Response;
  confirmLink(view: ConfirmLinkView): Response;
  outsideProvider(view: OutsideProviderView): Response;
  secondFactor(view: SecondFactorView): Response;
  setUpSecondFactor(view: SetUpView): Response;
  recoveryCodes(view: RecoveryCodesView): Response;
  newPasskey(view: NewPasskeyView): Response;
  chooseTenant(view: TenantChooserView): Response;
  /** The form sends `decision`: `allow` or `deny`. */
  consent(view: ConsentView): Response;
  device(view: DeviceView): Response;
  forgot(view: ForgotView): Response;
  newPassword(view: NewPasswordView): Response;
  linkVoid(view: LinkVoidView): Response;
  invitation(view: InvitationView): Response;
  confirmAddress(view: ConfirmAddressView): Response;
  linkUsed(view: LinkUsedView): Response;
  account(view: AccountView): Response;
  error(view: ErrorView): Response;
  formPost(view: FormPostView): Response;
  signedOut(view: PageContext): Response;
}

/** A mail about the account. `link`: the account page. */
export interface NoticeMailView extends LinkMailView {
  readonly notice: MailNotice;
  /** Undefined: whoever was at the browser below. */
  readonly by?: "operator" | undefined;
  readonly atMs: number;
  /** As in AccountSession. */
  readonly browser: string;
  readonly system: string;
  readonly country: string;
  readonly city: string;
}

/** The mails for people, made in `ui/`. */
export interface Mails {
  reset(view: LinkMailView): Mail;
  verify(view: LinkMailView): Mail;
  invitation(view: LinkMailView): Mail;
  notice(view: NoticeMailView): Mail;
}
