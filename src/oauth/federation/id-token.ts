import { errors as joseErrors, jwtVerify, type JWTPayload, type JWTVerifyResult } from "jose";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { denied, type FederationFailure } from "../model/provider-failure.ts";
import type { KeySet, ProviderKeys } from "./keys.ts";

/** Algorithms that only the provider can sign with: no shared secret, not `none` (RFC 8725 3.1). */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "Ed25519",
  "EdDSA",
];
/** The largest accepted difference between clocks. */
const CLOCK_TOLERANCE_SEC = 60;
/** A token for this sign-in was made during it. */
const MAX_AGE_SEC = 600;

export interface ExpectedIdToken {
  readonly issuer: string;
  readonly clientId: string;
  readonly nonce: string;
  /** The user must have signed in at this time or later, in seconds. Undefined: an older session is accepted. */
  readonly authenticatedSinceSec: number | undefined;
  /** Refuses a token without `auth_time`, because the request had `max_age` (OIDC Core 3.1.3.7). */
  readonly needsAuthTime: boolean;
}

export interface IdTokenClaims extends JWTPayload {
  readonly sub: string;
}

/** Validates a provider's ID token (OIDC Core 3.1.3.7). */
export async function verifyIdToken(
  token: string,
  expected: ExpectedIdToken,
  keys: { readonly find: ProviderKeys["find"]; readonly jwksUri: string },
  nowMs: number,
): Promise<Result<IdTokenClaims, FederationFailure>> {
  const known = await keys.find(keys.jwksUri, nowMs, "known");
  if (!known.ok) return known;
  const first = await verify(token, expected, known.value.find, nowMs);
  if (first.ok || !isKeyError(first.error) || !known.value.kept) return checkResult(first, expected);
  // The provider may have changed its keys. It is asked once more for this sign-in.
  const renewed = await keys.find(keys.jwksUri, nowMs, "now");
  if (!renewed.ok) return renewed;
  return checkResult(await verify(token, expected, renewed.value.find, nowMs), expected);
}

async function verify(
  token: string,
  { issuer, clientId }: ExpectedIdToken,
  find: KeySet["find"],
  nowMs: number,
): Promise<Result<JWTVerifyResult, Error>> {
  try {
    const verified = await jwtVerify(token, find, {
      algorithms: ALGORITHMS,
      issuer,
      audience: clientId,
      currentDate: new Date(nowMs),
      clockTolerance: CLOCK_TOLERANCE_SEC,
      maxTokenAge: MAX_AGE_SEC,
      requiredClaims: ["exp", "iat", "sub", "nonce"],
    });
    return ok(verified);
  } catch (thrown) {
    // A key that cannot be imported is the provider's fault too.
    if (thrown instanceof joseErrors.JOSEError || thrown instanceof TypeError || thrown instanceof DOMException)
      return err(thrown);
    throw thrown;
  }
}

const isKeyError = (error: Error): boolean =>
  error instanceof joseErrors.JWKSNoMatchingKey || error instanceof joseErrors.JWSSignatureVerificationFailed;

function checkResult(
  verified: Result<JWTVerifyResult, Error>,
  expected: ExpectedIdToken,
): Result<IdTokenClaims, FederationFailure> {
  if (!verified.ok) return denied(`the ID token is refused: ${verified.error.message}`);
  const fault = claimFault(verified.value, expected);
  return fault === undefined ? ok(verified.value.payload as IdTokenClaims) : denied(`the ID token ${fault}`);
}

function claimFault({ payload, protectedHeader }: JWTVerifyResult, expected: ExpectedIdToken): string | undefined {
  const { aud, azp, nonce, auth_time: authTime } = payload;
  // A large number would be another one in JavaScript, and so another account.
  const sub: unknown = payload.sub;
  // Another kind of token of the same provider (RFC 8725 3.11).
  if (protectedHeader.typ !== undefined && !/^(application\/)?jwt$/i.test(protectedHeader.typ))
    return "is of another type";
  if (typeof aud !== "string" && aud?.length !== 1) return "has more than one audience";
  if (azp !== undefined && azp !== expected.clientId) return "was issued to another client";
  if (nonce !== expected.nonce) return "has another nonce";
  if (typeof sub !== "string" || sub === "") return "has no sub";
  if (authTime === undefined && !expected.needsAuthTime) return undefined;
  if (typeof authTime !== "number") return "does not say when the user signed in";
  if (authTime + CLOCK_TOLERANCE_SEC < (expected.authenticatedSinceSec ?? authTime)) return "is of an older sign-in";
  return undefined;
}
