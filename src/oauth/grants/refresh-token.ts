import { sha256Hex } from "../../platform/secrets/hash.ts";
import { err, ok } from "../../platform/model/result.ts";
import { signInTimes } from "../model/authorization.ts";
import { failure } from "../model/failure.ts";
import { idTokenAlg, identifyGrantClient, type GrantStep } from "./grant-step.ts";
import { reauthorize, invalidGrant } from "./reauthorize.ts";
import { makeSuccessor, openSuccessor, tokenState } from "./refresh-rotation.ts";
import { revokeGrants } from "./revoke-grants.ts";

/**
 * A client uses a refresh token (RFC 6749 6). The authorization is checked first, so a failed request leaves the token
 * as it was. Then one write uses it, and the row tells which token stands for the grant from now on. After a lost
 * response, the client repeats the request with the same token.
 */
export const refreshTokenGrant: GrantStep = async (deps, request) => {
  const { call, parameters } = request;
  const { nowMs } = call;
  const caller = await identifyGrantClient(deps, request, "refresh_token");
  if (!caller.ok) return caller;
  const { client } = caller.value;
  const presented = parameters.get("refresh_token");
  if (presented === undefined)
    return err(failure("invalid_request", "refresh_token is missing.", undefined, client.id));
  const tokenHash = await sha256Hex(presented);
  const found = await deps.refreshGrants.find(tokenHash);
  if (found === undefined) return err(invalidGrant("the refresh token is unknown or was revoked", client.id));
  const { grant } = found;
  if (grant.clientId !== client.id)
    return err(invalidGrant(`the refresh token is for client ${grant.clientId}`, client.id));

  const boundTo = grant.authorization.proofKey;
  if (boundTo !== undefined && boundTo !== request.proofKey)
    return err(invalidGrant("the refresh token is bound to another key", client.id));

  const spent = async () => {
    const subject = `grants/${grant.id}`;
    const why = { actor: client.id, action: "end grant", subject, reason: "a refresh token was used twice" };
    await revokeGrants(deps, [grant.id], why, call);
    return err(invalidGrant("the refresh token was used already", client.id));
  };
  const before = tokenState(found, nowMs);
  if (before.kind === "spent") return spent();
  const reauthorized = await reauthorize(deps, caller.value, grant, request, nowMs);
  if (!reauthorized.ok) return reauthorized;

  const rotates = before.kind === "living" && !client.confidential;
  const successor = rotates ? await makeSuccessor(presented, grant.id, deps.random) : undefined;
  const used = await deps.refreshGrants.use(tokenHash, successor, nowMs);
  if (used === undefined) return err(invalidGrant("the grant has just ended", client.id));
  const after = tokenState(used, nowMs);
  if (after.kind === "spent") return spent();
  const current =
    after.kind === "living" ? presented : await openSuccessor(presented, after.sealedSuccessor, grant.id, deps.random);
  const { granted, authorization } = reauthorized.value;
  return ok({
    granted,
    sessionId: authorization.sessionId,
    grantId: grant.id,
    refreshToken: current,
    idToken: { ...signInTimes(authorization), nonce: undefined, alg: idTokenAlg(client) },
  });
};
