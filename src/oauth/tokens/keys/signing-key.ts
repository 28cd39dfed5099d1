import { toBase64Url } from "../../../platform/text/encoding.ts";
import { sha256 } from "../../../platform/secrets/hash.ts";
import type { Sealer } from "../../../platform/secrets/seal.ts";
import type { NewKey, PublicJwk } from "./key-store.ts";

/**
 * Makes, seals and opens signing keys. Each key is for one algorithm, so no token chooses how it is verified (RFC 8725
 * 3.1). The private half leaves this file only sealed or as a key that cannot be exported.
 */
export const ACCESS_TOKEN_ALG = "ES256";
export const ID_TOKEN_ALG = "RS256";
/** FAPI 2.0 (5.4.1) takes no RS256. */
export const FAPI_ID_TOKEN_ALG = "ES256";
export const SIGNING_ALGS = [ACCESS_TOKEN_ALG, ID_TOKEN_ALG] as const;
export type SigningAlg = (typeof SIGNING_ALGS)[number];

/** The WebCrypto parameters, and the members that identify a public key (RFC 7638). */
const ALGORITHMS = {
  ES256: {
    webCrypto: { name: "ECDSA", namedCurve: "P-256" },
    make: { name: "ECDSA", namedCurve: "P-256" },
    members: ["crv", "kty", "x", "y"],
  },
  RS256: {
    webCrypto: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
    make: {
      name: "RSASSA-PKCS1-v1_5",
      hash: "SHA-256",
      modulusLength: 2048,
      publicExponent: new Uint8Array([1, 0, 1]),
    },
    members: ["e", "kty", "n"],
  },
} as const;

export async function makeKey(alg: SigningAlg, sealer: Sealer): Promise<NewKey> {
  const { make, members } = ALGORITHMS[alg];
  const pair = (await crypto.subtle.generateKey(make, true, ["sign", "verify"])) as CryptoKeyPair;
  const exported = (await exportJwk(pair.publicKey)) as unknown as Record<string, string>;
  const named = Object.fromEntries(members.map((member) => [member, exported[member]]));
  const kid = toBase64Url(await sha256(JSON.stringify(named))).slice(0, 16);
  const publicJwk = { ...named, kid, alg, use: "sig" } as unknown as PublicJwk;
  const sealedPrivateJwk = await sealer.seal(JSON.stringify(await exportJwk(pair.privateKey)), keySealContext(kid));
  return { kid, alg, publicJwk, sealedPrivateJwk };
}

export async function openPrivateKey(key: NewKey, sealer: Sealer): Promise<CryptoKey> {
  const jwk = await sealer.open(key.sealedPrivateJwk, keySealContext(key.kid));
  if (jwk === undefined)
    throw new Error(`signing key ${key.kid} does not open: SEAL_KEYS lacks the key that sealed it`);
  if (!isKnown(key.alg)) throw new Error(`signing key ${key.kid} is for ${key.alg}, which this version does not know`);
  const { webCrypto } = ALGORITHMS[key.alg];
  return crypto.subtle.importKey("jwk", JSON.parse(jwk) as JsonWebKey, webCrypto, false, ["sign"]);
}

/** Undefined for an algorithm of another version of the platform. */
export const importVerifyKey = async ({ alg, publicJwk }: NewKey): Promise<CryptoKey | undefined> =>
  isKnown(alg) ? crypto.subtle.importKey("jwk", publicJwk, ALGORITHMS[alg].webCrypto, false, ["verify"]) : undefined;

const isKnown = (alg: string): alg is SigningAlg => Object.hasOwn(ALGORITHMS, alg);

const exportJwk = async (key: CryptoKey): Promise<JsonWebKey> =>
  (await crypto.subtle.exportKey("jwk", key)) as JsonWebKey;

/** A sealed key that is copied to another row does not open. */
export const keySealContext = (kid: string): string => `signing_key:${kid}`;
