import { consentRule } from "../consent/consent.ts";
import type { Consent } from "../consent/consent-store.ts";
import type { AnyCall } from "../model/call.ts";
import { verifyCsrfToken } from "../sign-in/browser.ts";
import { findSession } from "../sign-in/sessions.ts";
import { consentFormKey, parseConsent } from "./consent.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import { refused } from "./protocol/failure.ts";
import { finish } from "./finish.ts";
import { identify } from "./identify.ts";
import { promptSignIn } from "./prompt.ts";
import { refusedAnswer } from "./protocol/response.ts";
import { readCarriedForm, refuseForm } from "./authorize.ts";
import type { FormCall } from "../sign-in/form.ts";

const ACTION = "consent";

/**
 * `POST /consent`: the form of the consent page. It carries the authorization request that the page was shown for.
 *
 *   sent from another site ──▶ 400 page
 *   the request is not valid any more ──▶ as `/authorize` would answer
 *   nobody is signed in any more, or an unexpected user ──▶ the sign-in page
 *   the form is of another sign-in, or was changed ──▶ 400, the page again
 *   denied ──▶ 303 to the client with `access_denied`
 *   allowed, but nobody registered the client and the user has brought too many ──▶ 303 to it with `access_denied`
 *   allowed ──▶ consent stored, 303 on with the request; the page again if the request needs more than it showed
 */
export async function decideConsent(deps: AuthorizeDeps, call: FormCall): Promise<Response> {
  const carried = await readCarriedForm(deps, call, ACTION);
  if (!carried.ok) return carried.error;
  const { form, request } = carried.value;
  const decision = form.get("decision");
  if (decision !== "allow" && decision !== "deny")
    return refuseForm(deps, call, ACTION, "decision must be allow or deny.");
  const identity = identify(request, { hint: undefined, session: await findSession(deps, call) }, call.nowMs);
  if (!identity.ok) return promptSignIn(deps, request, identity.error, call);
  const { user, sid, authenticatedAtMs } = identity.value;

  const consentText = form.get("asked") ?? "";
  if (!(await verifyCsrfToken(deps, consentFormKey(sid, consentText), form.get("csrf")))) {
    const reason = "the form was not made for this sign-in";
    deps.noteRefusal(call, ACTION, { error: "invalid_request", reason, actor: request.client.id });
    return finish(deps, request, identity.value, call, { staleConsent: true });
  }
  if (decision === "deny") {
    if (request.device !== undefined) await deps.devices.decide(request.device.hash, undefined, call.nowMs);
    const failure = refused("access_denied", "The user denied the request.", `${user.email} denied the request`);
    return refusedAnswer(deps, request, failure, call);
  }
  const consent = parseConsent(consentText);
  const { client } = request;
  // The field `request` may name another client than the page showed.
  if (client.unregistered !== undefined && consent.clientId === client.id) {
    const adoption = await deps.unregistered.adopt(client, user.email, call.nowMs);
    if (adoption !== "adopted") return refusedAnswer(deps, request, ADOPTION_FAULTS[adoption], call);
  }
  // A client that needs no consent gets none stored: only this device is allowed.
  if (consentRule(client, user, consent) !== "never") await storeConsent(deps, consent, authenticatedAtMs, call);
  return finish(deps, request, identity.value, call, { allowed: consentText });
}

const ADOPTION_FAULTS = {
  gone: refused("access_denied", "The client has just been removed."),
  "too many": refused(
    "access_denied",
    "The user has allowed too many clients that nobody registered. The user takes access away at /account and tries again after a day, or an operator registers the client.",
    "the user has brought too many unregistered clients",
  ),
} as const;

/** Adds the scopes that the page showed to those that the user allowed before. */
async function storeConsent(
  { consents, audit, log }: AuthorizeDeps,
  consent: Consent,
  authenticatedAtMs: number,
  { nowMs, requestId }: AnyCall,
): Promise<void> {
  const { email, clientId, tenant, org } = consent;
  const place = tenant !== "" ? [`tenant ${tenant}`] : org !== "" ? [`org ${org}`] : [];
  const reason = [...place, ...consent.scopes].join(" ");
  const about = { actor: `user ${email}`, action: "allow client", subject: `users/${email}/consents/${clientId}` };
  await consents.allow(consent, { authenticatedAtMs, nowMs }, [
    audit.statement("if changed", { ...about, atMs: nowMs, requestId, outcome: "done", reason }),
  ]);
  log.info("client allowed", { requestId, user: email, clientId, reason });
}
