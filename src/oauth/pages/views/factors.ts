import type { PageContext, RedirectingFormView } from "./page.ts";

/** The page's script asks for a passkey by this, and puts its answer into the field `credential` of the page's form. */
export interface PasskeyRequestView {
  readonly challenge: string;
  /** The domain that the passkeys belong to. */
  readonly rpId: string;
  /** One of these. Empty: any of the domain. */
  readonly allow: readonly { readonly id: string; readonly transports: readonly string[] }[];
}

/** `stale`: the form was made for another sign-in. `passkey`: it is not one of the person's, or not right. */
export type CodeFault = "wrong" | "blocked" | "stale" | "passkey";

/** Asks for a one-time code or a recovery code, the fields `code` and `recovery_code`, or for a passkey. */
export interface SecondFactorView extends RedirectingFormView {
  readonly status: 200 | 400;
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

/** Shows recovery codes, once. */
export interface RecoveryCodesView extends PageContext {
  readonly codes: readonly string[];
  /** Where the button leads. */
  readonly action: string;
  /** Fields of the form that goes on. Undefined: a link is enough. */
  readonly hidden: Readonly<Record<string, string>> | undefined;
  readonly formTargets: readonly string[];
}

/** Makes a new passkey. The page's script puts it into the field `credential`; `name` is for the person. */
export interface NewPasskeyView extends RedirectingFormView {
  readonly status: 200 | 400;
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
}
