import { decodeProtectedHeader } from "jose";
import { toSec } from "../../platform/runtime/clock.ts";
import { toBase64Url } from "../../platform/text/encoding.ts";
import { sha256 } from "../../platform/secrets/hash.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { authTimeMs, type SignInTimes } from "../model/authorization.ts";
import type { Issuer } from "../model/call.ts";
import { methodClaims, type Methods } from "../model/methods.ts";
import { profileClaims, type Profile } from "../model/profile.ts";
import { readOwnToken, type Kind, signJwt } from "./jwt.ts";
import { FAPI_ID_TOKEN_ALG, ID_TOKEN_ALG, type SigningAlg } from "./keys/signing-key.ts";
import type { Trust } from "./trust.ts";

/**
 * ID tokens: RS256, 3600 s, one audience. A client may return one as `id_token_hint` to get a token without a page, so
 * it is verified as strictly as it is made. `auth_ms` is the time of the sign-in here, to the millisecond: a password
 * change within the same second counts. `auth_time` is the time at which a provider had asked the user, which may be
 * earlier.
 *
 * A hint depends on its grant (`gid`, `scope`, and `grant_tenant` if the token is for another tenant), its session
 * (`sid`), and the records that decided (`asof`, `user_asof`), so revocations of these apply to it.
 */
export const ID_TOKEN_LIFETIME_SEC = 3600;
const TYPE = "JWT";
const REQUIRED_CLAIMS = ["iat", "exp", "sub", "aud", "email"];

export interface NewIdToken extends SignInTimes {
  readonly clientId: string;
  readonly email: string;
  /** The person used a link in a mail to the address. False without the scope `email`. */
  readonly emailVerified: boolean;
  /** Undefined without the scope `profile`. */
  readonly profile: Profile | undefined;
  readonly subject: string;
  readonly tenant: string;
  readonly nonce: string | undefined;
  /** Undefined: RS256, which every client knows. */
  readonly alg?: SigningAlg | undefined;
  /** The token that is issued with it, if any. */
  readonly accessToken: string | undefined;
  readonly basis: Omit<HintBasis, "endsAtMs"> & { readonly endsAtMs: number | undefined };
}

/** The things that an ID token depends on, and the bounds of tokens for it as a hint. */
export interface HintBasis {
  readonly grantId: string;
  readonly sessionId: string;
  /** The tenant of the grant. */
  readonly grantTenant: string;
  /** The service scopes of the grant, and `profile` and `email` if it has them. */
  readonly scopes: readonly string[];
  readonly endsAtMs: number;
  /** As in IssuedToken. */
  readonly recordsAsOfMs: number;
  readonly userAsOfMs: number;
}

export async function issueIdToken(token: NewIdToken, from: Issuer, trust: Trust, nowMs: number): Promise<string> {
  const alg = token.alg ?? ID_TOKEN_ALG;
  const signer = await trust.signingKey(nowMs, alg);
  const issuedAtSec = toSec(nowMs);
  const { basis } = token;
  const claims = {
    iss: from.issuer,
    aud: token.clientId,
    sub: token.subject,
    iat: issuedAtSec,
    exp: Math.min(issuedAtSec + ID_TOKEN_LIFETIME_SEC, toSec(basis.endsAtMs ?? Infinity)),
    ...emailClaims(token.email, token.emailVerified),
    ...profileClaims(token.profile),
    tenant: token.tenant,
    auth_time: toSec(authTimeMs(token)),
    auth_ms: token.authenticatedAtMs,
    ...methodClaims(token),
    ...(token.accessToken === undefined ? {} : { at_hash: await hashOf(token.accessToken) }),
    ...(token.nonce === undefined ? {} : { nonce: token.nonce }),
    gid: basis.grantId,
    sid: basis.sessionId,
    scope: basis.scopes.join(" "),
    ...(basis.grantTenant === token.tenant ? {} : { grant_tenant: basis.grantTenant }),
    asof: basis.recordsAsOfMs,
    user_asof: basis.userAsOfMs,
  };
  return signJwt({ alg, typ: TYPE, kid: signer.kid }, claims, signer.key);
}

/** OIDC Core 3.1.3.6. */
const hashOf = async (accessToken: string): Promise<string> => toBase64Url((await sha256(accessToken)).slice(0, 16));

/** Clients refuse people with `email_verified: false`, so the claim is true or absent. */
export const emailClaims = (email: string, isVerified: boolean): object => ({
  email,
  ...(isVerified ? { email_verified: true } : {}),
});

export interface IdTokenHint extends SignInTimes {
  readonly clientId: string;
  readonly email: string;
  /** The tenant of the token itself. */
  readonly tenant: string;
  readonly expired: boolean;
  readonly alg: SigningAlg;
  /** Undefined in a token of an earlier version. */
  readonly basis: HintBasis | undefined;
}

interface Claims {
  readonly auth_ms?: unknown;
  readonly auth_time?: unknown;
  readonly email?: unknown;
  readonly tenant?: string;
  readonly amr?: Methods;
  readonly gid?: string;
  readonly sid?: string;
  readonly scope?: string;
  readonly grant_tenant?: string;
  readonly asof?: number;
  readonly user_asof?: number;
}

/** Reads an ID token that a client returns, even an expired one. The error says why, for the log. */
export async function readIdTokenHint(
  token: string,
  issuer: string,
  trust: Trust,
  nowMs: number,
): Promise<Result<IdTokenHint, string>> {
  const alg = algOf(token);
  const kind: Kind = { alg, typ: TYPE, requiredClaims: REQUIRED_CLAIMS, issuer, expired: "taken" };
  const read = await readOwnToken<Claims>(token, kind, trust, nowMs);
  if (!read.ok) return err(read.error.reason);
  const { aud, email, exp = 0, auth_ms: authMs, auth_time: authTime } = read.value;
  if (
    typeof aud !== "string" ||
    typeof email !== "string" ||
    typeof authMs !== "number" ||
    typeof authTime !== "number"
  )
    return err("claims are missing");
  const times = { authenticatedAtMs: authMs, provenAtMs: authTime === toSec(authMs) ? undefined : authTime * 1000 };
  const { tenant = "", amr: methods } = read.value;
  return ok({
    clientId: aud,
    alg,
    email,
    tenant,
    methods,
    expired: exp <= toSec(nowMs),
    basis: readBasis(read.value, tenant, exp),
    ...times,
  });
}

/** True if the platform signs ID tokens of this client so. */
export const isSignedFor = ({ alg }: Pick<IdTokenHint, "alg">, { isFapi }: { readonly isFapi?: boolean }): boolean =>
  alg === ID_TOKEN_ALG || isFapi === true;

/** Both kinds of our keys sign ID tokens, each for its own clients (`isSignedFor`). */
function algOf(token: string): SigningAlg {
  try {
    return decodeProtectedHeader(token).alg === FAPI_ID_TOKEN_ALG ? FAPI_ID_TOKEN_ALG : ID_TOKEN_ALG;
  } catch {
    return ID_TOKEN_ALG;
  }
}

function readBasis(
  { gid, sid, scope, grant_tenant: grantTenant, asof, user_asof: userAsOf }: Claims,
  tenant: string,
  exp: number,
): HintBasis | undefined {
  if (gid === undefined || sid === undefined || asof === undefined || userAsOf === undefined) return undefined;
  return {
    grantId: gid,
    sessionId: sid,
    grantTenant: grantTenant ?? tenant,
    scopes: (scope ?? "").split(" ").filter((one) => one !== ""),
    endsAtMs: exp * 1000,
    recordsAsOfMs: asof,
    userAsOfMs: userAsOf,
  };
}
