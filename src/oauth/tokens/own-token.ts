import { decodeProtectedHeader, errors as joseErrors, jwtVerify, type JWTPayload } from "jose";
import { fromBase64Url } from "../../platform/encoding.ts";
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
