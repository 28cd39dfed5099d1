import { checkCode, upgradeSession } from "../factors/check.ts";
import { checkProof } from "../passkeys/proof.ts";
import { codeOfOffer, makeOffer, openOffer, setUp, type Offer } from "../factors/set-up.ts";
import { newRecoveryCodes, recoveryHashes } from "../factors/recovery-codes.ts";
import { isRecent } from "../factors/factors.ts";
import type { AnyCall } from "../model/call.ts";
import { readParameters, type Parameters } from "../model/parameters.ts";
import { brandOfPerson } from "../pages/brand.ts";
import { pageContext } from "../pages/page.ts";
import type { AccountFault } from "../pages/views/account.ts";
import type { SetUpView } from "../pages/views/factors.ts";
import { CROSS_SITE_FORM, csrfToken, isCrossSite, verifyCsrfToken } from "../sign-in/browser.ts";
import { knownDevice } from "../sign-in/device.ts";
import { findSession, lacksProof, type Session } from "../sign-in/sessions.ts";
import type { UserRecord } from "../users/user-store.ts";
import { admit } from "./changes.ts";
import type { AccountDeps } from "./deps.ts";
import { accountAddress, accountErrorPage, redirectToAccount, requestedLocales } from "./notice.ts";
import { accountCodePage } from "./code-page.ts";
import { formKey } from "./form-key.ts";
import { accountPage } from "./page.ts";
import { signInAgain } from "./sign-in.ts";
import type { FormCall } from "../sign-in/form.ts";
import { ownChange } from "../model/own-change.ts";

const ENTER = "second factor";
const SET_UP = "set up second factor";
const REMOVE = "remove second factor";
const RENEW = "new recovery codes";

/** `POST /account/second-factor`: the form of that page. */
export async function enterAccountCode(deps: AccountDeps, call: FormCall): Promise<Response> {
  if (isCrossSite(call)) return accountErrorPage(deps, call, ENTER, { detail: CROSS_SITE_FORM });
  const form = readParameters(call.body, deps.names);
  if (!form.ok) {
    const { description: detail, reason } = form.error;
    return accountErrorPage(deps, call, ENTER, { detail, reason });
  }
  const session = await findSession(deps, call);
  if (session === undefined) return redirectToAccount(deps, call, "notSignedIn");
  if (!lacksProof(session)) return redirectToAccount(deps, call, undefined);
  if (!(await verifyCsrfToken(deps, formKey(deps, call), form.value.get("csrf"))))
    return accountCodePage(deps, call, session, "stale");
  const key = formKey(deps, call);
  const checked = await checkProof(deps, call, session, { form: form.value, key, action: ENTER });
  if (checked.kind !== "ok") return accountCodePage(deps, call, session, checked.kind);
  const upgraded = await upgradeSession(deps, call, session, checked.methods);
  const answer = redirectToAccount(deps, call, undefined);
  return upgraded === undefined ? answer : upgraded.signIn(answer);
}

/** Undefined: the code was right, and is used up. */
async function codeFault(
  deps: AccountDeps,
  call: AnyCall,
  session: Session,
  form: Parameters,
  action: string,
): Promise<"wrong" | "blocked" | undefined> {
  const typed = form.get("code") ?? form.get("recovery_code") ?? "";
  if (typed === "") return "wrong";
  const { kind } = await checkCode(deps, call, session, typed, action);
  return kind === "ok" ? undefined : kind;
}

/** `POST /account/second-factor/set-up`: a new secret to take into an app. Nothing is stored. */
export async function offerSecondFactor(deps: AccountDeps, call: FormCall): Promise<Response> {
  const admitted = await admit(deps, call, SET_UP);
  if (!admitted.ok) return admitted.error;
  const { session } = admitted.value;
  if (session.user.hasSecondFactor) return redirectToAccount(deps, call, undefined);
  const again = await proveFirst(deps, call, session);
  return again ?? offerPage(deps, call, session, await makeOffer(deps, call, session), undefined);
}

/**
 * Asks for a passkey if the person has one. The form then asks for the password. A person without a password signs in
 * again after 15 minutes: at the provider, or here by a passkey.
 */
async function proveFirst(deps: AccountDeps, call: AnyCall, session: Session): Promise<Response | undefined> {
  if (lacksProof(session)) return accountCodePage(deps, call, session, undefined);
  if (isRecent(session, call)) return undefined;
  const credential = await deps.users.credential(session.user.email);
  return credential?.passwordHash === undefined ? signInAgain(deps, call, session) : undefined;
}

async function offerPage(
  deps: AccountDeps,
  call: AnyCall,
  { user }: Session,
  { secret, sealed, uri }: Offer,
  fault: SetUpView["fault"],
): Promise<Response> {
  const credential = await deps.users.credential(user.email);
  return deps.pages.setUpSecondFactor({
    ...pageContext(call, requestedLocales(call), brandOfPerson(user)),
    status: fault === undefined ? 200 : 400,
    action: accountAddress(call, "/second-factor/confirm"),
    hidden: { csrf: await csrfToken(deps, formKey(deps, call)), offer: sealed },
    user: user.email,
    clientName: "",
    account: accountAddress(call),
    asksPassword: credential?.passwordHash !== undefined,
    secret,
    uri,
    fault,
    formTargets: [],
  });
}

/**
 * `POST /account/second-factor/confirm`
 *
 *   the page is too old, or of another sign-in ──▶ 400, the page with a new secret
 *   the code is not of the secret ──▶ 400, the page again; the password is not checked
 *   the password is wrong, or the account is blocked ──▶ 400, the page again; counts towards the block
 *   else ──▶ the second factor is on, this browser has shown it; the recovery codes
 */
export async function confirmSecondFactor(deps: AccountDeps, call: FormCall): Promise<Response> {
  const admitted = await admit(deps, call, SET_UP);
  if (!admitted.ok) return admitted.error;
  const { session, form } = admitted.value;
  const { user, authenticatedAtMs } = session;
  if (user.hasSecondFactor) return redirectToAccount(deps, call, undefined);
  const again = await proveFirst(deps, call, session);
  if (again !== undefined) return again;
  const offer = await openOffer(deps, call, session, form.get("offer") ?? "");
  if (offer === undefined) return offerPage(deps, call, session, await makeOffer(deps, call, session), "stale");
  const step = codeOfOffer(offer, form.get("code") ?? "", call.nowMs);
  if (step === undefined) return offerPage(deps, call, session, offer, "wrong");
  const credential = await deps.users.credential(user.email);
  if (credential?.passwordHash !== undefined) {
    const device = (await knownDevice(deps, call, user.email)) ?? { id: "signed in", sinceMs: authenticatedAtMs };
    const password = form.get("password") ?? "";
    const confirmed = await deps.accounts.confirm(user.email, { password, device }, SET_UP, call);
    if (confirmed.kind !== "ok")
      return offerPage(deps, call, session, offer, confirmed.kind === "wrong" ? "password" : "blocked");
  }
  const done = await setUp(deps, call, session, offer, step);
  if (done === undefined) return redirectToAccount(deps, call, "notChanged");
  return done.signIn(codesPage(deps, call, user, done.recoveryCodes));
}

const codesPage = (deps: AccountDeps, call: AnyCall, user: UserRecord, codes: readonly string[]): Response =>
  deps.pages.recoveryCodes({
    ...pageContext(call, requestedLocales(call), brandOfPerson(user)),
    codes,
    action: accountAddress(call),
    hidden: undefined,
    formTargets: [],
  });

/** `POST /account/second-factor/recovery`: ten new recovery codes in the place of the old ones, for a code. */
export async function renewRecoveryCodes(deps: AccountDeps, call: FormCall): Promise<Response> {
  const admitted = await admitWithCode(deps, call, RENEW);
  if (!admitted.ok) return admitted.error;
  const { email } = admitted.session.user;
  const codes = newRecoveryCodes(deps.random);
  const hashes = await recoveryHashes(email, codes);
  if (
    !(await deps.factors.replaceRecoveryCodes(
      email,
      hashes,
      deps.audit.statement("if changed", ownChange(call, { email, action: RENEW })),
    ))
  )
    return redirectToAccount(deps, call, "notChanged");
  deps.tell(call, "newCodes", email);
  return codesPage(deps, call, admitted.session.user, codes);
}

/** `POST /account/second-factor/remove`: for a code. From now on one factor is enough. */
export async function removeSecondFactor(deps: AccountDeps, call: FormCall): Promise<Response> {
  const admitted = await admitWithCode(deps, call, REMOVE);
  if (!admitted.ok) return admitted.error;
  const { email } = admitted.session.user;
  const removed = await deps.factors.remove(
    email,
    deps.audit.statement("if changed", ownChange(call, { email, action: REMOVE })),
  );
  if (removed) {
    deps.log.info("second factor removed", { requestId: call.requestId, user: email });
    deps.tell(call, "factorOff", email);
  }
  return redirectToAccount(deps, call, removed ? "factorRemoved" : "notChanged");
}

const FAULTS = { wrong: "wrongCode", blocked: "codeBlocked" } as const satisfies Record<string, AccountFault>;

/** A form that shows the second factor once more. */
async function admitWithCode(
  deps: AccountDeps,
  call: FormCall,
  action: string,
): Promise<{ readonly ok: true; readonly session: Session } | { readonly ok: false; readonly error: Response }> {
  const admitted = await admit(deps, call, action);
  if (!admitted.ok) return admitted;
  const { session, form } = admitted.value;
  if (!session.user.hasSecondFactor) return { ok: false, error: redirectToAccount(deps, call, undefined) };
  const fault = await codeFault(deps, call, session, form, action);
  return fault === undefined
    ? { ok: true, session }
    : { ok: false, error: await accountPage(deps, call, session, FAULTS[fault]) };
}
