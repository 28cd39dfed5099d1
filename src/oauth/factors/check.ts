import { describeError } from "../../platform/runtime/log.ts";
import { nfkc } from "../../platform/text/text.ts";
import type { AnyCall } from "../model/call.ts";
import type { Methods } from "../model/methods.ts";
import type { Refused } from "../sign-in/accounts.ts";
import { knownDevice, rememberDevice, rememberWithoutPassword } from "../sign-in/device.ts";
import { startSession, type Session } from "../sign-in/sessions.ts";
import type { FactorDeps } from "./factors.ts";
import { RECOVERY_CODE, recoveryHash } from "./recovery-codes.ts";
import { openSecret } from "./secret.ts";
import { matchingStep } from "./totp.ts";

const CODE = /^[0-9]{6}$/;
/** People type spaces and hyphens around a code, but fewer. */
const MAX_TYPED_CHARS = 64;

/**
 * Checks a one-time code or a recovery code and uses it up. Failures count with wrong passwords of the account. The
 * account's object admits the attempt first, so a blocked attempt uses no code up.
 */
export async function checkCode(
  deps: FactorDeps,
  call: AnyCall,
  { user }: Pick<Session, "user">,
  typed: string,
  action: string,
): Promise<{ readonly kind: "ok" } | Refused> {
  const { email } = user;
  const known = await knownDevice(deps, call, email);
  const device = known !== undefined && known.sinceMs > user.signedOutAtMs ? known : undefined;
  const count = (isRight: boolean) => deps.accounts.countCode(email, { isRight, device }, action, call);
  const use = await findCode(deps, call, email, typed);
  const counted = await count(use !== undefined);
  if (counted.kind !== "ok" || use === undefined) return counted;
  return (await use()) ? counted : count(false);
}

/** Uses the code up. False if another request did so first. */
type Use = () => Promise<boolean>;

async function findCode(deps: FactorDeps, call: AnyCall, email: string, typed: string): Promise<Use | undefined> {
  const code = nfkc(typed.slice(0, MAX_TYPED_CHARS), MAX_TYPED_CHARS)?.replaceAll(/[\s-]/g, "") ?? "";
  if (RECOVERY_CODE.test(code)) {
    const hash = await recoveryHash(email, code);
    return (await deps.factors.hasRecoveryCode(email, hash))
      ? () => deps.factors.useRecoveryCode(email, hash)
      : undefined;
  }
  const stored = CODE.test(code) ? await deps.factors.find(email) : undefined;
  if (stored === undefined) return undefined;
  const secret = await openSecret(deps, email, stored.sealedSecret);
  const step = matchingStep(secret, code, call.nowMs, stored.lastStep);
  return step === undefined ? undefined : () => deps.factors.useStep(email, step);
}

/** A session of two factors that replaces one of one factor. */
export interface Upgraded {
  readonly session: Session;
  /** Adds the cookies of the new session and of the browser, which is known from now on. */
  readonly signIn: (answer: Response) => Promise<Response>;
}

/**
 * Undefined if the user was disabled or signed out meanwhile. The time of the sign-in stays that of the first factor.
 * `methods`: those of both.
 */
export async function upgradeSession(
  deps: FactorDeps,
  call: AnyCall,
  one: Session,
  methods: Methods,
): Promise<Upgraded | undefined> {
  const { user, provider, authenticatedAtMs, provenAtMs } = one;
  const { email } = user;
  const started = await startSession(deps, call, { email, provider, authenticatedAtMs, provenAtMs, methods });
  if (started === undefined) return undefined;
  const device = (await knownDevice(deps, call, email)) !== undefined;
  return {
    session: { ...one, sid: started.sid, shard: started.shard, methods },
    signIn(answer) {
      answer.headers.append("set-cookie", started.cookie);
      return methods.includes("pwd")
        ? rememberDevice(deps, call, answer, { kind: "ok", email, device, needsCode: false })
        : rememberWithoutPassword(deps, call, answer, user, methods);
    },
  };
}

/** The same after a change that is stored already. A failure must not report it as failed, so it is undefined too. */
export async function upgradeIfPossible(...upgrade: Parameters<typeof upgradeSession>): Promise<Upgraded | undefined> {
  try {
    return await upgradeSession(...upgrade);
  } catch (thrown) {
    const [{ log }, { requestId }, { user }] = upgrade;
    log.error("session not replaced", { requestId, user: user.email, error: describeError(thrown) });
    return undefined;
  }
}
