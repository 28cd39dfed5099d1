/** What this room needs of others; bound in deps.ts. */

/** Where a page is shown and to whom. */
export interface PageContext {
  /** The parameter `ui_locales`, best first (OIDC Core 3.1.2.1). */
  readonly uiLocales: string | undefined;
  readonly acceptLanguage: string | null;
  /** `{origin}{PATH_PREFIX}` */
  readonly publicBase: string;
  readonly requestId: string;
}

export interface SignInView extends PageContext {
  readonly status: 200 | 400;
  /** Where the form goes. */
  readonly action: string;
  /** Fields that go with it unseen. */
  readonly hidden: Readonly<Record<string, string>>;
  /** Filled in already; may be empty. */
  readonly email: string;
  /** The client that the user signs in for, and where; the tenant may be empty. */
  readonly clientName: string;
  readonly tenant: string;
  readonly layout: "page" | "popup";
  readonly fault: SignInFault | undefined;
  /** What was done before. */
  readonly notice?: AccountNotice | undefined;
  /**
   * Addresses at which the browser may end after the form, such as the redirect URI as it was asked for. Browsers hold
   * redirects after a form to the page's `form-action`, which is made of these; they are parsed, never copied.
   */
  readonly formTargets: readonly string[];
}

/**
 * `stale`: the form was not made for this browser. `provider`: another one vouched for nobody who may sign in here.
 * `another`: not the user whom the client means, whose address is filled in.
 */
export type SignInFault = "wrong" | "blocked" | "stale" | "provider" | "another";

/** At the first sign-in by a provider: the user confirms by the password that the account there is theirs. */
export interface ConfirmLinkView extends PageContext {
  readonly status: 200 | 400;
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  /** The user's address here, which the provider verified. */
  readonly email: string;
  /** The provider's id. */
  readonly provider: string;
  /** Empty where the user signs in for the account's own page. */
  readonly clientName: string;
  readonly fault: "wrong" | "blocked" | undefined;
  /** As in SignInView. */
  readonly formTargets: readonly string[];
}

export interface TenantChooserView extends PageContext {
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  readonly clientName: string;
  /** The address of the one who signed in. */
  readonly user: string;
  /** `value` is what the form's field `scope` says when this one is chosen. */
  readonly tenants: readonly { readonly id: string; readonly name: string; readonly value: string }[];
  /** As in SignInView. */
  readonly formTargets: readonly string[];
}

/** What a client of somebody else's tenant asks a person for. */
export interface ConsentView extends PageContext {
  readonly status: 200 | 400;
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
  readonly client: { readonly id: string; readonly name: string };
  /** The client's. */
  readonly tenant: { readonly id: string; readonly name: string };
  /** The address of the one who is signed in. */
  readonly user: string;
  /** The organization that the scopes are for; empty outside any. */
  readonly place: string;
  readonly scopes: readonly string[];
  /** It goes on while the person is away. */
  readonly lasts: boolean;
  /** The form before was made for another sign-in, or for something else. */
  readonly fault: "stale" | undefined;
  /** As in SignInView. */
  readonly formTargets: readonly string[];
}

/** The page `/account` of a user who is signed in. */
export interface AccountView extends PageContext {
  readonly status: 200 | 400;
  /** Where each form goes. */
  readonly actions: Readonly<Record<"signOut" | "revokeAll" | "removeAccess" | "password", string>>;
  /** Fields that go with each form unseen. */
  readonly hidden: Readonly<Record<string, string>>;
  readonly user: { readonly email: string; readonly name: string };
  readonly signedInAtMs: number;
  /** The identity provider that vouched; undefined where it was the platform's own directory. */
  readonly provider: string | undefined;
  readonly applications: readonly AccountApplication[];
  /** There are more than these. */
  readonly hasMore: boolean;
  /** Whether the user can sign in by a password, and so can change it. */
  readonly hasPassword: boolean;
  readonly notice: AccountNotice | undefined;
  readonly fault: AccountFault | undefined;
}

/** A client that holds refresh tokens of the user, or that the user allowed something. */
export interface AccountApplication {
  readonly clientId: string;
  readonly name: string;
  /** `place`: the name of a tenant or an organization; empty outside of any. */
  readonly access: readonly { readonly place: string; readonly scopes: readonly string[] }[];
  readonly sinceMs: number;
  /** Undefined: not since it was given. */
  readonly lastUsedMs: number | undefined;
}

/** What was done. `notChanged`: something else changed the account at the same moment. */
export const ACCOUNT_NOTICES = ["removed", "changed", "notChanged", "signedOut", "ended"] as const;
export type AccountNotice = (typeof ACCOUNT_NOTICES)[number];

/**
 * Why nothing was done. `stale`: the form was made for another sign-in. `wrong`, `blocked`: the old password. The others are
 * about the new one: its length, that everybody would guess it, that it stands in the account, that it was not repeated alike,
 * that it is the old one.
 */
export type AccountFault = "stale" | "wrong" | "blocked" | "length" | "common" | "own" | "repeated" | "same";

export interface ErrorView extends PageContext {
  readonly status: number;
  /** `over`: nobody's fault, the person signs in again. `account`: a form of that page, which no application sent. */
  readonly kind: "request" | "over" | "account" | "busy" | "unavailable" | "internal";
  /** For the developer of the client, in English: which parameter is wrong and how. May be empty. */
  readonly detail: string;
  /** The address of the account's page, for who came from there. */
  readonly account?: string | undefined;
}

/** The pages that people see; made in `ui/`, each a whole answer with its security headers. */
export interface Pages {
  signIn(view: SignInView): Response;
  confirmLink(view: ConfirmLinkView): Response;
  chooseTenant(view: TenantChooserView): Response;
  /** The form sends `decision`: `allow` or `deny`. */
  consent(view: ConsentView): Response;
  account(view: AccountView): Response;
  error(view: ErrorView): Response;
  signedOut(view: PageContext): Response;
}
