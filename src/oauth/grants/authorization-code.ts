import { StoreUnavailable } from "../../platform/storage/database.ts";
import { sha256Hex } from "../../platform/secrets/hash.ts";
import { randomId, randomSecret, type Random } from "../../platform/runtime/random.ts";
import { err, ok } from "../../platform/model/result.ts";
import type { Caller } from "../clients/authentication.ts";
import type { ClientRecord } from "../clients/directory-store.ts";
import { signInTimes } from "../model/authorization.ts";
import { failure } from "../model/failure.ts";
import { newGrantId } from "../model/grant-id.ts";
import { needsPkce, matchesChallenge } from "../model/pkce.ts";
import { onlyRedirectUri } from "../model/redirect.ts";
import type { CodeCompany, CodeStore, Redemption, StoredCode, CodeRequest } from "./code-store.ts";
import { idTokenAlg, identifyGrantClient, type GrantDeps, type GrantStep, type TokenRequest } from "./grant-step.ts";
import { reauthorize, invalidGrant } from "./reauthorize.ts";
import { revokeGrants } from "./revoke-grants.ts";

/**
 * A client redeems a code (RFC 6749 4.1.3). Every check runs before the one conditional write, so a failed request
 * leaves the code as it was. A redeemed code that comes back ends its grant, with any verifier: one of the two senders
 * stole it.
 */
export const authorizationCodeGrant: GrantStep = async (deps, request) => {
  const caller = await identifyGrantClient(deps, request, "authorization_code");
  if (!caller.ok) return caller;
  const text = request.parameters.get("code");
  if (text === undefined) return err(failure("invalid_request", "code is missing.", undefined, caller.value.client.id));
  return redeemCode(deps, request, caller.value, await sha256Hex(text), "browser");
};

/** `browser`: the code came by one, so address and verifier have to fit. `device`: the client never saw it. */
export async function redeemCode(
  deps: GrantDeps,
  request: TokenRequest,
  caller: Caller,
  codeHash: string,
  by: "browser" | "device",
): ReturnType<GrantStep> {
  const { call } = request;
  const { client } = caller;
  const code = await deps.codes.find(codeHash);
  if (code === undefined) return err(invalidGrant("the code is unknown", client.id));
  if (code.clientId !== client.id) return err(invalidGrant(`the code is for client ${code.clientId}`, client.id));

  const replayed = async () => {
    const subject = `grants/${code.grantId}`;
    const why = { actor: client.id, action: "end grant", subject, reason: "a code was used twice" };
    // The code is removed too. Otherwise each repetition would write to the audit log.
    const grant = { id: code.grantId, email: code.email, clientId: client.id };
    await revokeGrants(deps, [grant], why, call, [deps.codes.removeStatement(code.codeHash)]);
    return err(invalidGrant("the code was used already", client.id));
  };
  if (code.redeemed) return replayed();
  const { proofKey } = request;
  const boundTo = code.authorization.proofKey;
  if (boundTo !== undefined && boundTo !== proofKey)
    return err(invalidGrant("the code is bound to another key", client.id));
  const fault = by === "browser" ? await codeFault(code, request, caller) : undefined;
  if (fault !== undefined) return err(invalidGrant(fault, client.id));
  const reauthorized = await reauthorize(deps, caller, code, request, call.nowMs);
  if (!reauthorized.ok) return reauthorized;

  const { granted, authorization } = reauthorized.value;
  const wantsRefresh = client.grantTypes.includes("refresh_token") && authorization.hint === undefined;
  const refreshToken = wantsRefresh ? await deps.refreshGrants.newToken(code.email) : undefined;
  // The secret of a client binds its refresh tokens already (RFC 9449 5).
  const bound = { ...authorization, proofKey: client.confidential ? undefined : proofKey };
  const isHere = refreshToken?.shard === 0;
  // A grant in another database is there before the code is redeemed, which happens once (refresh-grants.ts).
  if (refreshToken !== undefined && !isHere) {
    const { grantId: id, clientId, email } = code;
    await deps.refreshGrants.add({ id, clientId, email, authorization: bound }, refreshToken, call.nowMs);
  }
  const refresh = isHere ? { tokenHash: refreshToken.hash, authorization: bound } : undefined;
  const redemption = { id: randomId(deps.random), refresh };
  if (!(await redeemWithRetry(deps.codes, code.codeHash, redemption, call.nowMs))) return replayed();
  return ok({
    granted,
    sessionId: authorization.sessionId,
    grantId: code.grantId,
    refreshToken: refreshToken?.text,
    idToken: { ...signInTimes(authorization), nonce: code.nonce, alg: idTokenAlg(client) },
    hint: authorization.hint,
  });
}

/** Returns why the code does not fit this request, for the operator. */
async function codeFault(
  code: StoredCode,
  { call, parameters }: TokenRequest,
  { client }: Caller,
): Promise<string | undefined> {
  if (call.nowMs >= code.expiresAtMs) return "the code has expired";
  if (!isSameAddress(parameters.get("redirect_uri"), code, client))
    return "redirect_uri differs from the authorization request";
  const verifier = parameters.get("code_verifier");
  const { challenge } = code;
  if (challenge === undefined) {
    if (needsPkce(client)) return "the client needs PKCE";
    // RFC 9700 4.8.2: an attacker removed the challenge from the authorization request.
    return verifier === undefined ? undefined : "code_verifier without a code_challenge in the authorization request";
  }
  if (verifier === undefined) return "the code_verifier is missing";
  return (await matchesChallenge(verifier, challenge)) ? undefined : "the code_verifier does not match";
}

/**
 * Both requests must have the same text, or both none (RFC 6749 4.1.3). If none was sent before, the default one fits
 * too.
 */
const isSameAddress = (sent: string | undefined, code: StoredCode, { redirectUris }: ClientRecord): boolean =>
  sent === code.redirectUri || (code.redirectUri === undefined && sent === onlyRedirectUri(redirectUris));

/** Repeats a write whose response was lost. Under the same id it is done once, and each attempt learns who did it. */
async function redeemWithRetry(
  codes: CodeStore,
  codeHash: string,
  redemption: Redemption,
  nowMs: number,
): Promise<boolean> {
  try {
    return await codes.redeem(codeHash, redemption, nowMs);
  } catch (thrown) {
    if (!(thrown instanceof StoreUnavailable)) throw thrown;
    return codes.redeem(codeHash, redemption, nowMs);
  }
}

/**
 * Authorization codes (RFC 6749 4.1): 256 random bits, stored as SHA-256, for one client, one redirect URI and one PKCE
 * challenge.
 *
 *   open ──redeemed in time, by its client, with its verifier──▶ redeemed
 *    │                                                              │ presented again
 *    └──60 s──▶ expired                          removed, and every token issued for it is revoked
 */
const CODE_LIFETIME_MS = 60_000;

/**
 * Makes a code for the client. Undefined if the client or the user has just been removed, or the session revoked.
 * `beginning`: the session that begins with the code.
 */
export async function createCode(
  deps: { readonly codes: CodeStore; readonly random: Random },
  { lifetimeMs = CODE_LIFETIME_MS, ...request }: CodeRequest & { readonly lifetimeMs?: number },
  nowMs: number,
  company: CodeCompany = {},
): Promise<string | undefined> {
  const code = randomSecret(deps.random);
  const record = {
    ...request,
    codeHash: await sha256Hex(code),
    grantId: request.grantId ?? newGrantId(request.authorization.sessionId, deps.random),
    expiresAtMs: Math.min(nowMs + lifetimeMs, request.authorization.hint?.endsAtMs ?? Infinity),
  };
  const added = await deps.codes.add(record, nowMs, company);
  return added ? code : undefined;
}
