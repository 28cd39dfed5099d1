import { MAX_TOKEN_CHARS, type Actor } from "../../http/callers/auth.ts";
import { toSec } from "../../platform/runtime/clock.ts";
import type { Log } from "../../platform/runtime/log.ts";
import type { Meter } from "../../platform/ports/metrics.ts";
import type { Names } from "../../platform/model/names.ts";
import { PROFILE_SCOPES } from "../../platform/model/oidc-scopes.ts";
import type { Plan } from "../../platform/model/plans.ts";
import { randomId, type Random } from "../../platform/runtime/random.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { Profile } from "../model/profile.ts";
import { serviceScopes, type SignInTimes, type HintBounds } from "../model/authorization.ts";
import type { Addresses, AnyCall } from "../model/call.ts";
import { hasTwoFactors, methodClaims } from "../model/methods.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";
import { accessTokenEndSec, issueAccessToken } from "./access-token.ts";
import { issueIdToken } from "./id-token.ts";
import type { SigningAlg } from "./keys/signing-key.ts";
import type { Trust } from "./trust.ts";

export interface IssueDeps extends Pick<Addresses, "issuerFor"> {
  readonly names: Names;
  readonly random: Random;
  readonly log: Log;
  readonly trust: Trust;
  readonly meter: Meter;
}

/** The input of tokens, at the token endpoint and in the implicit flow. */
export interface Issue {
  readonly granted: Granted;
  /** The grant type; `implicit` without the token endpoint. */
  readonly grant: string;
  /** The platform's own id: of the browser's session, or of this sign-in or token alone. */
  readonly sessionId: string;
  /** The caller's own session id, for the log. Undefined if none was sent. */
  readonly callerSessionId: string | undefined;
  /** A family of tokens that is revoked together. Undefined: this token is alone. */
  readonly grantId: string | undefined;
  /** The sign-in and the request's nonce. If the scopes include `openid`, an ID token is issued too. */
  readonly idToken:
    | (SignInTimes & { readonly nonce: string | undefined; readonly alg?: SigningAlg | undefined })
    | undefined;
  /** The thumbprint of the key that the access token is bound to. */
  readonly proofKey?: string | undefined;
  /** The access token ends then at the latest. */
  readonly endsAtMs?: number | undefined;
  /** The sign-in was an ID token hint. */
  readonly hint?: HintBounds | undefined;
}

/** The holder of a token and its rights. */
export interface Granted {
  /** Empty if a user signed in without a client. */
  readonly clientId: string;
  readonly clientName: string;
  /** The tenant that the client is registered in. Empty without a client. */
  readonly clientTenant: string;
  /** The client proved itself by a secret. */
  readonly clientAuthenticated: boolean;
  /** Empty with an organization, and outside any tenant. */
  readonly tenant: string;
  readonly tenantExplicit: boolean;
  readonly org: string;
  /** The tenant's plan, or the default one. */
  readonly plan: Plan;
  /** Empty if a client acts for itself. */
  readonly user: string;
  /** The user, for the scope `profile`. */
  readonly profile?: Profile;
  /** The user's address is verified. */
  readonly emailVerified?: boolean;
  /** The claim `sub`: the user, or the client if there is none. */
  readonly subject: string;
  /** As the response shows them: the tenant or organization, `openid`, service scopes. */
  readonly scopes: readonly string[];
  /** The oldest read among the records of client and tenant that decided. */
  readonly recordsAsOfMs: number;
  /** The read of the user's records. Meaningless without a user. */
  readonly userAsOfMs: number;
  /** Public paths of the services that the token is for (model/resource.ts). Undefined: the whole platform. */
  readonly audience?: readonly string[];
  /** The client acts for the user, by an exchanged token. */
  readonly act?: Actor;
}

export interface Issued {
  readonly accessToken: string;
  readonly idToken: string | undefined;
  readonly expiresInSec: number;
}

/** Signs and logs the tokens. A lost response costs nothing, because the unseen token expires. */
export async function issueTokens(
  deps: IssueDeps,
  { granted, grant, sessionId, callerSessionId, grantId, idToken, proofKey, endsAtMs, hint }: Issue,
  call: AnyCall,
): Promise<Result<Issued, OAuthFailure>> {
  const { trust, random, log } = deps;
  const issuer = deps.issuerFor(call);
  const tokenId = randomId(random);
  const of = { sessionId, grantId: grantId ?? tokenId };
  const expiresAtSec = accessTokenEndSec(call.nowMs, endsAtMs === undefined ? hint : { endsAtMs });
  // Names methods only if there were two factors: one is the default, and the size of a token is most of its cost.
  const methods = hasTwoFactors(idToken?.methods) ? methodClaims({ methods: idToken?.methods }) : {};
  const token = { ...granted, ...of, tokenId, expiresAtSec, proofKey };
  const accessToken = await issueAccessToken(token, methods, issuer, trust, call.nowMs);
  if (accessToken.length > MAX_TOKEN_CHARS)
    return err(
      failure("invalid_scope", "A token cannot hold so many scopes: name fewer.", undefined, granted.clientId),
    );
  const expiresInSec = expiresAtSec - toSec(call.nowMs);
  if (trust.wantsRefresh(call.nowMs)) call.waitUntil(trust.ensure(call.nowMs, "recent"));
  const { clientId, tenant, user } = granted;
  deps.meter.add("tokens_issued", { service: "oauth", tenant, label: grant });
  call.attributeTo(tenant, clientId);
  // A log line for each token would cost more than the token. A caller that names its session wants to find it.
  log[callerSessionId === undefined ? "debug" : "info"]("token issued", {
    requestId: call.requestId,
    clientId,
    tenant,
    user,
    tokenId,
    ...of,
    callerSessionId,
  });
  const made =
    idToken === undefined || !granted.scopes.includes("openid")
      ? undefined
      : await makeIdToken(deps, { granted, idToken, hint, of, accessToken }, call);
  return ok({ accessToken, idToken: made, expiresInSec });
}

/** `response_type=id_token`: no access token is made. */
export async function issueIdTokenAlone(
  deps: IssueDeps,
  { granted, grant, sessionId, callerSessionId, grantId, idToken, hint }: Issue & Required<Pick<ForIdToken, "idToken">>,
  call: AnyCall,
): Promise<string> {
  const of = { sessionId, grantId: grantId ?? randomId(deps.random) };
  const { clientId, tenant, user } = granted;
  deps.meter.add("tokens_issued", { service: "oauth", tenant, label: grant });
  call.attributeTo(tenant, clientId);
  deps.log.info("ID token issued", { requestId: call.requestId, clientId, tenant, user, ...of, callerSessionId });
  return makeIdToken(deps, { granted, idToken, hint, of, accessToken: undefined }, call);
}

interface ForIdToken extends Pick<Issue, "granted" | "hint"> {
  readonly idToken: NonNullable<Issue["idToken"]>;
  readonly of: { readonly sessionId: string; readonly grantId: string };
  readonly accessToken: string | undefined;
}

function makeIdToken(
  { names, trust, issuerFor }: IssueDeps,
  { granted, idToken, hint, of, accessToken }: ForIdToken,
  call: AnyCall,
): Promise<string> {
  const { clientId, tenant, user, subject, recordsAsOfMs, userAsOfMs } = granted;
  const told = PROFILE_SCOPES.filter((scope) => granted.scopes.includes(scope));
  const grantScopes = [...told, ...serviceScopes(granted, names)];
  const basis = {
    ...of,
    grantTenant: hint?.tenant ?? tenant,
    scopes: hint?.scopes ?? grantScopes,
    endsAtMs: hint?.endsAtMs,
    recordsAsOfMs,
    userAsOfMs,
  };
  const profile = told.includes("profile") ? granted.profile : undefined;
  const emailVerified = told.includes("email") && granted.emailVerified === true;
  const token = { clientId, tenant, email: user, emailVerified, profile, subject, accessToken, basis, ...idToken };
  return issueIdToken(token, issuerFor(call), trust, call.nowMs);
}
