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
  /**
   * Addresses at which the browser may end after the form, such as the redirect URI as it was asked for. Browsers hold
   * redirects after a form to the page's `form-action`, which is made of these; they are parsed, never copied.
   */
  readonly formTargets: readonly string[];
}

/** `stale`: the form was not made for this browser. */
export type SignInFault = "wrong" | "blocked" | "stale";

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

export interface ErrorView extends PageContext {
  readonly status: number;
  /** `over`: nobody's fault, the person signs in again. */
  readonly kind: "request" | "over" | "busy" | "unavailable" | "internal";
  /** For the developer of the client, in English: which parameter is wrong and how. May be empty. */
  readonly detail: string;
}

/** The pages that people see; made in `ui/`, each a whole answer with its security headers. */
export interface Pages {
  signIn(view: SignInView): Response;
  chooseTenant(view: TenantChooserView): Response;
  error(view: ErrorView): Response;
  signedOut(view: PageContext): Response;
}
