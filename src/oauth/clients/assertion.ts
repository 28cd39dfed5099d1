import {
  createLocalJWKSet,
  decodeJwt,
  errors as joseErrors,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyResult,
} from "jose";
import { MAX_TOKEN_CHARS } from "../../http/callers/auth.ts";
import { toSec } from "../../platform/runtime/clock.ts";
import { utf8 } from "../../platform/text/encoding.ts";
import { sha256Hex } from "../../platform/secrets/hash.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";
import type { Addresses, AnyCall } from "../model/call.ts";
import type { AssertionStore } from "./assertion-store.ts";
import type { ClientKeys } from "./client-keys.ts";
import type { ClientRecord } from "./directory-store.ts";
import { openSecrets } from "./mac-secret.ts";

/**
 * Client authentication by a signed assertion (RFC 7523; `private_key_jwt` and `client_secret_jwt` of OIDC Core 9).
 *
 *   sent ──signed by a key or a secret of the client, for this server, in time──▶ good ──its `jti` is new──▶ used
 *                                                                                         └── used before: refused
 *
 * The registration decides between keys and secrets. The header only selects one of them and an algorithm below, so a
 * public key is never used as a secret. A used assertion is remembered until it expires, so it cannot be replayed.
 */
export const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** Only the holder of a private key can sign with these (RFC 8725 3.1). */
export const ASSERTION_ALGS: readonly string[] = [
  "ES256",
  "ES384",
  "ES512",
  "PS256",
  "PS384",
  "PS512",
  "RS256",
  "RS384",
  "RS512",
  "Ed25519",
  "EdDSA",
];
/** For secrets. HS384 and HS512 need longer keys (RFC 7518 3.2): a client's secret may have only 32 characters. */
export const MAC_ALGS: readonly string[] = ["HS256"];
/** Those of FAPI 2.0 (5.4.1). */
const FAPI_ALGS: readonly string[] = ["ES256", "PS256", "Ed25519", "EdDSA"];
/** Other kinds of signed tokens have types of their own (RFC 8725 3.11). */
const TYPES: readonly string[] = ["jwt", "client-authentication+jwt"];
/** The largest accepted difference between clocks. */
const CLOCK_TOLERANCE_SEC = 60;
/** Our choice. Clients make one for each request, and libraries let it live for 1 to 10 minutes. */
const MAX_LIFETIME_SEC = 600;
const MAX_JTI_CHARS = 256;

export interface AssertionDeps extends Pick<Addresses, "issuerFor"> {
  readonly clientKeys: ClientKeys;
  readonly usedAssertions: Pick<AssertionStore, "use">;
  readonly sealer: Sealer;
}

/** True if the client authenticates by assertions only. */
export const signsAssertions = ({ authMethod }: Pick<ClientRecord, "authMethod">): boolean =>
  authMethod === "private_key_jwt" || authMethod === "client_secret_jwt";

/** The client that an assertion names, before anything is checked. */
export function namedByAssertion(assertion: string): string | undefined {
  if (assertion.length > MAX_TOKEN_CHARS) return undefined;
  try {
    // Nobody has checked its type: the database would refuse a list, and an isolate counts that as a fault of D1.
    const named: unknown = decodeJwt(assertion).sub;
    return typeof named === "string" ? named : undefined;
  } catch {
    return undefined;
  }
}

/** Checks the assertion and uses it up. The error is the reason, for the log. */
export async function checkAssertion(
  deps: AssertionDeps,
  client: ClientRecord,
  assertion: string,
  call: AnyCall,
): Promise<Result<true, string>> {
  const { nowMs } = call;
  const verify = client.authMethod === "client_secret_jwt" ? verifyBySecrets : verifyByKeys;
  const verified = await verify(deps, client, assertion, nowMs);
  if (!verified.ok) return err(`the assertion is refused: ${verified.error.reason}`);
  const { aud, exp = 0, iat, jti } = verified.value;
  if (!(client.isFapi === true ? aud === deps.issuerFor(call).issuer : isForUs(aud, deps, call)))
    return err("the assertion is for another server");
  const nowSec = toSec(nowMs);
  if (exp > nowSec + MAX_LIFETIME_SEC + CLOCK_TOLERANCE_SEC) return err("the assertion lives too long");
  if (iat !== undefined && iat > nowSec + CLOCK_TOLERANCE_SEC) return err("the assertion is of the future");
  if (typeof jti !== "string" || jti === "" || jti.length > MAX_JTI_CHARS)
    return err("the assertion has no usable jti");
  const digest = await sha256Hex(JSON.stringify([client.id, jti]));
  const isNew = await deps.usedAssertions.use(digest, (exp + CLOCK_TOLERANCE_SEC) * 1000);
  return isNew ? ok(true) : err("the assertion was used before");
}

/** The issuer, the token endpoint, or the endpoint that is asked. FAPI 2.0 (5.3.2.1) takes the issuer alone. */
function isForUs(aud: JWTPayload["aud"], deps: Pick<AssertionDeps, "issuerFor">, call: AnyCall): boolean {
  const { issuer } = deps.issuerFor(call);
  const ours = [issuer, `${issuer}/token`, `${call.url.origin}${call.url.pathname}`];
  const named = typeof aud === "string" ? [aud] : (aud ?? []);
  return named.some((one) => ours.includes(one));
}

interface Refused {
  readonly reason: string;
  readonly unknownKey: boolean;
}

async function verifyByKeys(
  { clientKeys }: Pick<AssertionDeps, "clientKeys">,
  client: ClientRecord,
  assertion: string,
  nowMs: number,
): Promise<Result<JWTPayload, Refused>> {
  const algorithms = client.isFapi === true ? FAPI_ALGS : ASSERTION_ALGS;
  const verify = (key: JWTVerifyGetKey) =>
    payloadOf(client, nowMs, (options) => jwtVerify(assertion, key, { ...options, algorithms: [...algorithms] }));
  const keys = await clientKeys.find(client, nowMs, "known");
  if (!keys.ok) return err({ reason: keys.error, unknownKey: false });
  const first = await verify(createLocalJWKSet(keys.value));
  if (first.ok || !first.error.unknownKey) return first;
  // The client may have changed its keys.
  const renewed = await clientKeys.find(client, nowMs, "newer");
  return renewed.ok && renewed.value !== keys.value ? verify(createLocalJWKSet(renewed.value)) : first;
}

/** Two secrets are valid during a rotation. */
async function verifyBySecrets(
  { sealer }: Pick<AssertionDeps, "sealer">,
  client: ClientRecord,
  assertion: string,
  nowMs: number,
): Promise<Result<JWTPayload, Refused>> {
  let refused: Result<JWTPayload, Refused> = err({ reason: "the client has no secret", unknownKey: true });
  for (const secret of await openSecrets(sealer, client.sealedSecrets ?? [])) {
    if (secret === undefined) {
      refused = err({ reason: "SEAL_KEYS lacks the key that sealed the client's secret", unknownKey: true });
      continue;
    }
    const one = await payloadOf(client, nowMs, (options) =>
      jwtVerify(assertion, utf8(secret), { ...options, algorithms: [...MAC_ALGS] }),
    );
    if (one.ok || !one.error.unknownKey) return one;
    refused = one;
  }
  return refused;
}

interface VerifyOptions {
  issuer: string;
  subject: string;
  currentDate: Date;
  clockTolerance: number;
  requiredClaims: string[];
}

async function payloadOf(
  { id }: Pick<ClientRecord, "id">,
  nowMs: number,
  verify: (options: VerifyOptions) => Promise<JWTVerifyResult>,
): Promise<Result<JWTPayload, Refused>> {
  try {
    const { payload, protectedHeader } = await verify({
      issuer: id,
      subject: id,
      currentDate: new Date(nowMs),
      clockTolerance: CLOCK_TOLERANCE_SEC,
      requiredClaims: ["exp", "jti", "aud"],
    });
    const type = (protectedHeader.typ ?? "jwt").toLowerCase().replace(/^application\//, "");
    return TYPES.includes(type) ? ok(payload) : err({ reason: "it is of another type", unknownKey: false });
  } catch (thrown) {
    if (thrown instanceof joseErrors.JOSEError || thrown instanceof TypeError || thrown instanceof DOMException) {
      const unknownKey =
        thrown instanceof joseErrors.JWKSNoMatchingKey || thrown instanceof joseErrors.JWSSignatureVerificationFailed;
      return err({ reason: thrown.message, unknownKey });
    }
    throw thrown;
  }
}
