import { toSec } from "../../platform/runtime/clock.ts";
import { normalizeEmail } from "../../platform/text/email.ts";
import { ok, type Result } from "../../platform/model/result.ts";
import type { SignInTimes } from "../model/authorization.ts";
import type { AnyCall } from "../model/call.ts";
import { promptValues } from "../model/parameters.ts";
import { denied, faulty, quoted, type FederationFailure } from "../model/provider-failure.ts";
import { readClientRequest, callbackAddress, type FederationDeps } from "./begin.ts";
import type { ProviderRecord } from "./federation-store.ts";
import type { FetchJson, JsonObject } from "./fetch-json.ts";
import { verifyIdToken, type ExpectedIdToken, type IdTokenClaims } from "./id-token.ts";
import type { Account } from "./identity-store.ts";
import type { ProviderMetadata } from "./metadata.ts";
import type { PendingSignIn } from "./pending.ts";
import { tokenRequest } from "./token-request.ts";

/** A provider's response to a code. */
interface Tokens {
  readonly idToken: string;
  /** Undefined if it is not a usable bearer token. */
  readonly accessToken: string | undefined;
}

/** The account that a provider vouches for, linked to a user here or not. */
export interface Vouched extends Account, Pick<SignInTimes, "provenAtMs"> {
  readonly isLinked: boolean;
  /** The linked user's address; if not linked, the address that the provider verified, normalized. */
  readonly email: string;
}

/** OIDC Core 2: at most 255 ASCII characters. Other text could be stored as another account's. */
const SUBJECT = /^[\x20-\x7e]{1,255}$/;

/** Exchanges the code and returns the account that the provider vouches for. */
export async function vouch(
  deps: FederationDeps,
  code: string,
  pending: PendingSignIn,
  { provider, metadata }: { readonly provider: ProviderRecord; readonly metadata: ProviderMetadata },
  call: AnyCall,
): Promise<Result<Vouched, FederationFailure>> {
  const secret = await deps.federation.providers.openSecret(provider);
  if (secret === undefined) return faulty("the client secret does not open: SEAL_KEYS lacks the key that sealed it");
  const redirectUri = callbackAddress(deps, provider.id, call);
  const tokens = await exchange(deps.federation.fetchJson, code, { ...pending, redirectUri, secret }, metadata);
  if (!tokens.ok) return tokens;
  const keys = { find: deps.federation.keys.find, jwksUri: metadata.jwksUri };
  const claims = await verifyIdToken(tokens.value.idToken, expectedIdToken(deps, pending), keys, call.nowMs);
  if (!claims.ok) return claims;
  const { sub: subject } = claims.value;
  if (!SUBJECT.test(subject)) return denied("the ID token's sub is not of 1 to 255 characters of ASCII");
  const account = { provider: provider.id, issuer: provider.issuer, subject };
  const provenAtMs = provenAt(claims.value["auth_time"], call.nowMs);
  const user = await deps.federation.identities.findUser(account);
  if (user !== undefined) return ok({ ...account, provenAtMs, isLinked: true, email: user });
  // A person who links the account is signed in here, so its address says nothing.
  if (pending.linkFor !== undefined)
    return ok({ ...account, provenAtMs, isLinked: false, email: pending.linkFor.email });
  const source = { ...metadata, trustsEmail: provider.trustsEmail };
  const email = await findEmail(deps.federation.fetchJson, claims.value, tokens.value.accessToken, source);
  return email.ok ? ok({ ...account, provenAtMs, isLinked: false, email: email.value }) : email;
}

/** A provider whose clock is ahead does not make the sign-in any fresher. */
const provenAt = (authTime: unknown, nowMs: number): number | undefined =>
  typeof authTime === "number" ? Math.floor(Math.min(Math.max(authTime * 1000, 0), nowMs)) : undefined;

/** A client's wish for a fresh sign-in applies to the provider too. `auth_time` shows whether it was followed. */
function expectedIdToken(
  deps: FederationDeps,
  { issuer, clientId, nonce, request, begunAtMs }: PendingSignIn,
): ExpectedIdToken {
  const clientRequest = readClientRequest(deps, request);
  const maxAge = clientRequest.get("max_age");
  const oldestSec = promptValues(clientRequest).includes("login") ? "0" : maxAge;
  const authenticatedSinceSec = oldestSec === undefined ? undefined : toSec(begunAtMs) - Number(oldestSec);
  return { issuer, clientId, nonce, authenticatedSinceSec, needsAuthTime: maxAge !== undefined };
}

/** RFC 6750 2.1, with any visible ASCII. */
const BEARER_TOKEN = /^[\x21-\x7e]+$/;

/** Exchanges the code for tokens (RFC 6749 4.1.3). */
async function exchange(
  fetchJson: FetchJson,
  code: string,
  from: PendingSignIn & { readonly redirectUri: string; readonly secret: string },
  metadata: ProviderMetadata,
): Promise<Result<Tokens, FederationFailure>> {
  const fields = {
    grant_type: "authorization_code",
    code,
    redirect_uri: from.redirectUri,
    code_verifier: from.verifier,
  };
  const answer = await fetchJson(metadata.tokenEndpoint, tokenRequest(fields, from, metadata));
  if (!answer.ok) return answer;
  const { status, body: tokens } = answer.value;
  if (status >= 300) {
    const reason = `the token endpoint answers ${status} ${quoted(tokens["error"])}`;
    return tokens["error"] === "invalid_grant" ? denied(reason) : faulty(reason);
  }
  const { id_token: idToken, access_token: accessToken, token_type: type } = tokens;
  if (typeof idToken !== "string") return faulty("the token endpoint answers without an ID token");
  const isBearer = typeof type === "string" && type.toLowerCase() === "bearer";
  const isUsable = isBearer && typeof accessToken === "string" && BEARER_TOKEN.test(accessToken);
  return ok({ idToken, accessToken: isUsable ? accessToken : undefined });
}

/**
 * Reads the e-mail address from the ID token, or from userinfo if the ID token has none. Address and verification come
 * from the same source.
 */
async function findEmail(
  fetchJson: FetchJson,
  claims: IdTokenClaims,
  accessToken: string | undefined,
  { userinfoEndpoint, trustsEmail }: Pick<ProviderMetadata, "userinfoEndpoint"> & TrustsEmail,
): Promise<Result<string, FederationFailure>> {
  if (claims["email"] !== undefined && (trustsEmail || claims["email_verified"] !== undefined))
    return readEmail(claims, trustsEmail);
  if (userinfoEndpoint === undefined || accessToken === undefined)
    return denied("the ID token has no verified e-mail address, and there is no userinfo endpoint");
  const answer = await fetchJson(userinfoEndpoint, { headers: { authorization: `Bearer ${accessToken}` } });
  if (!answer.ok) return answer;
  const { status, body } = answer.value;
  if (status >= 300) return faulty(`userinfo answers ${status}`);
  // Otherwise one user's access token could put their address on another user's ID token (OIDC Core 5.3.2).
  if (body["sub"] !== claims.sub) return denied("userinfo is about another user than the ID token");
  return readEmail(body, trustsEmail);
}

type TrustsEmail = Pick<ProviderRecord, "trustsEmail">;

/** `trustsEmail` stands for a missing `email_verified`. It never overrules a provider that says `false`. */
function readEmail(
  { email, email_verified: stated }: JsonObject,
  trustsEmail: boolean,
): Result<string, FederationFailure> {
  const verified = stated === undefined ? trustsEmail : stated;
  if (typeof email !== "string") return denied("the provider names no e-mail address");
  if (verified !== true) return denied(`the provider has not verified ${quoted(email)}`);
  const normalized = normalizeEmail(email);
  // Unicode normalization can make another mailbox equal to a user's address. That one was verified, not this one.
  if (normalized === undefined || normalized !== email.trim().replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()))
    return denied(`the provider's ${quoted(email)} is no e-mail address in its normal form`);
  return ok(normalized);
}
