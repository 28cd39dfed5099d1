import type { AnyCall, OAuthContext } from "../context.ts";
import type { Session } from "../sign-in/sessions.ts";
import { timesOf } from "../sign-in/times.ts";
import { readIdTokenHint } from "../tokens/id-token.ts";
import type { Meant } from "./meant.ts";
import type { AuthorizationRequest } from "./request.ts";
import type { Identity } from "./who.ts";

/**
 * What `id_token_hint` says: whom the client means, and whether that user needs no prompt (contract 2.4).
 *
 *   holds          of this very client, not expired, nothing ended it since: it is its user's word
 *   holds no more  ours all the same, or another client's: it signs nobody in, and nobody but its user gets an answer
 *   unreadable     not ours, or of a key that is gone: whom it means is not known
 */
export interface Hint {
  readonly meant: Meant;
  /** Its user, where it holds. */
  readonly identity: Identity | undefined;
}

/** Undefined: there is none. */
export async function readHint(
  { given, client }: AuthorizationRequest,
  session: Session | undefined,
  call: AnyCall,
  context: OAuthContext,
): Promise<Hint | undefined> {
  const token = given.get("id_token_hint");
  if (token === undefined) return undefined;
  // Who sent it learns nothing.
  const ignore = (reason: string, meant: Meant): Hint => {
    context.noteRefusal(call, "id_token_hint", { error: "ignored", reason, actor: client.id });
    return { meant, identity: undefined };
  };
  const hint = await readIdTokenHint(token, context.issuerOf(call).issuer, context.trust, call.nowMs);
  if (!hint.ok) return ignore(hint.error, "unknown");
  const { clientId, email, expired } = hint.value;
  const times = timesOf(hint.value);
  const meant = { email };
  if (clientId !== client.id) return ignore(`issued to client ${clientId}`, meant);
  if (expired) return ignore("it has expired", meant);
  const own = session?.user.email === email ? session : undefined;
  const user = own?.user ?? (await context.users.find(email));
  if (user === undefined) return ignore(`user ${email} is unknown or disabled`, meant);
  if (times.authenticatedAtMs <= user.signedOutAtMs) return ignore(`${email} was signed out since`, meant);
  return { meant, identity: { user, ...times, sid: own?.sid, from: "hint" } };
}
