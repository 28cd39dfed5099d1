import { normalizeEmail } from "../../platform/text/email.ts";
import { ADDRESS_STEP } from "../federation/discovery.ts";
import { isLocal } from "../model/binding.ts";
import { BY_PASSWORD } from "../model/methods.ts";
import { verifyCsrfToken, readCookie } from "../sign-in/browser.ts";
import { rememberDevice, signInByPassword } from "../sign-in/device.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import { signInByPasskey } from "./passkey.ts";
import { discoverProvider, providersByDomain, signInPage } from "./prompt.ts";
import { startSessionAndFinish } from "./resume.ts";
import { readCarriedForm, refuseForm } from "./authorize.ts";
import type { FormCall } from "../sign-in/form.ts";

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
export async function signIn(deps: AuthorizeDeps, call: FormCall): Promise<Response> {
  const carried = await readCarriedForm(deps, call, "sign in");
  if (!carried.ok) return carried.error;
  const { form, request } = carried.value;
  // A client that wants another provider to vouch does not accept a password of ours.
  if (!isLocal(request.provider))
    return refuseForm(deps, call, "sign in", "The request is for another identity provider.");

  const email = form.get("email") ?? "";
  const asksAddress = form.get("step") === ADDRESS_STEP;
  if (!(await verifyCsrfToken(deps, readCookie(call, "browser", deps.names), form.get("csrf")))) {
    const reason = "the form was not made for this browser";
    deps.noteRefusal(call, "sign in", { error: "invalid_request", reason, actor: request.client.id });
    const byDomain = asksAddress ? await providersByDomain(deps, request, call) : [];
    return signInPage(deps, request, { email, fault: "stale", byDomain }, call);
  }
  const credential = form.get("credential") ?? "";
  if (credential !== "")
    return signInByPasskey(deps, request, { challenge: form.get("challenge") ?? "", credential }, call);
  const { expectedUser } = request;
  if (typeof expectedUser === "object" && expectedUser.email !== normalizeEmail(email)) {
    const reason = `the client expects ${expectedUser.email}`;
    deps.noteRefusal(call, "sign in", { error: "login_required", reason, actor: request.client.id });
    return signInPage(deps, request, { email: expectedUser.email, fault: "another" }, call);
  }
  if (asksAddress) return discoverProvider(deps, request, email, call);
  const signedIn = await signInByPassword(deps, email, form.get("password") ?? "", call);
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
