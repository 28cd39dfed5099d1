import {
  calculateJwkThumbprint,
  EmbeddedJWK,
  errors as joseErrors,
  jwtVerify,
  type JWK,
  type JWTVerifyResult,
} from "jose";
import { MAX_TOKEN_CHARS } from "../../http/callers/auth.ts";
import { PROOF_ALGS, type ProofFault, type ProofVerifier, type ProvenRequest } from "../../http/callers/proof.ts";
import { toSec } from "../../platform/runtime/clock.ts";
import { fromBase64Url, toBase64Url, utf8 } from "../../platform/text/encoding.ts";
import { equalDigests, sha256 } from "../../platform/secrets/hash.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";

/**
 * Proofs of possession (DPoP, RFC 9449): with each request the client signs method, address, time, a nonce of ours and
 * the token, by the key that the token is bound to. A stolen token is worth nothing without the key.
 *
 *   proof ──typ, key, signature──▶ signed ──method, address, time, token──▶ for this request ──nonce──▶ fresh ──▶ new
 *     └──────────────┴────────────────────────┴─▶ wrong                       └─▶ use_dpop_nonce   used before: wrong
 *
 * A nonce is a time with a MAC, so every isolate accepts every nonce, and none is stored. It limits the use of proofs
 * that were made in advance. The isolate that saw a proof refuses its repeat. In another isolate, it is valid for the
 * same request once more, within a minute: a list in D1 would cost a write for each request.
 */
const TYPE = "dpop+jwt";
/** The largest accepted age of a proof, and the largest difference between clocks. */
const MAX_AGE_SEC = 60;
const NONCE_LIFETIME_SEC = 300;
/** From this age on an answer brings the next nonce. */
const NONCE_RENEWED_SEC = 150;
const NONCE_PURPOSE = "nonce of a proof";
const MAX_JTI_CHARS = 256;
/** The most proofs in memory, of about 100 bytes each. */
const MAX_SEEN = 20_000;

export function createProofVerifier(sealer: Pick<Sealer, "macKeys">): ProofVerifier {
  const nonces = createNonces(sealer);
  const seen = createSeen();
  return {
    async check(proof, request, nowMs) {
      const refuse = async (kind: ProofFault["kind"], reason: string): Promise<Result<never, ProofFault>> =>
        err({ kind, reason, nonce: await nonces.current(nowMs) });
      const verified = await verify(proof, nowMs);
      if (!verified.ok) return refuse("wrong", verified.error);
      const { payload, protectedHeader } = verified.value;
      const fault = await claimFault(payload, request, nowMs);
      if (fault !== undefined) return refuse("wrong", fault);
      const { nonce, jti = "" } = payload;
      const nonceAgeSec = typeof nonce === "string" ? await nonces.ageSec(nonce, nowMs) : undefined;
      if (nonceAgeSec === undefined)
        return refuse("nonce", nonce === undefined ? "no nonce" : "the nonce is not fresh");
      const key = await calculateJwkThumbprint(protectedHeader.jwk as JWK);
      if (!seen.isNew(`${key} ${jti}`, nowMs)) return refuse("wrong", "the proof was used before");
      return ok({ key, nextNonce: nonceAgeSec < NONCE_RENEWED_SEC ? undefined : await nonces.current(nowMs) });
    },
  };
}

async function verify(proof: string, nowMs: number): Promise<Result<JWTVerifyResult, string>> {
  if (proof.length > MAX_TOKEN_CHARS) return err("the proof is too long");
  try {
    return ok(
      await jwtVerify(proof, EmbeddedJWK, {
        typ: TYPE,
        algorithms: [...PROOF_ALGS],
        requiredClaims: ["jti", "htm", "htu", "iat"],
        currentDate: new Date(nowMs),
        clockTolerance: MAX_AGE_SEC,
      }),
    );
  } catch (thrown) {
    if (thrown instanceof joseErrors.JOSEError || thrown instanceof TypeError || thrown instanceof DOMException)
      return err(thrown.message);
    throw thrown;
  }
}

async function claimFault(
  { htm, htu, iat = 0, jti, ath }: Readonly<Record<string, unknown>> & { readonly iat?: number },
  { method, url, token }: ProvenRequest,
  nowMs: number,
): Promise<string | undefined> {
  if (typeof jti !== "string" || jti === "" || jti.length > MAX_JTI_CHARS) return "no usable jti";
  if (htm !== method) return "the proof is for another method";
  if (typeof htu !== "string" || addressOf(URL.parse(htu)) !== addressOf(url))
    return "the proof is for another address";
  if (Math.abs(toSec(nowMs) - iat) > MAX_AGE_SEC) return "the proof is of another time";
  if (token === undefined) return undefined;
  const digest = toBase64Url(await sha256(token));
  return typeof ath === "string" && equalDigests(ath, digest) ? undefined : "the proof is for another token";
}

/** The address without query and fragment (RFC 9449 4.3), normalized by `URL`. */
const addressOf = (url: URL | null): string | undefined => (url === null ? undefined : `${url.origin}${url.pathname}`);

/** `<time>.<MAC>`, both base64url. */
function createNonces(sealer: Pick<Sealer, "macKeys">) {
  const sign = async (key: CryptoKey, time: string): Promise<string> =>
    toBase64Url(new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8(time))).slice(0, 16));
  let made = { atSec: Number.NEGATIVE_INFINITY, nonce: "" };
  return {
    async current(nowMs: number): Promise<string> {
      const nowSec = toSec(nowMs);
      if (Math.abs(nowSec - made.atSec) < 30) return made.nonce;
      const [key] = await sealer.macKeys(NONCE_PURPOSE);
      const time = toBase64Url(utf8(String(nowSec)));
      made = { atSec: nowSec, nonce: `${time}.${await sign(key!, time)}` };
      return made.nonce;
    },
    /** The age of a nonce; undefined if it is not ours, or too old. */
    async ageSec(nonce: string, nowMs: number): Promise<number | undefined> {
      const [time = "", mac = ""] = nonce.split(".");
      const bytes = fromBase64Url(time);
      const ageSec = toSec(nowMs) - Number(bytes === undefined ? "" : new TextDecoder().decode(bytes));
      if (!(ageSec > -MAX_AGE_SEC && ageSec < NONCE_LIFETIME_SEC)) return undefined;
      for (const key of await sealer.macKeys(NONCE_PURPOSE))
        if (equalDigests(await sign(key, time), mac)) return ageSec;
      return undefined;
    },
  };
}

/** The proofs that this isolate saw, the newest ones. */
function createSeen() {
  const seen = new Map<string, number>();
  return {
    isNew(proof: string, nowMs: number): boolean {
      const untilMs = seen.get(proof);
      if (untilMs !== undefined && untilMs > nowMs) return false;
      seen.delete(proof);
      seen.set(proof, nowMs + 2 * MAX_AGE_SEC * 1000);
      const [oldest] = seen.keys();
      if (seen.size > MAX_SEEN) seen.delete(oldest!);
      return true;
    },
  };
}
