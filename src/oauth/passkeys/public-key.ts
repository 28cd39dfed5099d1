import { toBase64Url } from "../../platform/text/encoding.ts";

/** A public key as it is stored: a JSON Web Key with its algorithm. */
export interface StoredKey extends JsonWebKey {
  readonly alg: "ES256" | "EdDSA" | "RS256";
}

/** COSE's numbers of the algorithms (RFC 9053), the preferred one first. */
export const COSE_ALGS = [-7, -8, -257] as const;

/** Labels of a COSE key (RFC 9052 7, RFC 9053 7, RFC 8230 4). */
const LABEL = { type: 1, alg: 3, curve: -1, x: -2, y: -3, modulus: -1, exponent: -2 } as const;
const TYPE = { octets: 1, elliptic: 2, rsa: 3 } as const;
const CURVE = { p256: 1, ed25519: 6 } as const;
const COORDINATE_BYTES = 32;
/** 2048 to 4096 bits. */
const MODULUS_BYTES = { min: 256, max: 512 } as const;

/** Undefined if it is no key of an algorithm above. */
export function readCoseKey(cose: ReadonlyMap<unknown, unknown>): StoredKey | undefined {
  const bytes = (label: number): Uint8Array => {
    const value = cose.get(label);
    return value instanceof Uint8Array ? value : new Uint8Array();
  };
  const is = (type: number, alg: number, curve?: number): boolean =>
    cose.get(LABEL.type) === type &&
    cose.get(LABEL.alg) === alg &&
    (curve === undefined || cose.get(LABEL.curve) === curve);
  const [x, y] = [bytes(LABEL.x), bytes(LABEL.y)];
  if (is(TYPE.elliptic, -7, CURVE.p256) && x.length === COORDINATE_BYTES && y.length === COORDINATE_BYTES)
    return { kty: "EC", crv: "P-256", alg: "ES256", x: toBase64Url(x), y: toBase64Url(y) };
  if (is(TYPE.octets, -8, CURVE.ed25519) && x.length === COORDINATE_BYTES)
    return { kty: "OKP", crv: "Ed25519", alg: "EdDSA", x: toBase64Url(x) };
  const [modulus, exponent] = [bytes(LABEL.modulus), bytes(LABEL.exponent)];
  const isSized = modulus.length >= MODULUS_BYTES.min && modulus.length <= MODULUS_BYTES.max;
  if (is(TYPE.rsa, -257) && isSized && exponent.length > 0 && exponent.length <= 4)
    return { kty: "RSA", alg: "RS256", n: toBase64Url(modulus), e: toBase64Url(exponent) };
  return undefined;
}

const IMPORT = {
  ES256: { name: "ECDSA", namedCurve: "P-256" },
  EdDSA: { name: "Ed25519" },
  RS256: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
} as const;
const VERIFY = {
  ES256: { name: "ECDSA", hash: "SHA-256" },
  EdDSA: { name: "Ed25519" },
  RS256: { name: "RSASSA-PKCS1-v1_5" },
} as const;

/** Undefined if the numbers are no key, such as a point beside the curve. */
export async function importKey({ alg, ...jwk }: StoredKey): Promise<CryptoKey | undefined> {
  try {
    return await crypto.subtle.importKey("jwk", jwk, IMPORT[alg], false, ["verify"]);
  } catch {
    return undefined;
  }
}

export async function verifySignature(
  key: StoredKey,
  signature: Uint8Array<ArrayBuffer>,
  data: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const imported = await importKey(key);
  const raw = key.alg === "ES256" ? readDer(signature) : signature;
  return imported !== undefined && raw !== undefined && crypto.subtle.verify(VERIFY[key.alg], imported, raw, data);
}

/** An ECDSA signature in DER (RFC 3279 2.2.3), as the two numbers of 32 bytes that Web Crypto takes. */
function readDer(der: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return undefined;
  const raw = new Uint8Array(2 * COORDINATE_BYTES);
  let at = 2;
  for (const end of [COORDINATE_BYTES, 2 * COORDINATE_BYTES]) {
    const length = der[at + 1] ?? 0;
    const number = der.slice(at + 2, at + 2 + length);
    if (der[at] !== 0x02 || length === 0 || number.length !== length) return undefined;
    const digits = number[0] === 0 ? number.slice(1) : number;
    if (digits.length > COORDINATE_BYTES) return undefined;
    raw.set(digits, end - digits.length);
    at += 2 + length;
  }
  return at === der.length ? raw : undefined;
}
