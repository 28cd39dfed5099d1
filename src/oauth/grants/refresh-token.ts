import { err, ok, type Result } from "../../platform/model/result.ts";
import type { Caller } from "../clients/authentication.ts";
import type { HeldToken } from "../homes/held-token.ts";
import { signInTimes } from "../model/authorization.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";
import {
  asksForNothing,
  idTokenAlg,
  identifyGrantClient,
  type GrantDeps,
  type GrantOutcome,
  type GrantStep,
  type TokenRequest,
} from "./grant-step.ts";
import { reauthorize, invalidGrant, type Authorized } from "./reauthorize.ts";
import { makeSuccessor, openSuccessor, tokenState } from "./refresh-rotation.ts";
import type { RefreshGrant, StoredRefreshToken } from "./refresh-store.ts";
import { revokeGrants } from "./revoke-grants.ts";

/**
 * A client uses a refresh token (RFC 6749 6). After a lost response, it repeats the request with the same token.
 *
 *   of the directory     token and user read ──▶ checked ──▶ used
 *   of another shard     user read ──▶ used ──▶ checked; if refused, the token is given back
 *
 * So each takes two round trips, and a refused request leaves the token as it was. If the request names scopes or
 * resources, or the token does not name its person, the checks come first in every shard: three round trips outside of
 * the directory. The token is always used after the user was read. A grant is removed before tokens until then are
 * revoked (homes/elsewhere.ts), so no token of a removed grant is from later records.
 */
export const refreshTokenGrant: GrantStep = async (deps, request) => {
  const caller = await identifyGrantClient(deps, request, "refresh_token");
  if (!caller.ok) return caller;
  const { client } = caller.value;
  const presented = request.parameters.get("refresh_token");
  if (presented === undefined)
    return err(failure("invalid_request", "refresh_token is missing.", undefined, client.id));
  const token = await deps.refreshGrants.tokens.read(presented);
  const use: Use = { deps, request, caller: caller.value, token };
  return token.email !== undefined && asksForNothing(request) ? useFirst(use, token.email) : checkFirst(use);
};

interface Use {
  readonly deps: GrantDeps;
  readonly request: TokenRequest;
  readonly caller: Caller;
  readonly token: HeldToken;
}

type Used = Result<GrantOutcome, OAuthFailure>;

async function checkFirst(use: Use): Promise<Used> {
  const { deps, request, caller, token } = use;
  const { client } = caller;
  const { nowMs } = request.call;
  const found = await deps.refreshGrants.find(token);
  if (found === undefined) return unknownToken(client.id);
  const { grant } = found;
  const foreign = foreignFault(use, grant);
  if (foreign !== undefined) return foreign;
  const before = tokenState(found, nowMs);
  if (before.kind === "spent") return spent(use, grant);
  const reauthorized = await reauthorize(deps, caller, grant, request, nowMs);
  if (!reauthorized.ok) return reauthorized;

  const rotates = before.kind === "living" && !client.confidential;
  const of = { grantId: grant.id, email: grant.email };
  const successor = rotates ? await makeSuccessor(token, deps.refreshGrants.tokens, of, deps.random) : undefined;
  const used = await deps.refreshGrants.use(token, successor, byOf(use), nowMs);
  if (used === undefined) return err(invalidGrant("the grant has just ended", client.id));
  return outcome(use, used, reauthorized.value);
}

async function useFirst(use: Use, email: string): Promise<Used> {
  const { deps, request, caller, token } = use;
  const { client } = caller;
  const { nowMs } = request.call;
  const user = await deps.users.find(email);
  if (user === undefined) return err(invalidGrant(`user ${email} is unknown or disabled`, client.id));
  const of = { grantId: undefined, email };
  const { tokens } = deps.refreshGrants;
  const successor = client.confidential ? undefined : await makeSuccessor(token, tokens, of, deps.random);
  const used = await deps.refreshGrants.use(token, successor, byOf(use), nowMs);
  if (used === undefined) return unknownToken(client.id);
  const foreign = foreignFault(use, used.grant);
  if (foreign !== undefined) return foreign;
  if (tokenState(used, nowMs).kind === "spent") return spent(use, used.grant);
  const authorized: Authorized = { ...used.grant, user: async () => user };
  let isChecked = false;
  try {
    const reauthorized = await reauthorize(deps, caller, authorized, request, nowMs);
    if (!reauthorized.ok) return reauthorized;
    isChecked = true;
    return await outcome(use, used, reauthorized.value);
  } finally {
    if (!isChecked && successor !== undefined) await deps.refreshGrants.giveBack(token);
  }
}

const unknownToken = (clientId: string): Used =>
  err(invalidGrant("the refresh token is unknown or was revoked", clientId));

const byOf = ({ caller, request }: Use) => ({ clientId: caller.client.id, proofKey: request.proofKey });

/** The refusal of a token of another client, or of one that is bound to another key. */
function foreignFault({ caller: { client }, request }: Use, grant: RefreshGrant): Used | undefined {
  if (grant.clientId !== client.id)
    return err(invalidGrant(`the refresh token is for client ${grant.clientId}`, client.id));
  const boundTo = grant.authorization.proofKey;
  return boundTo !== undefined && boundTo !== request.proofKey
    ? err(invalidGrant("the refresh token is bound to another key", client.id))
    : undefined;
}

async function spent({ deps, request, caller }: Use, grant: RefreshGrant): Promise<Used> {
  const actor = caller.client.id;
  const why = { actor, action: "end grant", subject: `grants/${grant.id}`, reason: "a refresh token was used twice" };
  await revokeGrants(deps, [grant], why, request.call);
  return err(invalidGrant("the refresh token was used already", actor));
}

async function outcome(
  use: Use,
  used: StoredRefreshToken,
  { granted, authorization }: Pick<GrantOutcome, "granted"> & Pick<RefreshGrant, "authorization">,
): Promise<Used> {
  const { deps, request, caller, token } = use;
  const after = tokenState(used, request.call.nowMs);
  if (after.kind === "spent") return spent(use, used.grant);
  const current =
    after.kind === "living"
      ? token.text
      : await openSuccessor(token, after.sealedSuccessor, used.grant.id, deps.random);
  return ok({
    granted,
    sessionId: authorization.sessionId,
    grantId: used.grant.id,
    refreshToken: current,
    idToken: { ...signInTimes(authorization), nonce: undefined, alg: idTokenAlg(caller.client) },
  });
}
