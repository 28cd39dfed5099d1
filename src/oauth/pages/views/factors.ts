import type { PageContext, RedirectingFormView } from "./page.ts";

/** Options of the script that asks for a passkey. It puts the answer into the field `credential` of the page's form. */
export interface PasskeyRequestView {
  readonly challenge: string;
  /** The domain that the passkeys belong to. */
  readonly rpId: string;
  /** The accepted passkeys. Empty: any of the domain. */
  readonly allow: readonly { readonly id: string; readonly transports: readonly string[] }[];
}

/** `stale`: the form was made for another sign-in. `passkey`: it is not the person's, or its answer is wrong. */
export type CodeFault = "wrong" | "blocked" | "stale" | "passkey";

/** Asks for a one-time code (field `code`), a recovery code (field `recovery_code`) or a passkey. */
export interface SecondFactorView extends RedirectingFormView {
  readonly status: 200 | 400;
  /** The address of the user, who is signed in by one factor. */
  readonly user: string;
  /** Empty if the user signs in for the account page. */
  readonly clientName: string;
  readonly logoUri?: string | undefined;
  /** The person has an authenticator app. If false, only a passkey is accepted. */
  readonly asksCode: boolean;
  /** Undefined: the person has none, or the page cannot use passkeys. */
  readonly passkey?: PasskeyRequestView | undefined;
  readonly fault: CodeFault | undefined;
}

/** Shows a new secret as a QR code and as text, and asks for its first code. */
export interface SetUpView extends Omit<SecondFactorView, "fault" | "asksCode" | "passkey"> {
  /** The address of the account page, if the person chose there to set one up. Undefined: the sign-in requires it. */
  readonly account: string | undefined;
  readonly asksPassword: boolean;
  /** In base32. */
  readonly secret: string;
  /** The content of the QR code (`otpauth:`). */
  readonly uri: string;
  readonly fault: Exclude<CodeFault, "passkey"> | "password" | undefined;
}

/** Shows recovery codes, once. */
export interface RecoveryCodesView extends PageContext {
  readonly codes: readonly string[];
  /** The target of the button. */
  readonly action: string;
  /** Fields of the form that continues the sign-in. Undefined: the button is a link. */
  readonly hidden: Readonly<Record<string, string>> | undefined;
  readonly formTargets: readonly string[];
}

/** Makes a new passkey. The script puts it into the field `credential`. The person names it in the field `name`. */
export interface NewPasskeyView extends RedirectingFormView {
  readonly status: 200 | 400;
  readonly challenge: string;
  readonly rpId: string;
  readonly user: { readonly email: string; readonly name: string };
  /** The id of the person for authenticators, in base64url. */
  readonly userHandle: string;
  /** The accepted algorithms (COSE numbers), the preferred one first. */
  readonly algs: readonly number[];
  /** Ids of the person's passkeys. An authenticator that has one of them makes no other. */
  readonly known: readonly string[];
  /** Prefilled. */
  readonly name: string;
  /** The address of the account page. */
  readonly account: string;
  /** `stale`: the page was too old. `passkey`: the new passkey was refused, or the person has too many. */
  readonly fault: "stale" | "passkey" | undefined;
}
