import { err, ok, type Result } from "../../platform/model/result.ts";
import { authTimeMs, type SignInTimes, signInTimes, type HintBounds } from "../model/authorization.ts";
import { isBound, isLocal, type Binding } from "../model/binding.ts";
import type { AnyCall } from "../model/call.ts";
import { type PreparedSession, type Session, findSessionById } from "../sign-in/sessions.ts";
import { isSignedFor, readIdTokenHint, type HintBasis, type IdTokenHint } from "../tokens/id-token.ts";
import type { UserRecord } from "../users/user-store.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import { isExpectedUser, type AuthorizationRequest, type ExpectedUser } from "./protocol/request.ts";

/** The user and the source of that knowledge. */
export interface Identity extends SignInTimes {
  readonly user: UserRecord;
  /** The browser's session id, or for a hint, the id of the session that its token came from. */
  readonly sid: string;
  /** The database of that session. */
  readonly shard: number;
  /** The binding of the identity provider that vouched. */
  readonly binding: Binding;
  readonly from: "sign-in" | "hint" | "session";
  /** The session, if it begins with this answer. */
  readonly beginning?: PreparedSession;
  /** The grant of a hint, which its tokens continue, and their bounds. */
  readonly hint?: HintBounds & { readonly grantId: string };
}

/** A request whose user is known. */
export interface IdentifiedRequest {
  readonly request: AuthorizationRequest;
  readonly identity: Identity;
}

/** The result of reading an `id_token_hint`. */
export interface Hint {
  readonly expectedUser: ExpectedUser;
  /** The hint's user, if the hint is valid. */
  readonly identity: Identity | undefined;
}

/** The user is unknown, or has to sign in again. */
export interface Unidentified {
  /** Prefilled in the form. */
  readonly email: string;
  readonly reason: string;
}

/**
 * Identifies the user without a page:
 *
 *   a session in the browser              its user. If the client named a provider: only if that one vouched.
 *                                         Else: not if the provider that vouched is bound (model/binding.ts).
 *   the hint names another user           the hint's user if the hint is valid, within its bounds; else a sign-in
 *   `prompt=login`, sign-in too old       a sign-in, though the user is known
 *   none of these                         a sign-in
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
    return err({ email, reason: "the client expects another user than the one signed in" });
  if (request.prompt === "login") return err({ email, reason: "the client wants a new sign-in" });
  // `max_age=0` demands a new sign-in (OIDC Core 3.1.2.1), so one from this very millisecond is too old.
  if (request.maxAgeMs !== undefined && nowMs - authTimeMs(known) >= request.maxAgeMs)
    return err({ email, reason: "the sign-in is older than the client accepts" });
  return ok(known);
}

/** Prefills the form with the user whom the client expects, the client's `login_hint`, or the user who is signed in. */
export const prefilledEmail = ({ expectedUser, parameters }: AuthorizationRequest, known = ""): string =>
  (typeof expectedUser === "object" ? expectedUser.email : parameters.get("login_hint")) ?? known;

function identifyBySession(
  { provider }: Pick<AuthorizationRequest, "provider">,
  session: Session | undefined,
): Identity | undefined {
  if (session === undefined) return undefined;
  const serves = isLocal(provider) ? !isBound(session.binding) : session.provider === provider;
  return serves ? { ...session, from: "session" } : undefined;
}

/**
 * Reads `id_token_hint`: the user whom the client expects, and whether that user needs no sign-in. Undefined if there
 * is no hint.
 *
 *   valid        issued to this client, not expired; its session is alive and nothing that it depends on was revoked:
 *                its user is signed in
 *   not valid    the platform's own token, but expired, revoked or issued to another client: signs nobody in, and
 *                only its user gets an answer
 *   unreadable   not the platform's own, or signed by a removed key: its user is unknown
 *
 * Tokens issued for a valid hint stay within the scopes and the lifetime of its grant, and have no refresh token. If
 * the browser is signed in as the hint's user, the session counts and the hint is not checked.
 */
export async function readHint(
  deps: AuthorizeDeps,
  { parameters, client, provider }: AuthorizationRequest,
  session: Session | undefined,
  call: AnyCall,
): Promise<Hint | undefined> {
  const token = parameters.get("id_token_hint");
  if (token === undefined) return undefined;
  // The sender gets no response about a hint that is ignored.
  const ignore = (reason: string, expectedUser: ExpectedUser): Hint => {
    deps.noteRefusal(call, "id_token_hint", { error: "ignored", reason, actor: client.id });
    return { expectedUser, identity: undefined };
  };
  const read = await readIdTokenHint(token, deps.issuerFor(call).issuer, deps.trust, call.nowMs);
  if (!read.ok) return ignore(read.error, "unknown");
  const hint = read.value;
  if (!isSignedFor(hint, client)) return ignore("signed as no ID token of this client is", "unknown");
  const expectedUser = { email: hint.email };
  if (hint.clientId !== client.id) return ignore(`issued to client ${hint.clientId}`, expectedUser);
  if (hint.expired) return ignore("it has expired", expectedUser);
  if (hint.basis === undefined) return ignore("it names no grant and session", expectedUser);
  if (identifyBySession({ provider }, session)?.user.email === hint.email) return { expectedUser, identity: undefined };
  const identity = await identifyByHint(deps, hint, hint.basis, { provider, clientTenant: client.tenant }, call.nowMs);
  return typeof identity === "string" ? ignore(identity, expectedUser) : { expectedUser, identity };
}

/** Returns the hint's user, or the reason why the hint is not valid. */
async function identifyByHint(
  deps: AuthorizeDeps,
  { clientId, email, tenant, ...times }: IdTokenHint,
  { grantId, sessionId: sid, grantTenant, scopes, endsAtMs, ...asOf }: HintBasis,
  requested: { readonly provider: string; readonly clientTenant: string },
  nowMs: number,
): Promise<Identity | string> {
  const { trust } = deps;
  const [session, isNew] = await Promise.all([
    findSessionById(deps, { sid, email }, nowMs),
    trust.ensure(nowMs, "now"),
  ]);
  if (!isNew) return "revocations cannot be read";
  if (session?.user.email !== email) return `session ${sid} of ${email} is over`;
  // In the implicit flow the access token has no grant of its own, so its token id is the grant id.
  // A hint names no organization: the roles there are read again, as for every token that it leads to.
  const { clientTenant } = requested;
  const issued = { tokenId: grantId, grantId, sessionId: sid, clientId, clientTenant, org: "", user: email, ...asOf };
  if ([tenant, grantTenant].some((one) => trust.isRevoked({ ...issued, tenant: one })))
    return `grant ${grantId} or something that it depends on was revoked`;
  const hint = { grantId, tenant: grantTenant, scopes, endsAtMs };
  const { user, shard, provider, binding } = session;
  if (identifyBySession(requested, session) === undefined)
    return `${provider} vouched for the session, and the request needs ${requested.provider}`;
  return { user, ...signInTimes({ ...times, provider }), sid, shard, binding, from: "hint", hint };
}
