import { normalizeEmail } from "../../platform/email.ts";
import { isLocal } from "../model/binding.ts";
import type { AnyCall } from "../model/call.ts";
import { readParameters } from "../model/form.ts";
import { refusedPage } from "../pages/page.ts";
import { FROM_ELSEWHERE, isFromElsewhere, isOwnForm, readCookie } from "../sign-in/browser.ts";
import { rememberDevice, signInHere } from "../sign-in/device.ts";
import { readRequest } from "./authorize.ts";
import type { AuthorizeDeps } from "./deps.ts";
import { signInPage } from "./prompt.ts";
import { enter } from "./resume.ts";

/**
 * `POST /sign-in`: the form of the sign-in page, with the authorization request that it was shown for.
 *
 *   from another site ──▶ 400 page, nothing is looked at
 *   the request does not hold any more ──▶ as `/authorize` would answer
 *   the form is another browser's or none ──▶ 400, the page again
 *   not the user whom the client means ──▶ 400, the page again; no password is looked at
 *   wrong, blocked ──▶ 400, the page again, saying no more than the specification
 *   right ──▶ a new session, 303 on with the request
 */
export async function signIn(
  call: AnyCall & { readonly body: URLSearchParams },
  context: AuthorizeDeps,
): Promise<Response> {
  const refusePage = (detail: string, reason = detail): Response =>
    refusedPage(call, "sign in", { detail, reason, clientId: "" }, context);
  if (isFromElsewhere(call)) return refusePage(FROM_ELSEWHERE);
  const form = readParameters(call.body, context.names);
  if (!form.ok) return refusePage(form.error.description, form.error.reason);
  const text = form.value.get("request");
  if (text === undefined) return refusePage("request is missing.");
  const checked = await readRequest(call, new URLSearchParams(text), context);
  if (!checked.ok) return checked.error;
  const request = checked.value;
  // A password of ours is no answer to a client that wants another provider to vouch.
  if (!isLocal(request.provider)) return refusePage("The request is for another identity provider.");

  const email = form.value.get("email") ?? "";
  if (!(await isOwnForm(readCookie(call, "browser", context.names), form.value.get("csrf"), context))) {
    const reason = "the form was not made for this browser";
    context.noteRefusal(call, "sign in", { error: "invalid_request", reason, actor: request.client.id });
    return signInPage(request, { email, fault: "stale" }, call, context);
  }
  const { meant } = request;
  if (typeof meant === "object" && meant.email !== normalizeEmail(email)) {
    const reason = `the client means ${meant.email}`;
    context.noteRefusal(call, "sign in", { error: "login_required", reason, actor: request.client.id });
    return signInPage(request, { email: meant.email, fault: "another" }, call, context);
  }
  const signedIn = await signInHere(email, form.value.get("password") ?? "", call, context);
  if (signedIn.kind !== "ok") return signInPage(request, { email, fault: signedIn.kind }, call, context);
  const entered = await enter(request, { email: signedIn.email, provider: request.provider }, call, context);
  return entered === undefined
    ? signInPage(request, { email, fault: "wrong" }, call, context)
    : rememberDevice(call, entered, signedIn, context);
}
