import type { FormView, PageContext } from "./page.ts";
import type { AccountFault } from "./account.ts";

/** Asks for the address of a person who forgot the password. `isSent`: it asks the person to look for the mail. */
export interface ForgotView extends FormView {
  /** Prefilled. May be empty. */
  readonly email: string;
  readonly isSent: boolean;
}

/** Asks for a new password. */
export interface NewPasswordView extends FormView {
  readonly status: 200 | 400;
  /** The address of the account. */
  readonly email: string;
  readonly fault: NewPasswordFault | undefined;
}

/** Asks an invited person to join. */
export interface InvitationView extends FormView {
  readonly status: 200 | 400;
  readonly email: string;
  /** The name of the tenant or organization. */
  readonly place: string;
  /** The person has no way to sign in yet, so the page asks for a password. */
  readonly needsPassword: boolean;
  readonly fault: NewPasswordFault | undefined;
}

/** Asks whether the address is the person's own. */
export interface ConfirmAddressView extends FormView {
  readonly email: string;
}

/** The link cannot be used. `elsewhere`: it works only in the browser that requested it. `invitation`: it was one. */
export interface LinkVoidView extends PageContext {
  readonly kind: "void" | "elsewhere" | "invitation";
  /** The address of the account page. */
  readonly account: string;
}

/** The link was used: the password is changed, the person is a member, or the address is verified. */
export interface LinkUsedView extends PageContext {
  readonly kind: "reset" | "invitation" | "verify";
  /** The address at which the person continues. */
  readonly next: string;
  /** The name of the tenant or organization, for an invitation. */
  readonly place?: string;
  /** An invited person typed a new password, but could sign in by then, so it is not set. */
  readonly passwordIsUnused?: boolean;
}

export type NewPasswordFault = Extract<AccountFault, "stale" | "length" | "common" | "own" | "repeated">;
