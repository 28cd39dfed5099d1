import { createHash } from "node:crypto";
import { StoreUnavailable } from "../storage/database.ts";
import { normalizedPassword } from "./password-hash.ts";

/**
 * The 100,000 most common passwords: those of sufficient length, since shorter ones are refused anyway. They are a
 * Bloom filter: each sets some bits, and a password whose bits are all set counts as common, wrongly so for one in
 * 10,000. `filterBits` is 19.2 for each of `entries`.
 *
 * The filter is a static asset, so that it weighs nothing in the script. An isolate reads it when a password is set for
 * the first time. Nobody sets a password unchecked: if it cannot be read, setting one fails with 503.
 */
export const COMMON = { ranks: 100_000, entries: 38_451, minChars: 8, filterBits: 738_304, hashes: 13 } as const;

export interface CommonPasswords {
  has(password: string): Promise<boolean>;
}

/** The asset's path. No route leads to it. */
export const FILTER_PATH = "/common-passwords.bin";

export function createCommonPasswords(assets: Pick<Fetcher, "fetch">): CommonPasswords {
  let filter: Uint8Array | undefined;
  async function read(): Promise<Uint8Array> {
    const answer = await assets.fetch(`https://assets.invalid${FILTER_PATH}`);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    if (answer.status === 200 && bytes.length === COMMON.filterBits / 8) return bytes;
    throw new StoreUnavailable(`the list of common passwords was answered ${answer.status}, ${bytes.length} bytes`);
  }
  return {
    async has(password) {
      const set = (filter ??= await read());
      const places = bitPositionsOf(comparedForm(password));
      return places.every((place) => ((set[place >> 3] ?? 0) & (1 << (place & 7))) !== 0);
    },
  };
}

/** The form in which passwords are compared: a common password is common in any case of its letters. */
export const comparedForm = (password: string): string => normalizedPassword(password).toLowerCase();

/** The bits of a password, computed from two words of a digest (Kirsch, Mitzenmacher 2006). */
export function bitPositionsOf(password: string): readonly number[] {
  const digest = createHash("sha256").update(password).digest();
  const [first, step] = [digest.readUInt32BE(0), digest.readUInt32BE(4) | 1];
  return Array.from({ length: COMMON.hashes }, (_, at) => (first + at * (step >>> 0)) % COMMON.filterBits);
}
