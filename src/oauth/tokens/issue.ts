import { MAX_TOKEN_CHARS } from "../../http/auth.ts";
import { randomId } from "../../platform/random.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import type { AnyCall, OAuthContext } from "../context.ts";
import { failure, type OAuthFailure } from "../failure.ts";
import type { Issue } from "../grants/granted.ts";
import { issueAccessToken } from "./access-token.ts";
import { issueIdToken } from "./id-token.ts";

export interface Issued {
  readonly accessToken: string;
  readonly idToken: string | undefined;
}

/** Signs what was granted and says so in the log. An answer that is lost costs nothing: the token that nobody saw expires. */
export async function issueTokens(
  { granted, sessionId, grantId, idToken }: Issue,
  call: AnyCall,
  context: OAuthContext,
): Promise<Result<Issued, OAuthFailure>> {
  const { trust, random, log } = context;
  const issuer = context.issuerOf(call);
  const tokenId = randomId(random);
  const accessToken = await issueAccessToken(
    { ...granted, sessionId, tokenId, grantId: grantId ?? tokenId },
    issuer,
    trust,
    call.nowMs,
  );
  if (accessToken.length > MAX_TOKEN_CHARS)
    return err(
      failure("invalid_scope", "A token cannot hold so many scopes: name fewer.", undefined, granted.clientId),
    );
  if (trust.wantsRefresh(call.nowMs)) call.after(trust.ensure(call.nowMs, "recent"));
  const { clientId, tenant, user, subject } = granted;
  log.info("token issued", { requestId: call.requestId, clientId, tenant, user, tokenId, grantId, sessionId });
  if (idToken === undefined || !granted.scopes.includes("openid")) return ok({ accessToken, idToken: undefined });
  const token = { clientId, tenant, email: user, subject, accessToken, ...idToken };
  return ok({ accessToken, idToken: await issueIdToken(token, issuer, trust, call.nowMs) });
}
