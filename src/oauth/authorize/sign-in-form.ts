import { normalizeEmail } from "../../platform/text/email.ts";
import { ADDRESS_STEP } from "../federation/discovery.ts";
import { isLocal } from "../model/binding.ts";
import type { AnyCall } from "../model/call.ts";
import { BY_PASSWORD } from "../model/methods.ts";
import { readParameters } from "../model/parameters.ts";
import { refusedPage } from "../pages/page.ts";
import { CROSS_SITE_FORM, isCrossSite, verifyCsrfToken, readCookie } from "../sign-in/browser.ts";
import { rememberDevice, signInByPassword } from "../sign-in/device.ts";
import { readRequest } from "./authorize.ts";
import type { AuthorizeDeps } from "./deps.ts";
import { signInByPasskey } from "./passkey.ts";
import { discoverProvider, providersByDomain, signInPage } from "./prompt.ts";
import { startSessionAndFinish } from "./resume.ts";

/**
 * `POST /sign-in`: the form of the sign-in page. It carries the authorization request that the page was shown for.
 *
 *   sent from another site ──▶ 400 page
 *   the request is not valid any more ──▶ as `/authorize` would answer
 *   the form was made for another browser ──▶ 400, the page again
 *   another user than the client expects ──▶ 400, the page again; the password is not checked
 *   the form for the address alone ──▶ 303 to the provider of its domain, or 200, the form for the password
 *   wrong password or blocked account ──▶ 400, the page again, with no other detail
 *   a passkey's answer in the form ──▶ the same, by the passkey (passkey.ts); no other field is read
 *   right password ──▶ a new session, 303 on with the request
 */
export async function signIn(
  deps: AuthorizeDeps,
  call: AnyCall & { readonly body: URLSearchParams },
): Promise<Response> {
  const refusePage = (detail: string, reason = detail): Response =>
    refusedPage(deps, call, "sign in", { detail, reason, clientId: "" });
  if (isCrossSite(call)) return refusePage(CROSS_SITE_FORM);
  const form = readParameters(call.body, deps.names);
  if (!form.ok) return refusePage(form.error.description, form.error.reason);
  const text = form.value.get("request");
  if (text === undefined) return refusePage("request is missing.");
  const checked = await readRequest(deps, call, new URLSearchParams(text));
  if (!checked.ok) return checked.error;
  const request = checked.value;
  // A client that wants another provider to vouch does not accept a password of ours.
  if (!isLocal(request.provider)) return refusePage("The request is for another identity provider.");

  const email = form.value.get("email") ?? "";
  const asksAddress = form.value.get("step") === ADDRESS_STEP;
  if (!(await verifyCsrfToken(deps, readCookie(call, "browser", deps.names), form.value.get("csrf")))) {
    const reason = "the form was not made for this browser";
    deps.noteRefusal(call, "sign in", { error: "invalid_request", reason, actor: request.client.id });
    const byDomain = asksAddress ? await providersByDomain(deps, request, call) : [];
    return signInPage(deps, request, { email, fault: "stale", byDomain }, call);
  }
  const credential = form.value.get("credential") ?? "";
  if (credential !== "")
    return signInByPasskey(deps, request, { challenge: form.value.get("challenge") ?? "", credential }, call);
  const { expectedUser } = request;
  if (typeof expectedUser === "object" && expectedUser.email !== normalizeEmail(email)) {
    const reason = `the client expects ${expectedUser.email}`;
    deps.noteRefusal(call, "sign in", { error: "login_required", reason, actor: request.client.id });
    return signInPage(deps, request, { email: expectedUser.email, fault: "another" }, call);
  }
  if (asksAddress) return discoverProvider(deps, request, email, call);
  const signedIn = await signInByPassword(deps, email, form.value.get("password") ?? "", call);
  if (signedIn.kind !== "ok") return signInPage(deps, request, { email, fault: signedIn.kind }, call);
  const response = await startSessionAndFinish(
    deps,
    request,
    { email: signedIn.email, provider: request.provider, methods: BY_PASSWORD },
    call,
    await signedIn.user(),
  );
  return response === undefined
    ? signInPage(deps, request, { email, fault: "wrong" }, call)
    : rememberDevice(deps, call, response, signedIn);
}
