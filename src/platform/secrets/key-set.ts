import { err, ok, type Result } from "../model/result.ts";
import { isObject } from "../text/json.ts";

/** A JSON Web Key (RFC 7517) with a public key. */
export interface PublicKey {
  readonly kty: string;
  readonly [name: string]: unknown;
}
export interface KeySet {
  keys: PublicKey[];
}

const MAX_KEY_SET_CHARS = 32 * 1024;
const MAX_KEYS = 20;
const KINDS: readonly unknown[] = ["EC", "RSA", "OKP"];

/** Parses a set of public keys. The error is to follow the name of the field. */
export function parseKeySet(text: string): Result<KeySet, string> {
  if (text.length > MAX_KEY_SET_CHARS) return err(`must have at most ${MAX_KEY_SET_CHARS} characters`);
  const keys = parse(text);
  if (keys === undefined) return err('must be a JSON Web Key Set: {"keys": [...]}');
  if (keys.length > MAX_KEYS) return err(`must have at most ${MAX_KEYS} keys`);
  // A private key must not be handed out, and with a symmetric one both sides could sign.
  if (keys.some(({ d, k }) => d !== undefined || k !== undefined)) return err("must have public keys alone");
  return ok({ keys: keys.filter((key): key is PublicKey => KINDS.includes(key["kty"])) });
}

/** Length of a modulus of 2048 bits in base64url. A shorter RSA key verifies nothing (RFC 7518 3.3). */
const RSA_MIN_CHARS = 342;
export const isWeakKey = ({ kty, n }: PublicKey): boolean =>
  kty === "RSA" && !(typeof n === "string" && n.length >= RSA_MIN_CHARS);

function parse(text: string): readonly Readonly<Record<string, unknown>>[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const keys: unknown = isObject(value) ? value["keys"] : undefined;
  return Array.isArray(keys) && keys.every(isObject) ? keys : undefined;
}
