import { upgradeSession } from "../factors/check.ts";
import { checkProof } from "../passkeys/proof.ts";
import { isRecent } from "../factors/factors.ts";
import { codeOfOffer, openOffer, setUp } from "../factors/set-up.ts";
import type { AnyCall } from "../model/call.ts";
import { hasTwoFactors } from "../model/methods.ts";
import { type Parameters } from "../model/parameters.ts";
import { pageContext } from "../pages/page.ts";
import { verifyCsrfToken } from "../sign-in/browser.ts";
import { findSession, type Session } from "../sign-in/sessions.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import { finish } from "./finish.ts";
import { identify, prefilledEmail, type IdentifiedRequest } from "./identify.ts";
import { promptSignIn } from "./prompt.ts";
import { formTargets, toTextAfterSignIn } from "./protocol/request.ts";
import { codeFormKey, promptSecondFactor, type Shown } from "./second-factor.ts";
import { readCarriedForm } from "./authorize.ts";
import type { FormCall } from "../sign-in/form.ts";

const ACTION = "second factor";

/**
 * `POST /second-factor`: the form of the page that asks for a code, or on which one is set up. It carries the
 * authorization request that the page was shown for.
 *
 *   sent from another site ──▶ 400 page
 *   the request is not valid any more ──▶ as `/authorize` would answer
 *   nobody is signed in any more, or an unexpected user ──▶ the sign-in page
 *   two factors were shown already ──▶ 303 on with the request
 *   the form is of another sign-in ──▶ 400, the page again
 *   wrong code, or blocked account ──▶ 400, the page again
 *   right code, or passkey ──▶ a session of two factors, 303 on with the request
 *   right code of a new secret ──▶ it is stored; the recovery codes, with a button that goes on
 */
export async function enterSecondFactor(deps: AuthorizeDeps, call: FormCall): Promise<Response> {
  const carried = await readCarriedForm(deps, call, ACTION);
  if (!carried.ok) return carried.error;
  const { form, request } = carried.value;
  const session = await findSession(deps, call);
  const identity = identify(request, { hint: undefined, session }, call.nowMs);
  if (!identity.ok) return promptSignIn(deps, request, identity.error, call);
  if (session === undefined || hasTwoFactors(session.methods)) return finish(deps, request, identity.value, call);
  if (!(await verifyCsrfToken(deps, codeFormKey(session.sid), form.get("csrf")))) {
    const reason = "the form was not made for this sign-in";
    deps.noteRefusal(call, ACTION, { error: "invalid_request", reason, actor: request.client.id });
    return promptSecondFactor(deps, { request, identity: identity.value }, { reason, fault: "stale" }, call);
  }
  const { hasSecondFactor, hasPasskey } = session.user;
  const step = hasSecondFactor || hasPasskey ? enterProof : enterFirstCode;
  return step(deps, call, { request, session, identity: identity.value, form });
}

interface Entered extends IdentifiedRequest {
  readonly session: Session;
  readonly form: Parameters;
}

async function enterProof(deps: AuthorizeDeps, call: AnyCall, entered: Entered): Promise<Response> {
  const { request, session, form } = entered;
  const checked = await checkProof(deps, call, session, { form, key: codeFormKey(session.sid), action: ACTION });
  if (checked.kind !== "ok")
    return promptSecondFactor(deps, entered, { reason: checked.kind, fault: checked.kind }, call);
  const upgraded = await upgradeSession(deps, call, session, checked.methods);
  if (upgraded === undefined) return signInAgain(deps, call, entered);
  return upgraded.signIn(await finish(deps, request, { ...upgraded.session, from: "sign-in" }, call));
}

async function enterFirstCode(deps: AuthorizeDeps, call: AnyCall, entered: Entered): Promise<Response> {
  const { request, session, form } = entered;
  if (!isRecent(session, call)) return signInAgain(deps, call, entered);
  const offer = await openOffer(deps, call, session, form.get("offer") ?? "");
  const again = (shown: Omit<Shown, "reason">) => promptSecondFactor(deps, entered, { reason: ACTION, ...shown }, call);
  if (offer === undefined) return again({ fault: "stale" });
  const step = codeOfOffer(offer, form.get("code") ?? "", call.nowMs);
  if (step === undefined) return again({ fault: "wrong", offer });
  const done = await setUp(deps, call, session, offer, step);
  if (done === undefined) return signInAgain(deps, call, entered);
  const page = deps.pages.recoveryCodes({
    ...pageContext(call, request.parameters.get("ui_locales"), request.brand),
    codes: done.recoveryCodes,
    action: `${deps.pagesBase(call)}/second-factor`,
    hidden: { request: await toTextAfterSignIn(deps, request, done.session.sid) },
    formTargets: formTargets(request),
  });
  return done.signIn(page);
}

/** The user was signed out meanwhile, or set up a second factor elsewhere. */
const signInAgain = (deps: AuthorizeDeps, call: AnyCall, { request, session }: Entered): Promise<Response> => {
  const reason = "the sign-in is too old for this, or has just ended";
  return promptSignIn(deps, request, { email: prefilledEmail(request, session.user.email), reason }, call);
};
