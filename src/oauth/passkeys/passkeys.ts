/**
 * Passkeys (W3C Web Authentication, level 3).
 *
 *   account:    none ──add──▶ 1 to 20, each with a name ──remove · an operator──▶ none
 *   challenge:  on a page, for an hour ──a passkey's answer──▶ used (challenge.ts)
 *   session:    none ──a passkey──▶ two factors            one factor ──a passkey──▶ two factors, another session
 *
 * A passkey counts as two factors, alone or after a password: the person has the authenticator, which must state that
 * it verified the person, for example by a PIN or a fingerprint. The `amr` of such a sign-in has `pop`, `user` and
 * `mfa`.
 *
 *   where         the host of the pages: AUTH_URL, PUBLIC_URL, or the request's own. An IP address has no passkeys.
 *   who adds      a person of our own directory, at most 15 min after the sign-in. People of an identity provider add
 *                 none, since their access must end with their account there.
 *   who changes   a person with a passkey or an app changes these only in a session that showed one. Otherwise the
 *                 password alone could replace the stronger factor.
 *   who removes   the person, unless it is the last way to sign in; an operator
 *   wrong answer  counts towards the block of the account, as a wrong code does. A block refuses right answers too.
 *
 * The browser's part is one script (ui/parts/page-script.ts). Without it, the pages work without passkeys.
 */
import type { FactorDeps } from "../factors/factors.ts";
import type { AnyCall } from "../model/call.ts";
import type { PasskeyStore } from "./passkey-store.ts";
import type { RelyingParty } from "./relying-party.ts";

export interface PasskeyDeps extends FactorDeps {
  readonly passkeys: PasskeyStore;
  /** Undefined: the page of this request cannot use passkeys. */
  passkeySite(call: AnyCall): RelyingParty | undefined;
}
