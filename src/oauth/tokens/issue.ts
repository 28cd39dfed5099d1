import { MAX_TOKEN_CHARS } from "../../http/auth.ts";
import { toSec } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { Names } from "../../platform/names.ts";
import type { Plan } from "../../platform/plans.ts";
import { randomId, type Random } from "../../platform/random.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import { type SignInTimes, serviceScopes, type HintBounds } from "../model/authorization.ts";
import type { Addresses, AnyCall } from "../model/call.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";
import { accessTokenEndSec, issueAccessToken } from "./access-token.ts";
import { issueIdToken } from "./id-token.ts";
import type { Trust } from "./trust.ts";

export interface IssueDeps extends Pick<Addresses, "issuerOf"> {
  readonly names: Names;
  readonly random: Random;
  readonly log: Log;
  readonly trust: Trust;
}

/** What tokens are made of, at the token endpoint and in the implicit flow. */
export interface Issue {
  readonly granted: Granted;
  /** The platform's own id: of the browser's session, or of this sign-in or token alone. */
  readonly sessionId: string;
  /** What the caller calls its session: for the log alone; undefined where none was sent. */
  readonly callerSessionId: string | undefined;
  /** A family of tokens that can be revoked together; undefined: this token is alone. */
  readonly grantId: string | undefined;
  /** When the user signed in, and the request's nonce: an ID token is issued too, where the scopes have `openid`. */
  readonly idToken: (SignInTimes & { readonly nonce: string | undefined }) | undefined;
  /** An ID token stood for the sign-in. */
  readonly hint?: HintBounds | undefined;
}

/** Who a token is for and what it may do. */
export interface Granted {
  /** Empty where a user signed in without a client. */
  readonly clientId: string;
  readonly clientName: string;
  /** The client proved itself by a secret. */
  readonly clientAuthenticated: boolean;
  /** Empty with an organization, and outside any tenant. */
  readonly tenant: string;
  readonly tenantExplicit: boolean;
  readonly org: string;
  /** Of the tenant, or the usual one. */
  readonly plan: Plan;
  /** Empty where a client acts for itself. */
  readonly user: string;
  /** How tokens name the user, or the client where there is none. */
  readonly subject: string;
  /** As the answer shows them: where the token is for, `openid`, service scopes. */
  readonly scopes: readonly string[];
  /** When the records of client and tenant that decided were read: of several the oldest. */
  readonly recordsAsOfMs: number;
  /** When those of the user were read; of no meaning where there is none. */
  readonly userAsOfMs: number;
}

export interface Issued {
  readonly accessToken: string;
  readonly idToken: string | undefined;
  readonly expiresInSec: number;
}

/**
 * Signs what was granted and says so in the log. An answer that is lost costs nothing: the token that nobody saw
 * expires.
 */
export async function issueTokens(
  deps: IssueDeps,
  { granted, sessionId, callerSessionId, grantId, idToken, hint }: Issue,
  call: AnyCall,
): Promise<Result<Issued, OAuthFailure>> {
  const { trust, random, log, names } = deps;
  const issuer = deps.issuerOf(call);
  const tokenId = randomId(random);
  const of = { sessionId, grantId: grantId ?? tokenId };
  const expiresAtSec = accessTokenEndSec(call.nowMs, hint);
  const accessToken = await issueAccessToken({ ...granted, ...of, tokenId, expiresAtSec }, issuer, trust, call.nowMs);
  if (accessToken.length > MAX_TOKEN_CHARS)
    return err(
      failure("invalid_scope", "A token cannot hold so many scopes: name fewer.", undefined, granted.clientId),
    );
  const expiresInSec = expiresAtSec - toSec(call.nowMs);
  if (trust.wantsRefresh(call.nowMs)) call.waitUntil(trust.ensure(call.nowMs, "recent"));
  const { clientId, tenant, user, subject } = granted;
  log.info("token issued", { requestId: call.requestId, clientId, tenant, user, tokenId, ...of, callerSessionId });
  if (idToken === undefined || !granted.scopes.includes("openid"))
    return ok({ accessToken, idToken: undefined, expiresInSec });
  const { recordsAsOfMs, userAsOfMs } = granted;
  const basis = {
    ...of,
    grantTenant: hint?.tenant ?? tenant,
    scopes: hint?.scopes ?? serviceScopes(granted, names),
    endsAtMs: hint?.endsAtMs,
    recordsAsOfMs,
    userAsOfMs,
  };
  const token = { clientId, tenant, email: user, subject, accessToken, basis, ...idToken };
  return ok({ accessToken, idToken: await issueIdToken(token, issuer, trust, call.nowMs), expiresInSec });
}
