import { decodeProtectedHeader, errors as joseErrors, jwtVerify, type JWTPayload } from "jose";
import { fromBase64Url, toBase64Url, utf8 } from "../../platform/encoding.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import type { SigningAlg } from "./signing-key.ts";
import type { Trust } from "./trust.ts";

/**
 * Reads a token that came back from outside, by the rules of its kind (RFC 8725): the kind says the algorithm, the type
 * and the claims, the `kid` picks one of our own keys, made for that algorithm. Nothing else of the header is believed:
 * no key in it is used, no address in it fetched, and an extension that it calls critical is refused.
 */
export interface Kind {
  readonly alg: SigningAlg;
  /** `typ` of the header; each kind has its own, so that none passes for another. */
  readonly typ: string;
  readonly requiredClaims: readonly string[];
  /** Undefined: not compared. */
  readonly issuer?: string;
  readonly audience?: string;
  /** Whether a token past its end is taken. */
  readonly expired: "refused" | "taken";
}

export interface Fault {
  readonly kind: "malformed" | "expired";
  /** For the log. */
  readonly reason: string;
}

export async function readOwnToken<Claims>(
  token: string,
  kind: Kind,
  trust: Pick<Trust, "verifyKey">,
  nowMs: number,
): Promise<Result<JWTPayload & Claims, Fault>> {
  const refuse = (reason: string): Result<never, Fault> => err({ kind: "malformed", reason });
  if (!isCanonical(token)) return refuse("not three parts of canonical base64url");
  try {
    const { kid } = decodeProtectedHeader(token);
    const key = kid === undefined ? undefined : await trust.verifyKey(kid, kind.alg, nowMs);
    if (key === undefined) return refuse("signed with a key that is not ours");
    const { payload } = await jwtVerify<Claims>(token, key, {
      algorithms: [kind.alg],
      typ: kind.typ,
      requiredClaims: [...kind.requiredClaims],
      currentDate: new Date(nowMs),
      ...(kind.issuer === undefined ? {} : { issuer: kind.issuer }),
      ...(kind.audience === undefined ? {} : { audience: kind.audience }),
      ...(kind.expired === "taken" ? { clockTolerance: Number.MAX_SAFE_INTEGER } : {}),
    });
    return ok(payload);
  } catch (thrown) {
    if (thrown instanceof joseErrors.JWTExpired) return err({ kind: "expired", reason: thrown.message });
    if (thrown instanceof joseErrors.JOSEError || thrown instanceof TypeError) return refuse(thrown.message);
    throw thrown;
  }
}

/** Libraries accept several spellings of one token (padding, spare bits); we accept one. */
function isCanonical(token: string): boolean {
  const parts = token.split(".");
  return parts.length === 3 && parts.every((part) => part !== "" && fromBase64Url(part) !== undefined);
}

/**
 * A signed token as its compact text (RFC 7515 3.1, RFC 7519 7.1). Our own few lines: they know the two algorithms that
 * we sign with, and take two thirds of the time of a library that takes all there are. What comes back is read by the
 * library (jwt.ts). `key` was made for the header's algorithm.
 */
export async function signJwt(
  header: { readonly alg: SigningAlg; readonly typ: string; readonly kid: string },
  claims: Readonly<Record<string, unknown>>,
  key: CryptoKey,
): Promise<string> {
  const signed = `${encode(header)}.${encode(claims)}`;
  const signature = await crypto.subtle.sign(METHODS[header.alg], key, utf8(signed));
  return `${signed}.${toBase64Url(new Uint8Array(signature))}`;
}

/** As WebCrypto names them (RFC 7518 3.3, 3.4). */
const METHODS: Readonly<Record<SigningAlg, SubtleCryptoSignAlgorithm>> = {
  ES256: { name: "ECDSA", hash: "SHA-256" },
  RS256: { name: "RSASSA-PKCS1-v1_5" },
};

const encode = (part: object): string => toBase64Url(utf8(JSON.stringify(part)));
