import { err, ok, type Result } from "../../platform/result.ts";
import type { AnyCall, OAuthContext } from "../context.ts";
import { findSession, type Session } from "../sign-in/sessions.ts";
import type { UserRecord } from "../store/user-store.ts";
import { readIdTokenHint } from "../tokens/id-token.ts";
import { isLocal, type AuthorizationRequest } from "./request.ts";

/**
 * Who the user is, without asking (contract 2.4):
 *
 *   just signed in                       that user, whatever `prompt` and `max_age` say
 *   valid `id_token_hint`                that user
 *   a session of the browser             its user; for a provider of their own, if that very provider vouched
 *   `prompt=login`, sign-in too old      to be asked, though known
 *   none of these                        to be asked
 */
export interface Identity {
  readonly user: UserRecord;
  readonly authenticatedAtMs: number;
  /** The browser session's, undefined where there is none. */
  readonly sid: string | undefined;
}

/** Nobody, or somebody who has to show it again. */
export interface Unidentified {
  /** Filled in already. */
  readonly email: string;
  readonly reason: string;
}

export async function identify(
  request: AuthorizationRequest,
  call: AnyCall,
  context: OAuthContext,
): Promise<Result<Identity, Unidentified>> {
  const session = await findSession(call, context);
  const known = (await byHint(request, session, call, context)) ?? bySession(request, session);
  const email = request.given.get("login_hint") ?? known?.user.email ?? "";
  if (known === undefined) return err({ email, reason: "nobody is signed in" });
  if (request.prompt === "login") return err({ email, reason: "the client wants a new sign-in" });
  // A sign-in of this very moment is too old for `max_age=0`, which means a new one (OIDC Core 3.1.2.1).
  if (request.maxAgeMs !== undefined && call.nowMs - known.authenticatedAtMs >= request.maxAgeMs)
    return err({ email, reason: "the sign-in is older than the client accepts" });
  return ok(known);
}

function bySession({ provider }: AuthorizationRequest, session: Session | undefined): Identity | undefined {
  return session !== undefined && (isLocal(provider) || session.provider === provider) ? session : undefined;
}

/** A hint that does not hold is no hint: who sent it learns nothing. */
async function byHint(
  { given, client }: AuthorizationRequest,
  session: Session | undefined,
  call: AnyCall,
  context: OAuthContext,
): Promise<Identity | undefined> {
  const token = given.get("id_token_hint");
  if (token === undefined) return undefined;
  const { issuer } = context.issuerOf(call);
  const hint = await readIdTokenHint(token, { issuer, expired: "refused" }, context.trust, call.nowMs);
  const ignore = (reason: string): undefined => {
    context.noteRefusal(call, "id_token_hint", { error: "ignored", reason, actor: client.id });
  };
  if (!hint.ok) return ignore(hint.error);
  const { clientId, email, authenticatedAtMs } = hint.value;
  if (clientId !== client.id) return ignore(`issued to client ${clientId}`);
  const own = session?.user.email === email ? session : undefined;
  const user = own?.user ?? (await context.users.find(email));
  if (user === undefined) return ignore(`user ${email} is unknown or disabled`);
  if (authenticatedAtMs <= user.signedOutAtMs) return ignore(`${email} was signed out since`);
  return { user, authenticatedAtMs, sid: own?.sid };
}
