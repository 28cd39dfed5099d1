import { consentRule } from "../consent/consent.ts";
import type { Consent } from "../consent/consent-store.ts";
import type { AnyCall } from "../model/call.ts";
import { readParameters } from "../model/parameters.ts";
import { refusedPage } from "../pages/page.ts";
import { isCrossSite, verifyCsrfToken, CROSS_SITE_FORM } from "../sign-in/browser.ts";
import { findSession } from "../sign-in/sessions.ts";
import { readRequest } from "./authorize.ts";
import { consentFormKey, parseConsent } from "./consent.ts";
import type { AuthorizeDeps } from "./deps.ts";
import { refused } from "./failure.ts";
import { finish } from "./finish.ts";
import { identify } from "./identify.ts";
import { promptSignIn } from "./prompt.ts";
import { refusedAnswer } from "./response.ts";

const ACTION = "consent";

/**
 * `POST /consent`: the form of the consent page. It carries the authorization request that the page was shown for.
 *
 *   sent from another site ──▶ 400 page
 *   the request is not valid any more ──▶ as `/authorize` would answer
 *   nobody is signed in any more, or an unexpected user ──▶ the sign-in page
 *   the form is of another sign-in, or was changed ──▶ 400, the page again
 *   denied ──▶ 303 to the client with `access_denied`
 *   allowed ──▶ consent stored, 303 on with the request; the page again if the request needs more than it showed
 */
export async function decideConsent(
  deps: AuthorizeDeps,
  call: AnyCall & { readonly body: URLSearchParams },
): Promise<Response> {
  const refusePage = (detail: string, reason = detail): Response =>
    refusedPage(deps, call, ACTION, { detail, reason, clientId: "" });
  if (isCrossSite(call)) return refusePage(CROSS_SITE_FORM);
  const form = readParameters(call.body, deps.names);
  if (!form.ok) return refusePage(form.error.description, form.error.reason);
  const text = form.value.get("request");
  if (text === undefined) return refusePage("request is missing.");
  const decision = form.value.get("decision");
  if (decision !== "allow" && decision !== "deny") return refusePage("decision must be allow or deny.");
  const checked = await readRequest(deps, call, new URLSearchParams(text));
  if (!checked.ok) return checked.error;
  const request = checked.value;
  const identity = identify(request, { hint: undefined, session: await findSession(deps, call) }, call.nowMs);
  if (!identity.ok) return promptSignIn(deps, request, identity.error, call);
  const { user, sid, authenticatedAtMs } = identity.value;

  const consentText = form.value.get("asked") ?? "";
  if (!(await verifyCsrfToken(deps, consentFormKey(sid, consentText), form.value.get("csrf")))) {
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
  // A device of a client that needs no consent is allowed for itself alone.
  if (consentRule(request.client, user, consent) !== "never")
    await storeConsent(deps, consent, authenticatedAtMs, call);
  return finish(deps, request, identity.value, call, { allowed: consentText });
}

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
