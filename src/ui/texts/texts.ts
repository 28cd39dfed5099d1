import type { AccountFault, AccountNotice, ErrorView, SignInFault } from "../../oauth/pages/port.ts";

/**
 * All that the pages say. A language is a file of this shape and a line in languages.ts. Names in braces stand for
 * what a page puts there. Detail for developers is English in every language.
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
    /** In front of the window's title, so that it is the first thing that a screen reader says. */
    readonly failed: string;
    readonly faults: Readonly<Record<SignInFault, string>>;
  };
  readonly confirmLink: {
    readonly title: string;
    /** `{provider}`, `{user}` */
    readonly lead: string;
    /** `{provider}` */
    readonly once: string;
    readonly submit: string;
    readonly wrong: string;
    /** For who is not that user, or has no password. */
    readonly otherwise: string;
  };
  readonly chooseTenant: {
    readonly title: string;
    /** `{client}` */
    readonly lead: string;
    /** `{user}` */
    readonly user: string;
  };
  readonly consent: {
    readonly title: string;
    /** `{client}`, `{tenant}` */
    readonly lead: string;
    /** Above the list of what is asked for. */
    readonly asked: string;
    /** `{user}` */
    readonly identity: string;
    /** `{place}`: an organization; scopes follow. */
    readonly inPlace: string;
    /** Scopes follow. */
    readonly nowhere: string;
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
    readonly signOut: string;
    readonly applications: string;
    readonly applicationsLead: string;
    readonly noApplications: string;
    /** Behind the list, where it is cut. */
    readonly more: string;
    /** `{place}`: a tenant or an organization; `{scopes}`. */
    readonly inPlace: string;
    /** `{scopes}` where access is for neither. */
    readonly nowhere: string;
    /** `{time}` */
    readonly given: string;
    /** `{time}`, behind a comma. */
    readonly lastUsed: string;
    readonly removeAccess: string;
    readonly changePassword: string;
    readonly changePasswordLead: string;
    readonly oldPassword: string;
    readonly newPassword: string;
    readonly repeated: string;
    readonly endAll: string;
    readonly endAllLead: string;
    readonly notices: Readonly<Record<AccountNotice, string>>;
    readonly faults: Readonly<Record<AccountFault, string>>;
  };
  readonly errors: Readonly<Record<ErrorView["kind"], { readonly title: string; readonly text: string }>>;
  readonly forDevelopers: string;
  /** `{id}` */
  readonly requestId: string;
  readonly signedOut: { readonly title: string; readonly text: string };
}
