import { signInTimes } from "../model/auth-times.ts";
import type { AnyCall } from "../model/call.ts";
import { findSessionById, type Session } from "../sign-in/sessions.ts";
import { readIdTokenHint, type HintBasis, type IdTokenHint } from "../tokens/id-token.ts";
import type { AuthorizeDeps } from "./deps.ts";
import type { ExpectedUser } from "./expected-user.ts";
import { identifyBySession } from "./identify.ts";
import type { Hint, Identity } from "./identity.ts";
import type { AuthorizationRequest } from "./request.ts";

/**
 * What `id_token_hint` says: whom the client means, and whether that user needs no prompt (contract 2.4, 8).
 *
 *   holds          of this very client, not expired; the session that it came of lives in its browser, and its grant,
 *                  session, client, tenant and user were not revoked since: it is its user's word
 *   holds no more  ours all the same, or another client's: it signs nobody in, and nobody but its user gets an answer
 *   unreadable     not ours, or of a key that is gone: whom it means is not known
 *
 * What comes of one that holds is within its bounds: the scopes of its grant, until it ends, and no refresh token. Whether it
 * holds is not asked where the browser is signed in as the user that it means: then the session is better than the hint.
 *
 * Undefined: there is none.
 */
export async function readHint(
  deps: AuthorizeDeps,
  { parameters, client, provider }: AuthorizationRequest,
  session: Session | undefined,
  call: AnyCall,
): Promise<Hint | undefined> {
  const token = parameters.get("id_token_hint");
  if (token === undefined) return undefined;
  // Who sent it learns nothing.
  const ignore = (reason: string, expectedUser: ExpectedUser): Hint => {
    deps.noteRefusal(call, "id_token_hint", { error: "ignored", reason, actor: client.id });
    return { expectedUser, identity: undefined };
  };
  const read = await readIdTokenHint(token, deps.issuerOf(call).issuer, deps.trust, call.nowMs);
  if (!read.ok) return ignore(read.error, "unknown");
  const hint = read.value;
  const expectedUser = { email: hint.email };
  if (hint.clientId !== client.id) return ignore(`issued to client ${hint.clientId}`, expectedUser);
  if (hint.expired) return ignore("it has expired", expectedUser);
  if (hint.basis === undefined) return ignore("it does not say which grant and session it is of", expectedUser);
  if (identifyBySession({ provider }, session)?.user.email === hint.email) return { expectedUser, identity: undefined };
  const identity = await holds(deps, hint, hint.basis, provider, call.nowMs);
  return typeof identity === "string" ? ignore(identity, expectedUser) : { expectedUser, identity };
}

/** The user whose word it is, or why it is nobody's. */
async function holds(
  deps: AuthorizeDeps,
  { clientId, email, tenant, ...times }: IdTokenHint,
  { grantId, sessionId: sid, grantTenant, scopes, endsAtMs, ...asOf }: HintBasis,
  asked: string,
  nowMs: number,
): Promise<Identity | string> {
  const { trust } = deps;
  const [session, isNew] = await Promise.all([findSessionById(deps, sid, nowMs), trust.ensure(nowMs, "now")]);
  if (!isNew) return "revocations cannot be read";
  if (session?.user.email !== email) return `session ${sid} of ${email} is over`;
  // The access token beside an implicit flow's ID token is alone, and its id that of the grant.
  const issued = { tokenId: grantId, grantId, sessionId: sid, clientId, user: email, ...asOf };
  if ([tenant, grantTenant].some((one) => trust.isRevoked({ ...issued, tenant: one })))
    return `grant ${grantId}, or what it stands on, was revoked`;
  const hint = { grantId, tenant: grantTenant, scopes, endsAtMs };
  const { user, provider, binding } = session;
  if (identifyBySession({ provider: asked }, session) === undefined)
    return `${provider}, which vouched, does not stand for ${asked}`;
  return { user, ...signInTimes({ ...times, provider }), sid, binding, from: "hint", hint };
}
