import { err, ok, type Result } from "../../platform/result.ts";
import { authTimeMs, type SignInTimes, signInTimes, type HintBounds } from "../model/authorization.ts";
import { isBound, isLocal, type Binding } from "../model/binding.ts";
import { type Session, findSessionById } from "../sign-in/sessions.ts";
import { isExpectedUser, type AuthorizationRequest, type ExpectedUser } from "./request.ts";
import type { UserRecord } from "../users/user-store.ts";
import type { AnyCall } from "../model/call.ts";
import { readIdTokenHint, type HintBasis, type IdTokenHint } from "../tokens/id-token.ts";
import type { AuthorizeDeps } from "./deps.ts";

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

/** Who the user is, and how that is known. */
export interface Identity extends SignInTimes {
  readonly user: UserRecord;
  /** The id of the browser's session; of a hint, of the session that it came of. */
  readonly sid: string;
  /** What the provider that vouched is bound to. */
  readonly binding: Binding;
  readonly from: "sign-in" | "hint" | "session";
  /** A hint's grant, with which what comes of it goes on, and its bounds. */
  readonly hint?: HintBounds & { readonly grantId: string };
}

/** What came of an `id_token_hint`. */
export interface Hint {
  readonly expectedUser: ExpectedUser;
  /** Its user, where it holds. */
  readonly identity: Identity | undefined;
}

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
