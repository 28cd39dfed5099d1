import type { Brand } from "../../../platform/model/brand.ts";

/** The fields that all views share: language, addresses and brand. */
export interface PageContext {
  /** The parameter `ui_locales`, best first (OIDC Core 3.1.2.1). */
  readonly uiLocales: string | undefined;
  readonly acceptLanguage: string | null;
  /** `{origin}{PATH_PREFIX}` */
  readonly publicBase: string;
  readonly requestId: string;
  readonly brand?: Brand | undefined;
}

/** A page with a form. */
export interface FormView extends PageContext {
  readonly action: string;
  readonly hidden: Readonly<Record<string, string>>;
}

/** A page with a form after which the browser may go elsewhere. */
export interface RedirectingFormView extends FormView {
  /**
   * Addresses that the browser may reach after the form, such as the redirect URI. Browsers apply the page's
   * `form-action` to redirects too, so the page lists their origins there.
   */
  readonly formTargets: readonly string[];
}

export interface ErrorView extends PageContext {
  readonly status: number;
  /**
   * `over`: the sign-in is over, and the person can begin again. `account`: the error concerns the account page and no
   * application.
   */
  readonly kind: "request" | "over" | "account" | "busy" | "unavailable" | "internal";
  /** For the client's developer, in English: the wrong parameter and the expected value. May be empty. */
  readonly detail: string;
  /** The address of the account page, for people who came from there. */
  readonly account?: string | undefined;
  /** The way to a client to which the browser is not led by itself. */
  readonly back?: { readonly href: string; readonly clientName: string } | undefined;
}

/** The response for a client that requested `response_mode=form_post`. The page submits itself, or by a button. */
export interface FormPostView extends PageContext {
  /** The redirect URI. */
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly clientName: string;
  /** As in RedirectingFormView. */
  readonly formTargets: readonly string[];
}
