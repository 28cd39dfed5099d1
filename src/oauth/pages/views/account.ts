import type { PageContext } from "./page.ts";
import type { ScopeView } from "./consent.ts";

/** The forms of the account page. */
type AccountForm =
  | "signOut"
  | "revokeAll"
  | "removeAccess"
  | "password"
  | "verifyAddress"
  | "endSession"
  | "setUpFactor"
  | "removeFactor"
  | "renewCodes"
  | "newPasskey"
  | "renamePasskey"
  | "removePasskey"
  | "link"
  | "unlink";

/** The page `/account` of a signed-in user. */
export interface AccountView extends PageContext {
  readonly status: 200 | 400;
  /** The target of each form. */
  readonly actions: Readonly<Record<AccountForm, string>>;
  /** Hidden fields of every form. */
  readonly hidden: Readonly<Record<string, string>>;
  readonly user: { readonly email: string; readonly name: string };
  /** Undefined: the platform sends no mail, so the page says nothing about the address. */
  readonly verification: "verified" | "open" | undefined;
  readonly signedInAtMs: number;
  /** The identity provider that vouched. Undefined for the platform's own directory. */
  readonly provider: string | undefined;
  readonly applications: readonly AccountApplication[];
  /** The list is cut; the user has more applications. */
  readonly hasMore: boolean;
  /** The browsers in which the user is signed in, this one first. */
  readonly sessions: readonly AccountSession[];
  /** The list is cut; the user has more sessions. */
  readonly hasMoreSessions: boolean;
  /** The user has a password, so the page offers to change it. */
  readonly hasPassword: boolean;
  /** Identity providers whose accounts are linked to the user. */
  readonly linked: readonly AccountProvider[];
  /** Other identity providers, which the user may link. */
  readonly linkable: readonly AccountProvider[];
  /** As in RedirectingFormView (page.ts). */
  readonly formTargets: readonly string[];
  /** Undefined: none is set up. `recoveryCodes`: how many are left. */
  readonly secondFactor: { readonly recoveryCodes: number } | undefined;
  /** Undefined: the person has none and cannot add one here. `mayAdd`: the person can add one here. */
  readonly passkeys: { readonly list: readonly AccountPasskey[]; readonly mayAdd: boolean } | undefined;
  readonly notice: AccountNotice | undefined;
  readonly fault: AccountFault | undefined;
}

interface AccountProvider {
  readonly id: string;
  readonly name: string;
}

interface AccountPasskey {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
  /** Undefined: never. */
  readonly lastUsedMs: number | undefined;
  /** The authenticator syncs it to other devices. */
  readonly isBackedUp: boolean;
}

/** A browser in which the user is signed in. Browser, system, country (ISO 3166-1) and city may be empty. */
export interface AccountSession {
  readonly sid: string;
  readonly browser: string;
  readonly system: string;
  readonly country: string;
  readonly city: string;
  /** The identity provider that vouched. */
  readonly provider: string | undefined;
  readonly sinceMs: number;
  /** To the hour, or finer where unused sessions end. */
  readonly lastUsedMs: number;
  readonly isCurrent: boolean;
}

/** A client that holds refresh tokens of the user or has their consent. */
export interface AccountApplication {
  readonly clientId: string;
  readonly name: string;
  /** `place`: the name of a tenant or an organization. Empty outside any. */
  readonly access: readonly { readonly place: string; readonly scopes: readonly ScopeView[] }[];
  readonly sinceMs: number;
  /** Undefined: not since the first access was given. */
  readonly lastUsedMs: number | undefined;
}

/**
 * The result of the previous form.
 * - `notChanged`: the form changed nothing, because the account changed at the same moment.
 * - `notSignedIn`: the sign-in had ended before the form came, which may have been sent twice.
 * - `sessionEndedPartly`: some grants of the session remain and still give access.
 */
export const ACCOUNT_NOTICES = [
  "removed",
  "changed",
  "notChanged",
  "notSignedIn",
  "signedOut",
  "ended",
  "sessionEnded",
  "sessionEndedPartly",
  "linkSent",
  "factorRemoved",
  "linked",
  "unlinked",
  "passkeyAdded",
  "passkeyRenamed",
  "passkeyRemoved",
] as const;
export type AccountNotice = (typeof ACCOUNT_NOTICES)[number];

/**
 * The reason why nothing was done.
 * - `stale`: the form was made for another sign-in.
 * - `wrong`, `blocked`: about the old password.
 * - `wrongCode`, `codeBlocked`: about the code of the second factor.
 * - `notLinked`, `linkedElsewhere`: about an account at a provider.
 * - `lastWay`, `lastPasskey`: the user would have no other way to sign in.
 * - The others are about the new password: wrong length, too common, taken from the account or the platform's name,
 *   repeated differently, unchanged.
 */
export type AccountFault = PasswordFormFault | ProviderFault | "stale" | "wrongCode" | "codeBlocked" | "lastPasskey";
type ProviderFault = "notLinked" | "linkedElsewhere" | "lastWay";
type PasswordFormFault = "wrong" | "blocked" | "length" | "common" | "own" | "repeated" | "same";
