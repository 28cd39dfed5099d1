import { err, ok, type Result } from "../../platform/result.ts";
import { authTimeMs } from "../model/auth-times.ts";
import { isBound, isLocal } from "../model/binding.ts";
import type { Session } from "../sign-in/sessions.ts";
import type { Identity, Hint } from "./identity.ts";
import { isExpectedUser, type AuthorizationRequest } from "./request.ts";

/** Nobody, or somebody who has to show it again. */
export interface Unidentified {
  /** Filled in already. */
  readonly email: string;
  readonly reason: string;
}

/**
 * Who the user is, without asking (contract 2.4):
 *
 *   just signed in                       that user, whatever `prompt` and `max_age` say
 *   a session of the browser             its user; for a provider of their own, if that very provider vouched; for the
 *                                        platform's own directory not if a provider did that is bound to less
 *   another user than a hint names       the hint's user, where it holds (hint.ts), within its bounds; else to be asked
 *   `prompt=login`, sign-in too old      to be asked, though known
 *   none of these                        to be asked
 */
export function identify(
  request: AuthorizationRequest,
  { hint, session }: { readonly hint: Hint | undefined; readonly session: Session | undefined },
  nowMs: number,
): Result<Identity, Unidentified> {
  const signedIn = identifyBySession(request, session);
  const known =
    signedIn !== undefined && isExpectedUser(request, signedIn.user.email) ? signedIn : (hint?.identity ?? signedIn);
  const email = prefilledEmail(request, known?.user.email);
  if (known === undefined) return err({ email, reason: "nobody is signed in" });
  if (!isExpectedUser(request, known.user.email))
    return err({ email, reason: "the client means somebody else than is signed in" });
  if (request.prompt === "login") return err({ email, reason: "the client wants a new sign-in" });
  // A sign-in of this very moment is too old for `max_age=0`, which means a new one (OIDC Core 3.1.2.1).
  if (request.maxAgeMs !== undefined && nowMs - authTimeMs(known) >= request.maxAgeMs)
    return err({ email, reason: "the sign-in is older than the client accepts" });
  return ok(known);
}

/** What the form has filled in: whom the client means, says, or who is signed in. */
export const prefilledEmail = ({ expectedUser, parameters }: AuthorizationRequest, known = ""): string =>
  (typeof expectedUser === "object" ? expectedUser.email : parameters.get("login_hint")) ?? known;

export function identifyBySession(
  { provider }: Pick<AuthorizationRequest, "provider">,
  session: Session | undefined,
): Identity | undefined {
  if (session === undefined) return undefined;
  const serves = isLocal(provider) ? !isBound(session.binding) : session.provider === provider;
  return serves ? { ...session, from: "session" } : undefined;
}
