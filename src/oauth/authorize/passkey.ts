import { DEFAULT_PROVIDER } from "../../platform/model/names.ts";
import type { AnyCall } from "../model/call.ts";
import { BY_PASSKEY } from "../model/methods.ts";
import { checkPasskey, type Answered } from "../passkeys/check.ts";
import { readCookie } from "../sign-in/browser.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import { prefilledEmail } from "./identify.ts";
import { signInPage } from "./prompt.ts";
import type { AuthorizationRequest } from "./protocol/request.ts";
import { startSessionAndFinish } from "./resume.ts";

const ACTION = "sign in by passkey";
const FAULT = { wrong: "passkey", blocked: "blocked", stale: "stale" } as const;

/**
 * The form of the sign-in page came with a passkey's answer.
 *
 *   wrong, unknown, or a blocked account ──▶ 400, the page again
 *   another user than the client expects ──▶ 400, the page again
 *   right ──▶ a new session of two factors, 303 on with the request
 */
export async function signInByPasskey(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  answered: Answered,
  call: AnyCall,
): Promise<Response> {
  const again = (fault: "passkey" | "blocked" | "stale" | "another"): Promise<Response> =>
    signInPage(deps, request, { email: prefilledEmail(request), fault }, call);
  const key = readCookie(call, "browser", deps.names);
  const checked = await checkPasskey(deps, call, answered, { purpose: "sign in", key, action: ACTION });
  if (checked.kind !== "ok") return again(FAULT[checked.kind]);
  const { user } = checked;
  const { expectedUser } = request;
  if (typeof expectedUser === "object" && expectedUser.email !== user.email) {
    const reason = `the client expects ${expectedUser.email}`;
    deps.noteRefusal(call, ACTION, { error: "login_required", reason, actor: request.client.id });
    return again("another");
  }
  deps.log.info("signed in by passkey", { requestId: call.requestId, user: user.email });
  const newSignIn = { email: user.email, provider: DEFAULT_PROVIDER, methods: BY_PASSKEY };
  return (await startSessionAndFinish(deps, request, newSignIn, call, user)) ?? again("passkey");
}
