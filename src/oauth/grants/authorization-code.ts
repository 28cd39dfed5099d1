import { StoreUnavailable } from "../../platform/storage/database.ts";
import { sha256 } from "../../platform/secrets/hash.ts";
import { randomId, type Random } from "../../platform/runtime/random.ts";
import { err, ok } from "../../platform/model/result.ts";
import { toBase64Url } from "../../platform/text/encoding.ts";
import type { Caller } from "../clients/authentication.ts";
import type { ClientRecord } from "../clients/directory-store.ts";
import type { HeldToken, TokenPlace } from "../homes/held-token.ts";
import { signInTimes } from "../model/authorization.ts";
import { failure } from "../model/failure.ts";
import { answerOf, attemptOf, type DevicePoll } from "./device-answer.ts";
import { newGrantId } from "../model/grant-id.ts";
import { needsPkce, matchesChallenge } from "../model/pkce.ts";
import { onlyRedirectUri } from "../model/redirect.ts";
import type { Added, CodeCompany, StoredCode, CodeRequest, SentWithCode } from "./code-store.ts";
import type { Codes } from "./codes.ts";
import { asksForNothing, idTokenAlg, identifyGrantClient } from "./grant-step.ts";
import type { GrantDeps, GrantStep, TokenRequest } from "./grant-step.ts";
import { reauthorize, invalidGrant, type Reauthorized } from "./reauthorize.ts";
import { revokeGrants } from "./revoke-grants.ts";

/**
 * A client redeems a code (RFC 6749 4.1.3).
 *
 *   of the directory     code and user read ──▶ checked ──▶ redeemed
 *   of another shard     user read ──▶ redeemed if it fits the request ──▶ the user's rights checked; if refused, the
 *                        code is given back
 *
 * So each takes two round trips, and a failed request leaves the code as it was. If the request names scopes or
 * resources, or the code does not name its person, the checks come first in every shard: three round trips outside of
 * the directory. Code and grant change in one transaction. A redeemed code that comes back ends its grant, with any
 * verifier: one of the two senders stole it.
 */
export const authorizationCodeGrant: GrantStep = async (deps, request) => {
  const caller = await identifyGrantClient(deps, request, "authorization_code");
  if (!caller.ok) return caller;
  const text = request.parameters.get("code");
  if (text === undefined) return err(failure("invalid_request", "code is missing.", undefined, caller.value.client.id));
  return redeemCode(deps, request, caller.value, await deps.codes.tokens.read(text), "browser");
};

/** `browser`: a browser brought the code, so address and verifier must match. A device never saw the code. */
export async function redeemCode(
  deps: GrantDeps,
  request: TokenRequest,
  caller: Caller,
  place: TokenPlace,
  by: Bringer,
): ReturnType<GrantStep> {
  const use: Use = { deps, request, caller, place, by };
  return place.email !== undefined && asksForNothing(request) ? takeFirst(use, place.email) : checkFirst(use);
}

type Bringer = "browser" | { readonly deviceCode: string };

interface Use {
  readonly deps: GrantDeps;
  readonly request: TokenRequest;
  readonly caller: Caller;
  readonly place: TokenPlace;
  readonly by: Bringer;
}

/** Identifies an attempt to redeem the code. */
const attemptId = (use: Use, refreshToken: HeldToken | undefined): Promise<string> | string =>
  use.by === "browser"
    ? randomId(use.deps.random)
    : attemptOf(pollOf(use, use.by.deviceCode), refreshToken, use.deps.random);

const pollOf = ({ request, place }: Use, deviceCode: string): DevicePoll => ({
  deviceCode,
  codeHash: place.hash,
  proofKey: request.proofKey,
  nowMs: request.call.nowMs,
});

type Redeemed = Awaited<ReturnType<GrantStep>>;

async function checkFirst(use: Use): Promise<Redeemed> {
  const { deps, request, caller, place } = use;
  const { client } = caller;
  const { nowMs } = request.call;
  const codes = deps.codes.in(place);
  const code = await codes.find(place.hash);
  const early = await earlyAnswer(use, code);
  if (early !== undefined || code === undefined) return early ?? unknownCode(client.id);
  const reauthorized = await reauthorize(deps, caller, code, request, nowMs);
  if (!reauthorized.ok) return reauthorized;

  const { authorization } = reauthorized.value;
  const refreshToken =
    wantsRefresh(caller) && authorization.hint === undefined ? await newToken(use, code.email) : undefined;
  const refresh = refreshToken && {
    tokenHash: refreshToken.hash,
    authorization: { ...authorization, proofKey: boundKey(use) },
  };
  const id = await attemptId(use, refreshToken);
  if (!(await withRetry(() => codes.redeem(place.hash, { id, refresh }, nowMs))))
    return again(use, (await codes.find(place.hash)) ?? code);
  return outcome(use, code, reauthorized.value, refreshToken);
}

async function takeFirst(use: Use, email: string): Promise<Redeemed> {
  const { deps, request, caller, place, by } = use;
  const { client } = caller;
  const { nowMs } = request.call;
  const user = await deps.users.find(email);
  const refreshToken = wantsRefresh(caller) ? await newToken(use, email) : undefined;
  const id = await attemptId(use, refreshToken);
  const taking = {
    id,
    clientId: client.id,
    proofKey: request.proofKey,
    sent: by === "browser" ? await sentWith(request, client) : undefined,
    refresh: refreshToken && { tokenHash: refreshToken.hash, proofKey: boundKey(use) },
  };
  const taken = await withRetry(() => deps.codes.in(place).take(place.hash, taking, nowMs));
  if (taken === undefined) return unknownCode(client.id);
  const code: StoredCode = { ...taken.code, user: async () => user };
  let isChecked = false;
  try {
    const early = await earlyAnswer(use, taken.isTaken ? { ...code, redemption: undefined } : code);
    if (early !== undefined) return early;
    if (!taken.isTaken) return err(invalidGrant("the code does not fit the request", client.id));
    const reauthorized = await reauthorize(deps, caller, code, request, nowMs);
    if (!reauthorized.ok) return reauthorized;
    isChecked = true;
    const isGranted = reauthorized.value.authorization.hint === undefined;
    return outcome(use, code, reauthorized.value, isGranted ? refreshToken : undefined);
  } finally {
    if (!isChecked && taken.isTaken) await deps.codes.in(place).giveBack(place.hash, id);
  }
}

const unknownCode = (clientId: string): Redeemed => err(invalidGrant("the code is unknown", clientId));

const wantsRefresh = ({ client }: Caller): boolean => client.grantTypes.includes("refresh_token");

/** A refresh token for the grant, which lies in the shard of the code. */
const newToken = ({ deps, place }: Use, email: string): Promise<HeldToken> =>
  deps.refreshGrants.tokens.make(email, place.shard);

/** The key that refresh tokens are bound to. None for a client with a secret, which binds them already (RFC 9449 5). */
const boundKey = ({ caller, request }: Use): string | undefined =>
  caller.client.confidential ? undefined : request.proofKey;

/** The refusal of a code that is not valid for this request, regardless of its user's rights; or tokens once more. */
async function earlyAnswer(use: Use, code: StoredCode | undefined): Promise<Redeemed | undefined> {
  const { request, caller, by } = use;
  const { client } = caller;
  if (code === undefined) return unknownCode(client.id);
  if (code.clientId !== client.id) return err(invalidGrant(`the code is for client ${code.clientId}`, client.id));
  const boundTo = code.authorization.proofKey;
  if (boundTo !== undefined && boundTo !== request.proofKey)
    return code.redemption === undefined
      ? err(invalidGrant("the code is bound to another key", client.id))
      : replayed(use, code);
  if (code.redemption !== undefined) return again(use, code);
  const fault = by === "browser" ? await codeFault(code, request, caller) : undefined;
  return fault === undefined ? undefined : err(invalidGrant(fault, client.id));
}

/** The answer to a redeemed code: a device gets its tokens once more (device-answer.ts), else the grant ends. */
async function again(use: Use, code: StoredCode): Promise<Redeemed> {
  const { deps, request, caller, by } = use;
  const { nowMs } = request.call;
  if (by === "browser" || code.redemption === undefined) return replayed(use, code);
  const answer = await answerOf(deps, code.redemption, pollOf(use, by.deviceCode));
  if (answer === undefined) return replayed(use, code);
  // By the grant, which may have been made void since.
  const authorization = answer === "none" ? code.authorization : answer.authorization;
  const authorized = { email: code.email, user: () => code.user(), authorization };
  const reauthorized = await reauthorize(deps, caller, authorized, request, nowMs);
  if (!reauthorized.ok) return reauthorized;
  return outcome(use, code, reauthorized.value, answer === "none" ? undefined : answer.token);
}

async function replayed({ deps, request, caller, place }: Use, code: StoredCode): Promise<Redeemed> {
  const { client } = caller;
  const subject = `grants/${code.grantId}`;
  const why = { actor: client.id, action: "end grant", subject, reason: "a code was used twice" };
  // The code is removed too. Otherwise each repetition would write to the audit log.
  const grant = { id: code.grantId, email: code.email, clientId: client.id };
  const codes = deps.codes.in(place);
  const beside = place.shard === 0 ? [codes.removeStatement(code.codeHash)] : [];
  await revokeGrants(deps, [grant], why, request.call, beside);
  if (place.shard !== 0) await codes.remove(code.codeHash);
  return err(invalidGrant("the code was used already", client.id));
}

const outcome = (
  { caller }: Use,
  code: StoredCode,
  { granted, authorization }: Reauthorized,
  refreshToken: HeldToken | undefined,
): Redeemed =>
  ok({
    granted,
    sessionId: authorization.sessionId,
    grantId: code.grantId,
    refreshToken: refreshToken?.text,
    idToken: { ...signInTimes(authorization), nonce: code.nonce, alg: idTokenAlg(caller.client) },
    hint: authorization.hint,
  });

async function sentWith({ parameters }: TokenRequest, client: ClientRecord): Promise<SentWithCode> {
  const verifier = parameters.get("code_verifier");
  return {
    redirectUri: parameters.get("redirect_uri"),
    onlyRedirectUri: onlyRedirectUri(client.redirectUris),
    verifier,
    s256: verifier === undefined ? undefined : toBase64Url(await sha256(verifier)),
    needsPkce: needsPkce(client),
  };
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
async function withRetry<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (thrown) {
    if (!(thrown instanceof StoreUnavailable)) throw thrown;
    return write();
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
 * Makes a code for the client, in the database of its session. A pushed request ends with its code: in one transaction
 * in the directory. In another shard the code comes first, so that a failure between the two leaves the request, and a
 * code that nobody has seen.
 */
export async function createCode(
  deps: { readonly codes: Codes; readonly random: Random },
  {
    lifetimeMs = CODE_LIFETIME_MS,
    shard,
    ...request
  }: CodeRequest & { readonly shard: number; readonly lifetimeMs?: number },
  nowMs: number,
  company: CodeCompany = {},
): Promise<HeldToken | Exclude<Added, "added">> {
  const code = await deps.codes.tokens.make(request.email, shard);
  const record = {
    ...request,
    codeHash: code.hash,
    grantId: request.grantId ?? newGrantId(request.authorization.sessionId, deps.random),
    expiresAtMs: Math.min(nowMs + lifetimeMs, request.authorization.hint?.endsAtMs ?? Infinity),
  };
  const store = deps.codes.in(code);
  const added = await store.add(record, nowMs, company);
  if (added !== "added") return added;
  if (shard === 0 || company.pushed === undefined || (await company.pushed.take())) return code;
  await store.remove(code.hash);
  return "used";
}
