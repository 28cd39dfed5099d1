import { describeError } from "../../platform/log.ts";
import { DEFAULT_PROVIDER } from "../../platform/names.ts";
import { hashPassword, PASSWORD_CHARS, samePassword } from "../../platform/password-hash.ts";
import { passwordFault } from "../../platform/password-rules.ts";
import type { Parameters } from "../model/parameters.ts";
import type { AccountFault } from "../pages/port.ts";
import { withCookie } from "../sign-in/browser.ts";
import { deviceCookie, knownDevice } from "../sign-in/device.ts";
import { startSession } from "../sign-in/sessions.ts";
import { allExpiredSec } from "../tokens/access-token.ts";
import { admit, type FormCall } from "./changes.ts";
import type { AccountDeps } from "./deps.ts";
import { redirectToAccount } from "./notice.ts";
import { accountPage } from "./page.ts";

const ACTION = "change password";
/**
 * Who is signed in is no stranger, whichever way they came. Sessions have one count: with one each, whoever has the account at
 * an identity provider, and so as many sessions as they like, would have as many guesses.
 */
const SIGNED_IN = "signed in";

/**
 * `POST /account/password`.
 *
 *   the new one does not do ──▶ 400, the page again; the old one is not looked at
 *   the old one is wrong, the account is blocked ──▶ 400, the page again; counted with all other attempts
 *   another password, disabled or signed out everywhere in between ──▶ 303, nothing changed
 *   changed ──▶ every session, grant and token of the user ends; this browser gets a new session; 303
 */
export async function changePassword(deps: AccountDeps, call: FormCall): Promise<Response> {
  const admitted = await admit(deps, call, ACTION);
  if (!admitted.ok) return admitted.error;
  const { session, form } = admitted.value;
  const { authenticatedAtMs } = session;
  const { email } = session.user;
  const [old, next] = [form.get("password") ?? "", form.get("new_password") ?? ""];
  const fault = inputFault(old, next, form) ?? passwordFault(next, { email, platform: [deps.names.platform] });
  if (fault !== undefined) return accountPage(deps, call, session, fault);
  const device = (await knownDevice(deps, call, email)) ?? { id: SIGNED_IN, sinceMs: authenticatedAtMs };
  const confirmed = await deps.accounts.confirm(email, { password: old, device }, ACTION, call);
  if (confirmed.kind !== "ok") return accountPage(deps, call, session, confirmed.kind);
  const signedOutAtMs = await storePassword(deps, call, { email, authenticatedAtMs, from: confirmed.hash, next });
  if (signedOutAtMs === undefined) {
    const reason = "the password was changed, or the user signed out or disabled, meanwhile";
    deps.noteRefusal(call, ACTION, { error: "invalid_request", reason, actor: `user ${email}` });
    return redirectToAccount(deps, call, "notChanged");
  }
  deps.log.info("password changed", { requestId: call.requestId, user: email });
  const answer = withCookie(
    redirectToAccount(deps, call, "changed"),
    await startNewSession(deps, call, { email, signedOutAtMs }),
  );
  return withCookie(answer, await deviceCookie(deps, call, email, signedOutAtMs + 1));
}

/** About how it was typed in; what it may be, the rules of the operator service say. */
function inputFault(old: string, next: string, form: Parameters): AccountFault | undefined {
  if (next.length < PASSWORD_CHARS.min || next.length > PASSWORD_CHARS.max) return "length";
  if (next !== form.get("repeated_password")) return "repeated";
  return samePassword(next, old) ? "same" : undefined;
}

/**
 * Removes what ended, and begins the new session; its cookie. Undefined: disabled in this very moment, or this failed. The
 * browser is signed out then, like every other, and still hears that the password is another one now.
 */
async function startNewSession(
  deps: AccountDeps,
  call: FormCall,
  { email, signedOutAtMs }: { readonly email: string; readonly signedOutAtMs: number },
): Promise<string | undefined> {
  const renewed = { email, provider: DEFAULT_PROVIDER, authenticatedAtMs: signedOutAtMs + 1 };
  try {
    await deps.revocations.deleteSignedOut(email, call.nowMs);
    return (await startSession(deps, call, renewed))?.cookie;
  } catch (thrown) {
    const { requestId } = call;
    deps.log.error("no new session after the password", { requestId, user: email, error: describeError(thrown) });
    return undefined;
  }
}

/** One transaction: the new password, the sign-out of everybody by the old one, their tokens void, and the audit row. */
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
  const about = { atMs: nowMs, requestId, actor: `user ${email}`, action: ACTION, subject: `users/${email}` };
  try {
    return await deps.users.changePassword({ ...proven, to, nowMs }, [
      deps.revocations.revokeStatement("user", email, allExpiredSec(nowMs), "if changed"),
      deps.audit.statement("if changed", { ...about, outcome: "done", reason: "" }),
    ]);
  } finally {
    // Whatever became of the answer: it may have been written.
    deps.trust.markStale();
  }
}
