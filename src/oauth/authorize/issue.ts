import { createCode } from "../grants/authorization-code.ts";
import type { PushedUse } from "../grants/code-store.ts";
import { DEVICE_LIFETIME_SEC } from "../grants/device-code.ts";
import type { SessionClient } from "../logout/logout-store.ts";
import { signInTimes, toAuthorization, type SignInTimes } from "../model/authorization.ts";
import type { AnyCall } from "../model/call.ts";
import { type Granted, issueIdTokenAlone, issueTokens } from "../tokens/issue.ts";
import type { IdentifiedRequest } from "./identify.ts";
import { reachedAcr } from "./protocol/acr.ts";
import type { AuthorizeDeps } from "./protocol/deps.ts";
import { refused } from "./protocol/failure.ts";
import { grantedAnswer, refusedAnswer } from "./protocol/response.ts";

const USED = refused("invalid_request", "The pushed request was used, or has expired.");

/** A request of a known user, and the access that it gets. */
export interface GrantedRequest extends IdentifiedRequest {
  readonly granted: Granted;
}

/** An access that is consented to. */
interface Issuing extends GrantedRequest {
  readonly signIn: SignInTimes;
  /** The session, if the client is told when it ends. */
  readonly told: SessionClient | undefined;
  /** The pushed request, which ends with the answer. */
  readonly pushed: PushedUse | undefined;
}

/** Redirects to the client, with a code or with tokens. */
export function issue(deps: AuthorizeDeps, access: GrantedRequest, call: AnyCall): Promise<Response> {
  const { request, granted, identity } = access;
  const { client, flow } = request;
  const reference = request.parameters.pushed;
  const { issuer } = deps.issuerFor(call);
  const session = { sid: identity.sid, clientId: client.id, email: identity.user.email };
  const issuing: Issuing = {
    ...access,
    signIn: signInTimes({ ...identity, acr: reachedAcr(request.acr, identity) }),
    told: client.isToldOfLogout === true ? { ...session, subject: granted.subject, issuer } : undefined,
    pushed: reference === undefined ? undefined : deps.pushedRequests.use(reference, call.nowMs),
  };
  return flow === "code" ? issueCode(deps, issuing, call) : issueDirectly(deps, issuing, call);
}

async function issueCode(
  deps: AuthorizeDeps,
  { request, granted, identity, signIn, told, pushed }: Issuing,
  call: AnyCall,
): Promise<Response> {
  const { client, device, nonce, challenge, callerSessionId } = request;
  const { user, sid: sessionId, shard, hint, beginning } = identity;
  const bounds = hint && { endsAtMs: hint.endsAtMs, tenant: hint.tenant, scopes: hint.scopes };
  const proofKey = request.parameters.get("dpop_jkt");
  const code = await createCode(
    deps,
    {
      clientId: client.id,
      email: user.email,
      shard,
      // Stored as sent: `/token` must receive the same text, or none if none was sent here (RFC 6749 4.1.3).
      redirectUri: request.parameters.get("redirect_uri"),
      challenge,
      nonce,
      grantId: hint?.grantId,
      authorization: {
        ...toAuthorization(granted, { sessionId, hint: bounds, ...signIn }, deps.names),
        ...(proofKey === undefined ? {} : { proofKey }),
      },
      ...(device === undefined ? {} : { lifetimeMs: DEVICE_LIFETIME_SEC * 1000 }),
    },
    call.nowMs,
    {
      beginning,
      beside: told === undefined ? [] : deps.logouts.rememberStatements(told, shard),
      // The request of a device ends with the decision.
      pushed: device === undefined ? pushed : undefined,
    },
  );
  if (code === "used") return refusedAnswer(deps, request, USED, call);
  const beside = pushed === undefined ? [] : [pushed.statement];
  const allowed =
    code !== "gone" && (device === undefined || (await deps.devices.decide(device.hash, code, call.nowMs, beside)));
  if (!allowed) {
    const failure = refused("access_denied", "The client, the user or the session has just been removed.");
    return refusedAnswer(deps, request, failure, call);
  }
  deps.log.info("code issued", {
    requestId: call.requestId,
    clientId: client.id,
    user: user.email,
    tenant: granted.tenant,
    sessionId,
    callerSessionId,
  });
  return grantedAnswer(deps, request, device === undefined ? { code: code.text } : { allowed: "true" }, call);
}

/** The implicit flows, which have no code. */
async function issueDirectly(
  deps: AuthorizeDeps,
  { request, granted, identity, signIn, told, pushed }: Issuing,
  call: AnyCall,
): Promise<Response> {
  const { flow, nonce, callerSessionId } = request;
  const { sid: sessionId, shard, hint, beginning } = identity;
  if (beginning !== undefined && !(await beginning.start()))
    return refusedAnswer(deps, request, refused("access_denied", "The user may not sign in here."), call);
  if (told !== undefined) await deps.logouts.remember(told, shard);
  const recordsAsOfMs = Math.min(granted.recordsAsOfMs, request.clientAsOfMs);
  const idToken = { ...signIn, nonce };
  const of = {
    granted: { ...granted, recordsAsOfMs },
    grant: "implicit",
    sessionId,
    callerSessionId,
    grantId: hint?.grantId,
    hint,
  };
  // Last, since a failure leaves the request to the next attempt, and tokens that nobody has seen.
  const isUsed = async (): Promise<boolean> => pushed !== undefined && !(await pushed.take());
  if (flow === "id_token") {
    const alone = await issueIdTokenAlone(deps, { ...of, idToken }, call);
    return (await isUsed())
      ? refusedAnswer(deps, request, USED, call)
      : grantedAnswer(deps, request, { id_token: alone }, call);
  }
  const issued = await issueTokens(deps, { ...of, idToken: flow === "token" ? undefined : idToken }, call);
  if (!issued.ok) {
    const { description, reason } = issued.error;
    return refusedAnswer(deps, request, refused("invalid_scope", description, reason), call);
  }
  if (await isUsed()) return refusedAnswer(deps, request, USED, call);
  const tokens = {
    access_token: issued.value.accessToken,
    token_type: "bearer",
    expires_in: String(issued.value.expiresInSec),
    scope: granted.scopes.join(" "),
    ...(issued.value.idToken === undefined ? {} : { id_token: issued.value.idToken }),
  };
  return grantedAnswer(deps, request, tokens, call);
}
