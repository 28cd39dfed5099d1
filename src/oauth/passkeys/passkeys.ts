/**
 * Passkeys (W3C Web Authentication, level 3).
 *
 *   account:    none ──add──▶ 1 to 20, each with a name ──remove · an operator──▶ none
 *   challenge:  on a page, for an hour ──a passkey's answer──▶ used (challenge.ts)
 *   session:    none ──a passkey──▶ two factors            one factor ──a passkey──▶ two factors, another session
 *
 * A passkey is something that the person has, unlocked by something that the person knows or is: its authenticator must
 * say that it verified the person. So it counts as two factors, alone or after a password, and `amr` says `pop`, `user`
 * and `mfa`.
 *
 *   where          the host of the pages: AUTH_URL, PUBLIC_URL, or the request's own. An address by numbers has none.
 *   who adds       a session of our own directory that signed in within 15 minutes. People of an identity provider get
 *                  none: what signs them in must end with their account there.
 *   who changes    whoever has a passkey changes passkeys and apps in a session of two factors only. Else the password
 *                  alone could replace the stronger way.
 *   who removes    the person, unless it is the last way to sign in; an operator
 *   wrong          counts towards the block of the account, as a wrong code does; the right one is refused in a block
 *
 * The browser's part is one script (ui/passkey-script.ts). Without it the pages work as before, without passkeys.
 */
import type { FactorDeps } from "../factors/factors.ts";
import type { AnyCall } from "../model/call.ts";
import type { PasskeyStore } from "./passkey-store.ts";
import type { RelyingParty } from "./relying-party.ts";

export interface PasskeyDeps extends FactorDeps {
  readonly passkeys: PasskeyStore;
  /** Undefined: the page of this request can use no passkeys. */
  passkeySite(call: AnyCall): RelyingParty | undefined;
}
