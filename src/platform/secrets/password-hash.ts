import { scryptSync } from "node:crypto";
import { fromBase64Url, toBase64Url, utf8 } from "../text/encoding.ts";
import type { Random } from "../runtime/random.ts";
import { nfkc } from "../text/text.ts";

/**
 * Password hashes: `scrypt$<log2 N>$<r>$<p>$<salt>$<key>`, salt and key in base64url. The synchronous function is used,
 * since the runtime computes scrypt on the isolate's only thread in any case.
 */

/** Length of a password before normalization (NIST SP 800-63B 3.1.1); the upper bound limits the work of hashing. */
export const PASSWORD_CHARS = { min: 8, max: 256 } as const;

/** Cost of one password check: about 75 ms and 32 MiB. Each hash stores its own cost, so it can be raised. */
export const PASSWORD_COST = { log2N: 15, r: 8, p: 1 } as const;
/** The cost of new hashes. Tests lower it. */
export const cost: { log2N: number; r: number; p: number } = { ...PASSWORD_COST };
const SALT_BYTES = 16;
const KEY_BYTES = 32;

const encode = (salt: Uint8Array, key: Uint8Array): string =>
  `scrypt$${cost.log2N}$${cost.r}$${cost.p}$${toBase64Url(salt)}$${toBase64Url(key)}`;

/** A hash that no password matches, for an account without one: checking it takes the same time. */
export const noPasswordHash = (): string => encode(new Uint8Array(SALT_BYTES), new Uint8Array(KEY_BYTES));

export function hashPassword(password: string, random: Random): string {
  if (isTooLong(password)) throw new Error("a password is measured before it is hashed");
  const salt = random.bytes(SALT_BYTES);
  return encode(salt, derive(password, { ...cost, salt }));
}

/** True if the password matches the hash. One that is too long never does, at the same cost. No broken hash matches. */
export function verifyPassword(password: string, stored: string): boolean {
  const known = parse(stored);
  if (known === undefined) return false;
  const matches = crypto.subtle.timingSafeEqual(derive(password, known), known.key);
  return matches && !isTooLong(password);
}

/** True if two passwords are equal in the form in which they are hashed. */
export const samePassword = (one: string, other: string): boolean =>
  !isTooLong(one) && !isTooLong(other) && normalizedPassword(one) === normalizedPassword(other);

const isTooLong = (password: string): boolean => password.length > PASSWORD_CHARS.max;

/** True if a hash was made with another cost than the current one. */
export function isOutdated(stored: string): boolean {
  const { log2N, r, p } = parse(stored) ?? cost;
  return log2N !== cost.log2N || r !== cost.r || p !== cost.p;
}

interface Parameters {
  readonly log2N: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Uint8Array;
}

function parse(stored: string): (Parameters & { readonly key: Uint8Array }) | undefined {
  const [, log2N, r, p, saltText = "", keyText = ""] =
    /^scrypt\$(\d+)\$(\d+)\$(\d+)\$([^$]+)\$([^$]+)$/.exec(stored) ?? [];
  const salt = fromBase64Url(saltText);
  const key = fromBase64Url(keyText);
  if (salt === undefined || key?.length !== KEY_BYTES) return undefined;
  return { log2N: Number(log2N), r: Number(r), p: Number(p), salt, key };
}

/** One Unicode form for every way to type an accent; empty for a password that is too long. */
export const normalizedPassword = (password: string): string => nfkc(password, PASSWORD_CHARS.max) ?? "";

function derive(password: string, { log2N, r, p, salt }: Parameters): Uint8Array {
  const options = { N: 2 ** log2N, r, p, maxmem: 128 * 2 ** log2N * r * 2 };
  return scryptSync(utf8(normalizedPassword(password)), salt, KEY_BYTES, options);
}
