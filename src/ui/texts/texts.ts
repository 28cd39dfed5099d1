import type { News } from "../../platform/ports/mail.ts";
import type { DeviceView } from "../../oauth/pages/views/consent.ts";
import type { AccountFault, AccountNotice } from "../../oauth/pages/views/account.ts";
import type { CodeFault } from "../../oauth/pages/views/factors.ts";
import type { ErrorView } from "../../oauth/pages/views/page.ts";
import type { LinkUsedView, LinkVoidView } from "../../oauth/pages/views/links.ts";
import type { Mails } from "../../oauth/pages/port.ts";
import type { SignInFault } from "../../oauth/pages/views/sign-in.ts";

/** The platform's own scopes that people can give. */
type OwnScope =
  | "pubsub.topic="
  | "pubsub.own_tenant_topic="
  | "pubsub_publish"
  | "media_view"
  | "media_manage"
  | "media_admin"
  | "admin_read"
  | "admin_write"
  | "admin_tenant";

/**
 * The texts of the pages. A language is a file of this type and a line in languages.ts. A comment lists the
 * placeholders of a text, such as `{client}`. Details for developers are in English in every language.
 */
export interface Texts {
  readonly signIn: {
    readonly title: string;
    /** `{client}` */
    readonly lead: string;
    /** `{client}`, `{tenant}` */
    readonly leadInTenant: string;
    readonly email: string;
    readonly password: string;
    readonly submit: string;
    /** The button of the form that asks only for the address. */
    readonly next: string;
    readonly byPassword: string;
    /** Stands between the form and the other ways to sign in. */
    readonly or: string;
    /** `{provider}` */
    readonly continueWith: string;
    readonly forgot: string;
    /** Stands before the window's title, so that a screen reader reads it first. */
    readonly failed: string;
    readonly faults: Readonly<Record<SignInFault, string>>;
  };
  readonly outsideProvider: {
    /** `{provider}`, `{user}` */
    readonly domain: { readonly title: string; readonly text: string };
    /** `{provider}`, `{user}` */
    readonly tenant: { readonly title: string; readonly text: string };
    readonly whatToDo: string;
    readonly otherWay: string;
    /** `{client}` */
    readonly back: string;
  };
  readonly confirmLink: {
    readonly title: string;
    /** `{provider}`, `{user}` */
    readonly lead: string;
    /** `{provider}` */
    readonly once: string;
    readonly submit: string;
    readonly wrong: string;
    /** For people who are not that user, or have no password. */
    readonly otherwise: string;
  };
  /** The pages for a forgotten password. */
  readonly recovery: {
    readonly title: string;
    readonly lead: string;
    readonly send: string;
    readonly sentTitle: string;
    /** `{user}`: the typed address. The text is the same for every address, so it does not reveal accounts. */
    readonly sent: string;
    readonly sentHere: string;
    readonly newTitle: string;
    /** `{user}` */
    readonly newLead: string;
    readonly void: Readonly<Record<LinkVoidView["kind"], { readonly title: string; readonly text: string }>>;
  };
  readonly invitation: {
    readonly title: string;
    /** `{place}`: a tenant or an organization; `{user}`. */
    readonly lead: string;
    readonly choose: string;
    readonly accept: string;
    readonly otherwise: string;
    /** For a person who typed a new password, but could sign in by then. */
    readonly passwordIsUnused: string;
  };
  readonly verification: {
    readonly title: string;
    /** `{user}` */
    readonly lead: string;
    readonly confirm: string;
  };
  /** The page after the link of a mail was used. `{place}` for an invitation. */
  readonly done: Readonly<Record<LinkUsedView["kind"], { readonly [part in "title" | "text" | "button"]: string }>>;
  readonly mails: Readonly<Record<Exclude<keyof Mails, "notice"> | "sign_in" | "password" | "changed", LinkMailTexts>>;
  /** In the mail `changed`, as `{news}`. */
  readonly news: Readonly<Record<Exclude<News, "sign_in" | "password">, string>>;
  /** One-time codes and recovery codes. */
  readonly secondFactor: {
    readonly title: string;
    readonly lead: string;
    readonly code: string;
    readonly lostApp: string;
    readonly recoveryCode: string;
    readonly submit: string;
    readonly setUpTitle: string;
    /** Replaces `wanted` if a sign-in needs a second factor. */
    readonly needed: string;
    readonly wanted: string;
    readonly scan: string;
    /** For a screen reader. */
    readonly picture: string;
    readonly typeKey: string;
    readonly openApp: string;
    readonly firstCode: string;
    readonly turnOn: string;
    readonly codesTitle: string;
    readonly codesLead: string;
    readonly kept: string;
    readonly section: string;
    readonly off: string;
    /** `{left}`: a number. */
    readonly on: string;
    /** The label of the field for a code. */
    readonly change: string;
    readonly renew: string;
    readonly remove: string;
    readonly faults: Readonly<Record<CodeFault | "password", string>>;
  };
  readonly passkeys: {
    readonly section: string;
    readonly lead: string;
    readonly add: string;
    readonly backedUp: string;
    readonly name: string;
    readonly rename: string;
    readonly remove: string;
    readonly newTitle: string;
    readonly newLead: string;
    readonly create: string;
    readonly back: string;
    /** The button. */
    readonly use: string;
    /** The heading for a person without an app. */
    readonly onlyTitle: string;
    readonly onlyLead: string;
    readonly needsScript: string;
    /** The browser reported that the person cancelled or has no passkey there. */
    readonly failed: string;
    readonly known: string;
    readonly faults: Readonly<Record<"stale" | "passkey", string>>;
  };
  readonly chooseTenant: {
    readonly title: string;
    /** `{client}` */
    readonly lead: string;
    /** `{user}` */
    readonly user: string;
  };
  readonly device: {
    readonly title: string;
    readonly lead: string;
    readonly code: string;
    readonly submit: string;
    readonly faults: Readonly<Record<NonNullable<DeviceView["fault"]>, string>>;
    readonly allowed: { readonly title: string; readonly text: string };
    readonly denied: { readonly title: string; readonly text: string };
  };
  /** Links below the pages of a brand. */
  readonly legal: { readonly terms: string; readonly privacy: string };
  readonly consent: {
    readonly title: string;
    /** `{client}`, `{tenant}` */
    readonly lead: string;
    /** Follows `lead`. */
    readonly notMember: string;
    /** `{client}`, `{tenant}`, `{code}` */
    readonly leadForDevice: string;
    /** `{client}` */
    readonly leadUnregistered: string;
    /** `{host}`: of the document that describes the client. */
    readonly describedAt: string;
    readonly selfRegistered: string;
    /** `{target}`: the host of the redirect URI, or the scheme of an application on the device. */
    readonly goesTo: string;
    /** Follows `goesTo` if the target is an application on the person's device. */
    readonly onDevice: string;
    /** Stands above the list of requested access. */
    readonly asked: string;
    /** `{user}` */
    readonly identity: string;
    /** Scopes of OpenID Connect. */
    readonly oidc: Readonly<Record<"openid" | "profile" | "email", string>>;
    /** `{place}`: a tenant or organization. No scopes follow. */
    readonly belongs: string;
    /** `{place}`: a tenant or organization; scopes follow. */
    readonly inPlace: string;
    /** Scopes follow. */
    readonly nowhere: string;
    /** The platform's own scopes, without their prefix. `{name}`: the value after the `=`. */
    readonly scopes: Readonly<Record<OwnScope, string>>;
    readonly lasts: string;
    readonly takeBack: string;
    readonly allow: string;
    readonly deny: string;
    readonly stale: string;
  };
  readonly account: {
    readonly title: string;
    readonly user: string;
    /** `{time}` */
    readonly since: string;
    /** `{time}`, `{provider}` */
    readonly sinceByProvider: string;
    readonly verified: string;
    readonly notVerified: string;
    readonly verify: string;
    readonly signOut: string;
    readonly sessions: string;
    readonly sessionsLead: string;
    readonly thisBrowser: string;
    /** Stands in a mail about a change by an operator. */
    readonly byOperator: string;
    readonly unknownBrowser: string;
    readonly endSession: string;
    readonly applications: string;
    readonly applicationsLead: string;
    readonly noApplications: string;
    /** Follows a list that is cut. */
    readonly more: string;
    /** `{place}`: a tenant or an organization; `{scopes}`. */
    readonly inPlace: string;
    /** `{scopes}` of access without tenant and organization. */
    readonly nowhere: string;
    /** `{time}` */
    readonly given: string;
    /** `{time}`. Follows a comma. */
    readonly lastUsed: string;
    readonly removeAccess: string;
    readonly changePassword: string;
    readonly changePasswordLead: string;
    readonly oldPassword: string;
    readonly newPassword: string;
    readonly repeated: string;
    /** Other ways to sign in. */
    readonly providers: string;
    readonly providersLead: string;
    readonly noProviders: string;
    /** `{provider}` */
    readonly link: string;
    /** `{provider}` */
    readonly unlink: string;
    readonly endAll: string;
    readonly endAllLead: string;
    readonly notices: Readonly<Record<AccountNotice, string>>;
    readonly faults: Readonly<Record<AccountFault, string>>;
  };
  readonly errors: Readonly<Record<ErrorView["kind"], { readonly title: string; readonly text: string }>>;
  readonly forDevelopers: string;
  /** `{id}` */
  readonly requestId: string;
  /** `{client}` */
  readonly formPost: { readonly title: string; readonly text: string; readonly submit: string };
  readonly signedOut: { readonly title: string; readonly text: string };
  readonly landing: {
    readonly title: string;
    readonly lead: string;
    /** The doors of sign-in, events and media. */
    readonly doors: readonly [Door, Door, Door];
    /** The name of the list of other links, for a screen reader. */
    readonly more: string;
    readonly reference: string;
    readonly errors: string;
    readonly console: string;
    readonly account: string;
  };
  readonly nothingHere: { readonly title: string; readonly text: string; readonly back: string };
}

interface Door {
  readonly title: string;
  readonly text: string;
}

/** A mail with a link: `{user}`, `{host}`; `{place}` for an invitation; `{details}` of a notice. */
interface LinkMailTexts {
  readonly subject: string;
  readonly lead: string;
  readonly button: string;
  readonly rules: string;
  readonly otherwise: string;
}
