import type { PageContext, RedirectingFormView } from "./page.ts";
import type { PasskeyRequestView } from "./factors.ts";
import type { AccountNotice } from "./account.ts";

export interface SignInView extends RedirectingFormView {
  readonly status: 200 | 400;
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
  /** Set if the form asks for the address alone: the link to a form that asks for the password too. */
  readonly byPassword?: string | undefined;
  readonly fault: SignInFault | undefined;
  /** Reports the previous action. */
  readonly notice?: AccountNotice | undefined;
  /** The target of "Forgot your password?". Undefined if the platform sends no mail. */
  readonly forgot?: string | undefined;
}

/**
 * - `stale`: the form was made for another browser.
 * - `provider`: the other provider vouched for nobody who may sign in here.
 * - `passkey`: it is unknown here, or its answer is wrong.
 * - `again`: no error. The sign-in is too old for the person's change.
 * - `another`: this is not the user whom the client expects. The expected address is prefilled.
 */
export type SignInFault = "wrong" | "passkey" | "blocked" | "stale" | "provider" | "again" | "another" | "busy";

/** A bound provider vouched for an address outside its domains, or the request is for a place outside its tenants. */
export interface OutsideProviderView extends PageContext {
  readonly kind: "domain" | "tenant";
  /** The provider's id. */
  readonly provider: string;
  readonly user: string;
  readonly clientName: string;
  /** The client's redirect URI with the error. */
  readonly back: string;
  /** The address of the same request with the platform's own sign-in form. */
  readonly otherWay: string;
}

/** At the first sign-in by a provider, the user confirms by password that the account there is theirs. */
export interface ConfirmLinkView extends RedirectingFormView {
  readonly status: 200 | 400;
  /** The user's address here. The provider verified it. */
  readonly email: string;
  /** The provider's id. */
  readonly provider: string;
  /** Empty if the user signs in for the account page. */
  readonly clientName: string;
  readonly fault: "wrong" | "blocked" | undefined;
}
