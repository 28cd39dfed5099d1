import { err, ok, type Result } from "../model/result.ts";

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

/** Parses a set of public keys. The error says what is wrong, to stand behind the field's name. */
export function parseKeySet(text: string): Result<KeySet, string> {
  if (text.length > MAX_KEY_SET_CHARS) return err(`must have at most ${MAX_KEY_SET_CHARS} characters`);
  const keys = parse(text);
  if (keys === undefined) return err('must be a JSON Web Key Set: {"keys": [...]}');
  if (keys.length > MAX_KEYS) return err(`must have at most ${MAX_KEYS} keys`);
  // A private key that was handed out is nobody's any more, and a shared one could sign for both sides.
  if (keys.some(({ d, k }) => d !== undefined || k !== undefined)) return err("must have public keys alone");
  return ok({ keys: keys.filter((key): key is PublicKey => KINDS.includes(key["kty"])) });
}

/** 2048 bits in base64url. Nothing is verified by a shorter RSA key (RFC 7518 3.3), wherever it comes from. */
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

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
