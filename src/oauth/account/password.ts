import { describeError } from "../../platform/runtime/log.ts";
import { DEFAULT_PROVIDER } from "../../platform/model/names.ts";
import { hashPassword, PASSWORD_CHARS, samePassword } from "../../platform/secrets/password-hash.ts";
import { newPasswordFault } from "../../platform/secrets/password-rules.ts";
import { BY_PASSWORD, hasTwoFactors } from "../model/methods.ts";
import type { Parameters } from "../model/parameters.ts";
import type { AccountFault } from "../pages/views/account.ts";
import { withCookie } from "../sign-in/browser.ts";
import { deviceCookie, knownDevice } from "../sign-in/device.ts";
import { startSession, type Session } from "../sign-in/sessions.ts";
import { allExpiredSec } from "../tokens/access-token.ts";
import { admit } from "./changes.ts";
import type { AccountDeps } from "./deps.ts";
import { redirectToAccount } from "./notice.ts";
import { accountPage } from "./page.ts";
import type { FormCall } from "../sign-in/form.ts";
import { ownChange } from "../model/own-change.ts";

const ACTION = "change password";
/**
 * A signed-in user is counted separately from strangers. All sessions share one count: an intruder with the user's
 * account at a provider could otherwise start as many sessions as they like, and guess in each.
 */
const SIGNED_IN = "signed in";

/**
 * `POST /account/password`
 *
 *   the new password is not acceptable ──▶ 400, the page again; the old one is not checked
 *   the old password is wrong, or the account is blocked ──▶ 400, the page again; counts towards the block
 *   password changed, user disabled or signed out meanwhile ──▶ 303, nothing changed
 *   changed ──▶ every session, grant and token of the user is revoked; this browser gets a new session; 303
 */
export async function changePassword(deps: AccountDeps, call: FormCall): Promise<Response> {
  const admitted = await admit(deps, call, ACTION);
  if (!admitted.ok) return admitted.error;
  const { session, form } = admitted.value;
  const { authenticatedAtMs } = session;
  const { email } = session.user;
  const [old, next] = [form.get("password") ?? "", form.get("new_password") ?? ""];
  const owner = { email, platform: [deps.names.platform] };
  const fault = inputFault(old, next, form) ?? (await newPasswordFault(next, owner, deps.commonPasswords));
  if (fault !== undefined) return accountPage(deps, call, session, fault);
  const device = (await knownDevice(deps, call, email)) ?? { id: SIGNED_IN, sinceMs: authenticatedAtMs };
  const confirmed = await deps.accounts.confirm(email, { password: old, device }, ACTION, call);
  if (confirmed.kind !== "ok") return accountPage(deps, call, session, confirmed.kind);
  const signedOutAtMs = await storePassword(deps, call, { email, authenticatedAtMs, from: confirmed.hash, next });
  if (signedOutAtMs === undefined) {
    const reason = "the password has just changed, or the user has just been signed out or disabled";
    deps.noteRefusal(call, ACTION, { error: "invalid_request", reason, actor: `user ${email}` });
    return redirectToAccount(deps, call, "notChanged");
  }
  deps.log.info("password changed", { requestId: call.requestId, user: email });
  deps.tell(call, "password", email);
  const answer = withCookie(
    redirectToAccount(deps, call, "changed"),
    await startNewSession(deps, call, session, signedOutAtMs),
  );
  return withCookie(answer, await deviceCookie(deps, call, email, signedOutAtMs + 1));
}

/** Checks the input. The rules for the password itself are those of the operator service. */
function inputFault(old: string, next: string, form: Parameters): AccountFault | undefined {
  if (next.length < PASSWORD_CHARS.min || next.length > PASSWORD_CHARS.max) return "length";
  if (next !== form.get("repeated_password")) return "repeated";
  return samePassword(next, old) ? "same" : undefined;
}

/**
 * Removes the old sessions and starts a new one; returns its cookie. Undefined if the user has just been disabled or
 * this failed: the browser is then signed out like all others, and still learns that the password changed.
 */
async function startNewSession(
  deps: AccountDeps,
  call: FormCall,
  { user: { email }, methods }: Session,
  signedOutAtMs: number,
): Promise<string | undefined> {
  // The password was shown again just now; a second factor stays shown.
  const shown = hasTwoFactors(methods) ? methods : BY_PASSWORD;
  const renewed = { email, provider: DEFAULT_PROVIDER, authenticatedAtMs: signedOutAtMs + 1, methods: shown };
  try {
    await deps.revocations.deleteSignedOut(email, signedOutAtMs);
    deps.sessionsEnded({ email });
    return (await startSession(deps, call, renewed))?.cookie;
  } catch (thrown) {
    const { requestId } = call;
    deps.log.error("no new session after the password", { requestId, user: email, error: describeError(thrown) });
    return undefined;
  }
}

/** Changes the password, signs everybody out, revokes all tokens and writes the audit row, in one transaction. */
async function storePassword(
  deps: AccountDeps,
  { nowMs, requestId }: FormCall,
  change: {
    readonly email: string;
    readonly authenticatedAtMs: number;
    readonly from: string;
    readonly next: string;
  },
): Promise<number | undefined> {
  const { next, ...proven } = change;
  const { email } = proven;
  const to = hashPassword(next, deps.random);
  try {
    return await deps.users.changePassword({ ...proven, to, nowMs }, [
      deps.revocations.revokeStatement("user", email, allExpiredSec(nowMs), "if changed"),
      deps.audit.statement("if changed", ownChange({ nowMs, requestId }, { email, action: ACTION })),
    ]);
  } finally {
    // The statement may have run even if its response was lost.
    deps.trust.markStale();
    deps.sessionsEnded({ email });
  }
}
