import { createHash } from "node:crypto";
import { fromBase64 } from "./encoding.ts";
import { FILTER } from "./common-passwords-filter.ts";

/**
 * The most common passwords of sufficient length, as a Bloom filter: each sets some bits, and a password whose bits are
 * all set counts as common, wrongly so for one in a thousand. `filterBits` is 14.4 for each of `entries`.
 */
export const COMMON = { entries: 12_000, minChars: 8, filterBits: 172_800, hashes: 10 } as const;

let bits: Uint8Array | undefined;

/** `password`: in the form in which passwords are compared, in lower case. */
export function isCommon(password: string): boolean {
  const set = (bits ??= fromBase64(FILTER) ?? new Uint8Array(0));
  return bitPositionsOf(password).every((place) => ((set[place >> 3] ?? 0) & (1 << (place & 7))) !== 0);
}

/** The bits of a password, by adding up two halves of a digest (Kirsch, Mitzenmacher 2006). */
export function bitPositionsOf(password: string): readonly number[] {
  const digest = createHash("sha256").update(password).digest();
  const [first, step] = [digest.readUInt32BE(0), digest.readUInt32BE(4) | 1];
  return Array.from({ length: COMMON.hashes }, (_, at) => (first + at * (step >>> 0)) % COMMON.filterBits);
}
