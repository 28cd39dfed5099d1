import { scryptSync } from "node:crypto";
import { fromBase64Url, toBase64Url, utf8 } from "./encoding.ts";
import type { Random } from "./random.ts";
import { nfkc } from "./text.ts";

/**
 * Passwords as `scrypt$<log2 N>$<r>$<p>$<salt>$<key>`, salt and key in base64url. The runtime computes scrypt on the
 * isolate's own thread whichever way it is asked, so the plain function is the honest one: nothing else runs meanwhile.
 */

/** Of a password, before it is normalized. NIST SP 800-63B 3.1.1: length counts, rules of composition do not; the upper end bounds the work of hashing. */
export const PASSWORD_CHARS = { min: 8, max: 256 } as const;

/** Cost of one password check (contract 2.6): about 75 ms and 32 MiB. Stored with each hash, so it can rise. */
export const PASSWORD_COST = { log2N: 15, r: 8, p: 1 } as const;
/** The cost of new hashes. Tests lower it. */
export const cost: { log2N: number; r: number; p: number } = { ...PASSWORD_COST };
const SALT_BYTES = 16;
const KEY_BYTES = 32;

const encode = (salt: Uint8Array, key: Uint8Array): string =>
  `scrypt$${cost.log2N}$${cost.r}$${cost.p}$${toBase64Url(salt)}$${toBase64Url(key)}`;

/** Costs what a stored hash costs, for an account that has none. No password is known for it. */
export const noPasswordHash = (): string => encode(new Uint8Array(SALT_BYTES), new Uint8Array(KEY_BYTES));

export function hashPassword(password: string, random: Random): string {
  if (isTooLong(password)) throw new Error("a password is measured before it is hashed");
  const salt = random.bytes(SALT_BYTES);
  return encode(salt, derive(password, { ...cost, salt }));
}

/** Whether the password is the stored one. One that is too long never is, and costs as much. A stored text that cannot be read answers false. */
export function verifyPassword(password: string, stored: string): boolean {
  const known = parse(stored);
  if (known === undefined) return false;
  const matches = crypto.subtle.timingSafeEqual(derive(password, known), known.key);
  return matches && !isTooLong(password);
}

/** Whether two passwords are one: they are compared in the form in which they are hashed. */
export const samePassword = (one: string, other: string): boolean =>
  !isTooLong(one) && !isTooLong(other) && normalizedPassword(one) === normalizedPassword(other);

const isTooLong = (password: string): boolean => password.length > PASSWORD_CHARS.max;

/** Whether a hash was made with another cost than today's. */
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

/** One Unicode form, so that the keyboard's way of typing an accent does not matter. Nothing of what is too long. */
export const normalizedPassword = (password: string): string => nfkc(password, PASSWORD_CHARS.max) ?? "";

function derive(password: string, { log2N, r, p, salt }: Parameters): Uint8Array {
  const options = { N: 2 ** log2N, r, p, maxmem: 128 * 2 ** log2N * r * 2 };
  return scryptSync(utf8(normalizedPassword(password)), salt, KEY_BYTES, options);
}
