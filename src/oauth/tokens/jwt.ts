import { decodeProtectedHeader, errors as joseErrors, jwtVerify, type JWTPayload } from "jose";
import { fromBase64Url, toBase64Url, utf8 } from "../../platform/text/encoding.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { SigningAlg } from "./keys/signing-key.ts";
import type { Trust } from "./trust.ts";

/**
 * Reads a token of ours by the rules of its kind (RFC 8725). The kind sets the algorithm, the type and the claims;
 * `kid` selects one of our own keys, made for that algorithm. Nothing else in the header is trusted: no key in it is
 * used, no address in it is fetched, and a critical extension is refused.
 */
export interface Kind {
  readonly alg: SigningAlg;
  /** The header's `typ`. Each kind has its own, so none passes for another. */
  readonly typ: string;
  readonly requiredClaims: readonly string[];
  /** Undefined: not compared. */
  readonly issuer?: string;
  readonly audience?: string;
  /** Accepts or refuses an expired token. */
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

/** Libraries accept several spellings of a token (padding, spare bits). We accept one. */
function isCanonical(token: string): boolean {
  const parts = token.split(".");
  return parts.length === 3 && parts.every((part) => part !== "" && fromBase64Url(part) !== undefined);
}

/**
 * Signs a token in compact form (RFC 7515 3.1, RFC 7519 7.1). These lines know our two algorithms and take two thirds
 * of the time of a general library. The library reads tokens that come back (`readOwnToken`). `key` must fit the
 * algorithm.
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

/** The names in WebCrypto (RFC 7518 3.3, 3.4). */
const METHODS: Readonly<Record<SigningAlg, SubtleCryptoSignAlgorithm>> = {
  ES256: { name: "ECDSA", hash: "SHA-256" },
  RS256: { name: "RSASSA-PKCS1-v1_5" },
};

const encode = (part: object): string => toBase64Url(utf8(JSON.stringify(part)));
