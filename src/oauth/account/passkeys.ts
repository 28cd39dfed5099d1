/**
 * The person's passkeys at `/account` (passkeys/passkeys.ts says who may do what).
 *
 *   new      at most 15 min after a sign-in; a person who has a second factor or passkey has shown it ──▶ the page
 *   add      the answer of that page, within an hour, in the same session ──▶ stored; a mail
 *   rename   a person who has a second factor or passkey has shown it in this session
 *   remove   the same, at most 15 min after the sign-in; a mail
 *   else ──▶ the page for the second factor, or for signing in again
 */
import { nfkc } from "../../platform/text/text.ts";
import { upgradeIfPossible } from "../factors/check.ts";
import { isRecent } from "../factors/factors.ts";
import { isLocal } from "../model/binding.ts";
import type { AnyCall } from "../model/call.ts";
import { hasTwoFactors, withPasskey } from "../model/methods.ts";
import type { Parameters } from "../model/parameters.ts";
import { brandOfPerson } from "../pages/brand.ts";
import { pageContext } from "../pages/page.ts";
import type { NewPasskeyView } from "../pages/views/factors.ts";
import { verifyAttestation } from "../passkeys/ceremony.ts";
import { makeChallenge, openChallenge } from "../passkeys/challenge.ts";
import { newUserHandle } from "../passkeys/check.ts";
import { MOST_PASSKEYS, PASSKEY_NAME_CHARS, type RelyingParty } from "../passkeys/relying-party.ts";
import { COSE_ALGS } from "../passkeys/public-key.ts";
import { csrfToken } from "../sign-in/browser.ts";
import { lacksProof, type Session } from "../sign-in/sessions.ts";
import { whereaboutsOf } from "../sign-in/whereabouts.ts";
import { changingSession } from "../users/user-store.ts";
import { admit } from "./changes.ts";
import { accountCodePage } from "./code-page.ts";
import type { AccountDeps } from "./deps.ts";
import { formKey } from "./form-key.ts";
import { accountAddress, accountErrorPage, redirectToAccount, requestedLocales } from "./notice.ts";
import { accountPage } from "./page.ts";
import { signInAgain } from "./sign-in.ts";
import type { FormCall } from "../sign-in/form.ts";
import { ownChange } from "../model/own-change.ts";

const ADD = "add passkey";
const RENAME = "rename passkey";
const REMOVE = "remove passkey";

interface Adding {
  readonly session: Session;
  readonly form: Parameters;
  readonly site: RelyingParty;
}

async function admitAdding(deps: AccountDeps, call: FormCall): Promise<Adding | Response> {
  const admitted = await admit(deps, call, ADD);
  if (!admitted.ok) return admitted.error;
  const { session, form } = admitted.value;
  const site = deps.passkeySite(call);
  if (site === undefined || !isLocal(session.provider))
    return accountErrorPage(deps, call, ADD, { detail: "No passkey can be added in this sign-in." });
  if (lacksProof(session)) return accountCodePage(deps, call, session, undefined);
  return isRecent(session, call) ? { session, form, site } : signInAgain(deps, call, session);
}

/** `POST /account/passkeys/new`: the page that makes a passkey. Nothing is stored. */
export async function newPasskey(deps: AccountDeps, call: FormCall): Promise<Response> {
  const admitted = await admitAdding(deps, call);
  return admitted instanceof Response ? admitted : newPasskeyPage(deps, call, admitted, undefined);
}

async function newPasskeyPage(
  deps: AccountDeps,
  call: AnyCall,
  { session: { user }, site }: Adding,
  fault: NewPasskeyView["fault"],
): Promise<Response> {
  const known = user.hasPasskey ? await deps.passkeys.list(user.email) : [];
  const { browser, system } = whereaboutsOf(call);
  const userHandle = known[0]?.userHandle ?? newUserHandle(deps);
  return deps.pages.newPasskey({
    ...pageContext(call, requestedLocales(call), brandOfPerson(user)),
    status: fault === undefined ? 200 : 400,
    action: accountAddress(call, "/passkeys/add"),
    hidden: {
      csrf: await csrfToken(deps, formKey(deps, call)),
      // Each page makes a handle for a person without passkeys. The form brings back the one that its page showed.
      user_handle: await deps.sealer.seal(userHandle, handlePurpose(user.email)),
    },
    challenge: await makeChallenge(deps, "add", formKey(deps, call), call.nowMs),
    rpId: site.id,
    user: { email: user.email, name: user.name },
    userHandle,
    algs: COSE_ALGS,
    known: known.map(({ id }) => id),
    name: [browser, system].filter((part) => part !== "").join(", "),
    account: accountAddress(call),
    fault,
    formTargets: [],
  });
}

const handlePurpose = (email: string): string => `passkey user handle of ${email}`;

/**
 * `POST /account/passkeys/add`
 *
 *   the page is too old, of another session, or was used ──▶ 400, the page again
 *   another origin, no verification of the person, another algorithm, twenty passkeys ──▶ 400, the page again
 *   else ──▶ stored, and a session of two factors; 303 to the account
 */
export async function addPasskey(deps: AccountDeps, call: FormCall): Promise<Response> {
  const admitted = await admitAdding(deps, call);
  if (admitted instanceof Response) return admitted;
  const { session, form, site } = admitted;
  const { email } = session.user;
  const refuse = (reason: string, fault: "stale" | "passkey"): Promise<Response> => {
    deps.noteRefusal(call, ADD, { error: "invalid_request", reason, actor: `user ${email}` });
    return newPasskeyPage(deps, call, admitted, fault);
  };
  const { nowMs } = call;
  const challenge = await openChallenge(deps, "add", formKey(deps, call), form.get("challenge") ?? "", nowMs);
  const userHandle = await deps.sealer.open(form.get("user_handle") ?? "", handlePurpose(email));
  if (challenge === undefined || userHandle === undefined) return refuse("the page is too old", "stale");
  const made = await verifyAttestation(form.get("credential") ?? "", challenge, site);
  if (!made.ok) return refuse(made.error, "passkey");
  const added = {
    ...made.value,
    email,
    userHandle,
    name: nameOf(form) ?? site.id,
    session: changingSession(session),
    nowMs,
  };
  if (
    !(await deps.passkeys.add(
      added,
      challenge,
      deps.audit.statement("if changed", ownChange(call, { email, action: ADD, reason: added.name })),
    ))
  )
    return refuse(`it was added already, there are ${MOST_PASSKEYS}, or the session ended`, "passkey");
  deps.log.info("passkey added", { requestId: call.requestId, user: email });
  deps.tell(call, "passkeyAdded", email);
  const answer = redirectToAccount(deps, call, "passkeyAdded");
  // The authenticator has just verified the person.
  const upgraded = hasTwoFactors(session.methods)
    ? undefined
    : await upgradeIfPossible(deps, call, session, withPasskey(session.methods));
  return upgraded === undefined ? answer : upgraded.signIn(answer);
}

/** Undefined: the person typed none. */
const nameOf = (form: Parameters): string | undefined =>
  nfkc((form.get("name") ?? "").trim().replaceAll(/\s+/g, " ").slice(0, PASSKEY_NAME_CHARS), PASSKEY_NAME_CHARS) ||
  undefined;

/** A form about one passkey, in a session that showed one or a code. */
async function admitChange(
  deps: AccountDeps,
  call: FormCall,
  action: string,
): Promise<{ readonly session: Session; readonly form: Parameters; readonly id: string } | Response> {
  const admitted = await admit(deps, call, action);
  if (!admitted.ok) return admitted.error;
  const { session, form } = admitted.value;
  if (lacksProof(session)) return accountCodePage(deps, call, session, undefined);
  return { session, form, id: form.get("passkey") ?? "" };
}

/** `POST /account/passkeys/rename` */
export async function renamePasskey(deps: AccountDeps, call: FormCall): Promise<Response> {
  const admitted = await admitChange(deps, call, RENAME);
  if (admitted instanceof Response) return admitted;
  const { session, form, id } = admitted;
  const name = nameOf(form);
  const renamed = name !== undefined && (await deps.passkeys.rename(session.user.email, id, name));
  return redirectToAccount(deps, call, renamed ? "passkeyRenamed" : "notChanged");
}

/** `POST /account/passkeys/remove`: not the last way to sign in. */
export async function removePasskey(deps: AccountDeps, call: FormCall): Promise<Response> {
  const admitted = await admitChange(deps, call, REMOVE);
  if (admitted instanceof Response) return admitted;
  const { session, id } = admitted;
  if (!isRecent(session, call)) return signInAgain(deps, call, session);
  const { email } = session.user;
  if (
    !(await deps.passkeys.remove(
      email,
      id,
      call.nowMs,
      deps.audit.statement("if changed", ownChange(call, { email, action: REMOVE })),
    ))
  )
    return accountPage(deps, call, session, "lastPasskey");
  deps.log.info("passkey removed", { requestId: call.requestId, user: email });
  deps.tell(call, "passkeyRemoved", email);
  return redirectToAccount(deps, call, "passkeyRemoved");
}
