import { MAX_TOKEN_CHARS } from "../../http/auth.ts";
import { toSec } from "../../platform/clock.ts";
import { randomId } from "../../platform/random.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import { serviceScopes } from "../authorization.ts";
import type { AnyCall, OAuthContext } from "../context.ts";
import { failure, type OAuthFailure } from "../failure.ts";
import type { Issue } from "../grants/granted.ts";
import { accessTokenEndSec, issueAccessToken } from "./access-token.ts";
import { issueIdToken } from "./id-token.ts";

export interface Issued {
  readonly accessToken: string;
  readonly idToken: string | undefined;
  readonly expiresInSec: number;
}

/** Signs what was granted and says so in the log. An answer that is lost costs nothing: the token that nobody saw expires. */
export async function issueTokens(
  { granted, sessionId, callerSessionId, grantId, idToken, hint }: Issue,
  call: AnyCall,
  context: OAuthContext,
): Promise<Result<Issued, OAuthFailure>> {
  const { trust, random, log, names } = context;
  const issuer = context.issuerOf(call);
  const tokenId = randomId(random);
  const of = { sessionId, grantId: grantId ?? tokenId };
  const expiresAtSec = accessTokenEndSec(call.nowMs, hint);
  const accessToken = await issueAccessToken({ ...granted, ...of, tokenId, expiresAtSec }, issuer, trust, call.nowMs);
  if (accessToken.length > MAX_TOKEN_CHARS)
    return err(
      failure("invalid_scope", "A token cannot hold so many scopes: name fewer.", undefined, granted.clientId),
    );
  const expiresInSec = expiresAtSec - toSec(call.nowMs);
  if (trust.wantsRefresh(call.nowMs)) call.after(trust.ensure(call.nowMs, "recent"));
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
