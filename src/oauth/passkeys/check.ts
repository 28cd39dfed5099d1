import { randomSecret } from "../../platform/runtime/random.ts";
import type { AnyCall } from "../model/call.ts";
import type { PasskeyRequestView } from "../pages/views/factors.ts";
import type { Refused } from "../sign-in/accounts.ts";
import { knownDevice } from "../sign-in/device.ts";
import type { UserRecord } from "../users/user-store.ts";
import { readAssertion, verifyAssertion } from "./ceremony.ts";
import { makeChallenge, openChallenge, type ChallengePurpose } from "./challenge.ts";
import type { PasskeyDeps } from "./passkeys.ts";

/** Lets a page ask for a passkey: of the person `email`, or of anybody. Undefined: the page cannot use passkeys. */
export async function askForPasskey(
  deps: PasskeyDeps,
  call: AnyCall,
  purpose: ChallengePurpose,
  key: string,
  email?: string,
): Promise<PasskeyRequestView | undefined> {
  const site = deps.passkeySite(call);
  if (site === undefined) return undefined;
  const listed = email === undefined ? [] : await deps.passkeys.list(email);
  return {
    challenge: await makeChallenge(deps, purpose, key, call.nowMs),
    rpId: site.id,
    allow: listed.map(({ id, transports }) => ({ id, transports: JSON.parse(transports) as string[] })),
  };
}

/** The fields that the page's script fills in. */
export interface Answered {
  readonly challenge: string;
  readonly credential: string;
}

/** The question. `key`: as of `askForPasskey`; undefined: the browser has no such secret. */
export interface Asked {
  readonly purpose: ChallengePurpose;
  readonly key: string | undefined;
  /** Only this person's passkey is right. */
  readonly email?: string;
  readonly action: string;
}

export type CheckedPasskey =
  | { readonly kind: "ok"; readonly user: UserRecord; readonly device: boolean }
  | Refused
  /** The page was open for too long, or belongs to another browser. */
  | { readonly kind: "stale" };

/**
 * Checks the answer of a passkey and uses its challenge up. Failures count with wrong passwords of the account, whose
 * object admits the attempt first, as for codes (factors/check.ts). An unknown passkey counts for nobody.
 */
export async function checkPasskey(
  deps: PasskeyDeps,
  call: AnyCall,
  { challenge: text, credential }: Answered,
  { purpose, key, email: expected, action }: Asked,
): Promise<CheckedPasskey> {
  const site = deps.passkeySite(call);
  const challenge = site && (await openChallenge(deps, purpose, key, text, call.nowMs));
  if (site === undefined || challenge === undefined) return { kind: "stale" };
  const sent = readAssertion(credential);
  const found = sent && (await deps.passkeys.find(sent.id));
  if (sent === undefined || found?.passkey === undefined) {
    deps.log.info(`${action} refused`, { requestId: call.requestId, reason: "unknown passkey" });
    return { kind: "wrong" };
  }
  const { passkey } = found;
  // Counts for the signed-in person, so an intruder who tries passkeys of others cannot block their accounts.
  const email = expected ?? passkey.email;
  const user = passkey.email === email ? await found.user() : undefined;
  const verified = await verifyAssertion(sent, passkey, challenge, site);
  const known = await knownDevice(deps, call, email);
  const device = user !== undefined && known !== undefined && known.sinceMs > user.signedOutAtMs ? known : undefined;
  const reason = verified.ok ? "the user is disabled, or it is of another user" : verified.error;
  const count = (isRight: boolean, wrong: string) =>
    deps.accounts.countCode(email, { isRight, device, wrong: `wrong passkey: ${wrong}` }, action, call);
  const counted = await count(verified.ok && user !== undefined, reason);
  if (counted.kind !== "ok" || !verified.ok || user === undefined) return refused(counted);
  const { id } = sent;
  if (!(await deps.passkeys.use({ id, email, ...verified.value, nowMs: call.nowMs }, challenge)))
    return refused(await count(false, "its challenge was used, or it was used or removed at the same moment"));
  return { kind: "ok", user, device: device !== undefined };
}

const refused = (counted: { readonly kind: "ok" } | Refused): Refused =>
  counted.kind === "ok" ? { kind: "wrong" } : counted;

/** Authenticators know all passkeys of a person by one handle, which says nothing about the person. */
export const newUserHandle = (deps: Pick<PasskeyDeps, "random">): string => randomSecret(deps.random);
