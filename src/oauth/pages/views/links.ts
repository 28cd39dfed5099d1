import type { FormView, PageContext } from "./page.ts";
import type { AccountFault } from "./account.ts";

/** Asks for the address of somebody who forgot the password. `isSent`: it says instead to look at the mail. */
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

export type NewPasswordFault = Extract<AccountFault, "stale" | "length" | "common" | "own" | "repeated">;
