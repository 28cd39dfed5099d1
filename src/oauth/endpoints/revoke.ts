import type { Principal } from "../../http/callers/auth.ts";
import { json, type Call, type Answer } from "../../http/route.ts";
import { ok, type Result } from "../../platform/model/result.ts";
import {
  authenticateClient,
  noCredentials,
  provesItself,
  type Credentials,
  readCredentials,
} from "../clients/authentication.ts";
import type { TokenOwner } from "../grants/refresh-store.ts";
import { grantRevocation, type RevokedGrant } from "../homes/grant-revocation.ts";
import type { AnyCall } from "../model/call.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";
import { readParameters } from "../model/parameters.ts";
import { allExpiredSec } from "../tokens/access-token.ts";
import { tokenRevocation } from "../tokens/revoked-tokens-store.ts";
import type { NewRevocation } from "../tokens/trust-store.ts";
import type { TokenEndpointDeps } from "./deps.ts";

/**
 * `POST /revoke` (RFC 7009): one token or a comma-separated list, access and refresh tokens mixed.
 *
 *   caller                       tokens that it can revoke
 *   a client that authenticates  its own
 *   a client that names itself   its own that were issued without its secret
 *   no client                    all that were issued without a secret, since any holder may end such a token
 *
 * - If the caller cannot revoke some valid tokens, the others are revoked and the response is an error: 401 if a token
 *   needs its client's secret and none was sent, else 400.
 * - An unknown, expired or revoked token counts as revoked. So a client can repeat the request after a lost response.
 * - A refresh token, even a replaced one, revokes its grant and all access tokens of the grant.
 */
const MAX_TOKENS = 500;

export async function revoke(
  deps: TokenEndpointDeps,
  call: Call<unknown, unknown, URLSearchParams, undefined>,
): Promise<Answer> {
  const refuse = (refusal: OAuthFailure): Response => deps.refuse(call, "revoke", refusal);
  const parameters = readParameters(call.body, deps.names);
  if (!parameters.ok) return refuse(parameters.error);
  const list = parameters.value.get("token");
  if (list === undefined) return refuse(failure("invalid_request", "token is missing."));
  const tokens = [...new Set(list.split(",").map((item) => item.trim()))].filter((item) => item !== "");
  if (tokens.length > MAX_TOKENS)
    return refuse(failure("invalid_request", `At most ${MAX_TOKENS} tokens are revoked at once.`));
  const credentials = readCredentials(call.request, parameters.value);
  if (!credentials.ok) return refuse(credentials.error);
  const asking = await identify(deps, credentials.value, call);
  if (!asking.ok) return refuse(asking.error);

  const living = await findLiveTokens(deps, tokens, call.nowMs);
  if (living === undefined) return deps.unavailable();
  const revoked = living.filter((token) => mayRevoke(asking.value, token));
  await revokeTokens(deps, revoked, asking.value, call);
  const left = living.filter((token) => !revoked.includes(token));
  if (!asking.value.authenticated && left.some((token) => token.needsSecret)) return refuse(noCredentials());
  if (left.length > 0)
    return refuse(
      failure("unauthorized_client", "A token was not issued to this client.", undefined, asking.value.clientId),
    );
  return json(200, {}, { "cache-control": "no-store" });
}

interface Revoker {
  /** Undefined: the request names no client. */
  readonly clientId: string | undefined;
  readonly authenticated: boolean;
}

/** A client that only names itself is not looked up, because it can revoke no more than any holder of the token. */
async function identify(
  deps: TokenEndpointDeps,
  credentials: Credentials | undefined,
  call: AnyCall,
): Promise<Result<Revoker, OAuthFailure>> {
  if (credentials === undefined || !provesItself(credentials))
    return ok({ clientId: credentials?.clientId, authenticated: false });
  const entry = await deps.directory.find(credentials.clientId, undefined, call);
  const client = await authenticateClient(deps, credentials, entry, call);
  return client.ok ? ok({ clientId: client.value.id, authenticated: true }) : client;
}

/** A valid token of either kind. */
interface LiveToken {
  readonly clientId: string;
  /** It was issued to an authenticated client. */
  readonly needsSecret: boolean;
  readonly ended: NewRevocation;
  /** The grant of a refresh token. */
  readonly grant?: RevokedGrant;
}

function mayRevoke({ clientId, authenticated }: Revoker, token: LiveToken): boolean {
  if (clientId !== undefined && clientId !== token.clientId) return false;
  return authenticated || !token.needsSecret;
}

/** The valid tokens of the list. Undefined if revocations cannot be read. */
async function findLiveTokens(
  deps: TokenEndpointDeps,
  tokens: readonly string[],
  nowMs: number,
): Promise<readonly LiveToken[] | undefined> {
  const isJwt = (token: string): boolean => token.includes(".");
  const held = await Promise.all(
    tokens.filter((token) => !isJwt(token)).map((token) => deps.refreshGrants.tokens.read(token)),
  );
  const [verified, owners] = await Promise.all([
    deps.verifier.verifyNow(tokens.filter(isJwt), nowMs),
    held.length === 0 ? [] : deps.refreshGrants.owners(held),
  ]);
  if (!verified.ok) return undefined;
  const accessTokens = verified.value.flatMap((token) => (token.ok ? [fromAccessToken(token.value)] : []));
  return [...accessTokens, ...owners.map((owner) => fromRefreshToken(owner, nowMs))];
}

const fromAccessToken = (token: Principal): LiveToken => ({
  clientId: token.clientId,
  needsSecret: token.clientAuthenticated,
  ended: tokenRevocation(token, token.expiresAtSec),
});

const fromRefreshToken = ({ grantId, clientId, email, confidential }: TokenOwner, nowMs: number): LiveToken => ({
  clientId,
  needsSecret: confidential,
  ended: grantRevocation({ id: grantId, clientId, email }, nowMs),
  grant: { id: grantId, clientId, email },
});

/**
 * Revokes the tokens and their refresh grants, with an audit row each, in one transaction of the directory. Grants in
 * other databases are made void before it and removed after it. If a person has too many revoked tokens of a client,
 * all that the client got of the person until now is revoked instead. It can get new ones at once.
 */
async function revokeTokens(
  { trust, revokedTokens, refreshGrants, audit, log }: TokenEndpointDeps,
  tokens: readonly LiveToken[],
  { clientId = "" }: Revoker,
  { nowMs, requestId }: Pick<Call<unknown, unknown, unknown, undefined>, "nowMs" | "requestId">,
): Promise<void> {
  const ended = tokens.map((token) => token.ended);
  const grants = tokens.flatMap(({ grant }) => grant ?? []);
  const about = { atMs: nowMs, requestId, actor: clientId, action: "revoke", outcome: "done" } as const;
  const rows = ended.map(({ kind, key }) =>
    audit.statement("always", { ...about, subject: `${kind}s/${key}`, reason: "" }),
  );
  const clients = new Set(tokens.map((token) => token.clientId));
  const subject = clients.size === 1 ? `clients/${[...clients].join("")}` : "clients";
  const collapsed = revokedTokens.collapseStatements(ended, allExpiredSec(nowMs), (reason) =>
    audit.statement("if changed", { ...about, subject, reason }),
  );
  await refreshGrants.voidElsewhere(grants);
  await trust.revoke(ended, [
    ...collapsed,
    ...(grants.length === 0 ? [] : [refreshGrants.removeStatement(grants.map(({ id }) => id))]),
    ...rows,
  ]);
  await refreshGrants.removeElsewhere(grants);
  for (const { kind, key } of ended) log.info("revoked", { requestId, clientId, kind, key });
}
