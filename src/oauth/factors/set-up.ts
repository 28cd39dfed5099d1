import type { AnyCall } from "../model/call.ts";
import { withCode } from "../model/methods.ts";
import type { Session } from "../sign-in/sessions.ts";
import { changingSession } from "../users/user-store.ts";
import { upgradeIfPossible, type Upgraded } from "./check.ts";
import type { FactorDeps } from "./factors.ts";
import { newRecoveryCodes, recoveryHashes } from "./recovery-codes.ts";
import { totpSealContext } from "./secret.ts";
import { enrolmentUri, matchingStep, newSecret } from "./totp.ts";
import { ownChange } from "../model/own-change.ts";
import { HOUR_MS } from "../../platform/runtime/clock.ts";

/** Our choice: long enough to find and install an app. */
const LIFETIME_MS = HOUR_MS;

/** A secret that a page shows and that is not stored yet. The form brings it back, sealed for this session. */
export interface Offer {
  readonly secret: string;
  readonly sealed: string;
  /** The content of the picture. */
  readonly uri: string;
}

/** The sign-in that the offer is made to. */
type Offered = Pick<Session, "sid" | "user">;

export async function makeOffer(deps: FactorDeps, call: AnyCall, session: Offered): Promise<Offer> {
  const secret = newSecret(deps.random);
  const sealed = await deps.sealer.seal(JSON.stringify({ secret, madeAtMs: call.nowMs }), purpose(session));
  return toOffer(call, session, secret, sealed);
}

/** Undefined if the form is of another session, or too old. */
export async function openOffer(
  deps: FactorDeps,
  call: AnyCall,
  session: Offered,
  sealed: string,
): Promise<Offer | undefined> {
  const text = await deps.sealer.open(sealed, purpose(session));
  if (text === undefined) return undefined;
  const { secret, madeAtMs } = JSON.parse(text) as { readonly secret: string; readonly madeAtMs: number };
  return call.nowMs - madeAtMs < LIFETIME_MS ? toOffer(call, session, secret, sealed) : undefined;
}

const toOffer = ({ publicBase }: AnyCall, { user }: Offered, secret: string, sealed: string): Offer => ({
  secret,
  sealed,
  uri: enrolmentUri(secret, user.email, new URL(publicBase).host),
});

const purpose = ({ sid, user }: Offered): string => `second factor of ${user.email} in session ${sid}`;

/** The step of a right code. Wrong codes are not counted: whoever sends the form has seen the secret. */
export const codeOfOffer = ({ secret }: Offer, typed: string, nowMs: number): number | undefined =>
  matchingStep(secret, typed.replaceAll(/[\s-]/g, ""), nowMs, 0);

export interface SetUp extends Upgraded {
  /** Shown once. */
  readonly recoveryCodes: readonly string[];
}

/**
 * Stores the secret. Undefined if another one was set up meanwhile, or the session ended. From then on it is on, so the
 * recovery codes are shown even if the session could not be replaced: the person then signs in again.
 */
export async function setUp(
  deps: FactorDeps,
  call: AnyCall,
  session: Session,
  { secret }: Offer,
  lastStep: number,
): Promise<SetUp | undefined> {
  const { nowMs, requestId } = call;
  const { email } = session.user;
  const recoveryCodes = newRecoveryCodes(deps.random);
  const audit = deps.audit.statement("if changed", ownChange(call, { email, action: "set up second factor" }));
  const sealedSecret = await deps.sealer.seal(secret, totpSealContext(email));
  const hashes = await recoveryHashes(email, recoveryCodes);
  const added = { email, sealedSecret, lastStep, recoveryHashes: hashes, session: changingSession(session), nowMs };
  if (!(await deps.factors.add(added, audit))) return undefined;
  deps.log.info("second factor set up", { requestId, user: email });
  deps.tell(call, "factorOn", email);
  const upgraded = await upgradeIfPossible(deps, call, session, withCode(session.methods));
  return { session, signIn: async (answer) => answer, ...upgraded, recoveryCodes };
}
