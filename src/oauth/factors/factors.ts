/**
 * Second factors: one-time codes of an app (RFC 6238), and recovery codes in case the app is lost.
 *
 *   account:  none ──set up: a code of the new secret──▶ on, with ten recovery codes ──removed──▶ none
 *                                                         └── recovery codes made anew: still on, the old ones are void
 *   session:  one factor ──a code──▶ two factors: another session in its place, with a new cookie
 *   code:     good for its 30 s and the 30 s on either side ──used──▶ void, and every earlier one with it
 *   recovery: good ──used──▶ void
 *
 * The password, or another provider, makes a session of one factor. Where two are needed it gives nothing
 * (grants/user-grant.ts): no token, no code, no refresh, no account page. Two are needed of everybody who has set them
 * up, and where a client, its request, the tenant or a role asks for them. Then a page of its own asks for a code, or
 * sets up an app (authorize/second-factor.ts, account/second-factor.ts).
 *
 *   who sets up      a session that signed in within 15 minutes, or with the password again; never where it is on
 *                    and only with the passkey by somebody who has one (passkeys/passkeys.ts)
 *   who removes      a session of two factors, with a code again; an operator
 *   a wrong code     counts towards the block of the account, as a wrong password does (check.ts). The right password
 *                    of somebody with a second factor does not end the count, and makes no known browser: else whoever
 *                    has the password could guess codes without end.
 *   a code twice     the write that uses it is conditional: of two at once, one signs in, and the other counts as wrong
 */
import type { AuditTrail } from "../../platform/ports/audit.ts";
import type { SignInTimes } from "../model/authorization.ts";
import type { AnyCall } from "../model/call.ts";
import type { SignInDeps } from "../sign-in/device.ts";
import type { SessionDeps } from "../sign-in/sessions.ts";
import type { FactorStore } from "./factor-store.ts";
import { MINUTE_MS } from "../../platform/runtime/clock.ts";

export interface FactorDeps extends SessionDeps, SignInDeps {
  readonly factors: FactorStore;
  readonly audit: AuditTrail;
}

/** Our choice. */
const RECENT_MS = 15 * MINUTE_MS;

/** A recent sign-in may change how the person signs in. An older one must sign in again first. */
export const isRecent = (
  { authenticatedAtMs }: Pick<SignInTimes, "authenticatedAtMs">,
  { nowMs }: Pick<AnyCall, "nowMs">,
) => nowMs - authenticatedAtMs < RECENT_MS;
