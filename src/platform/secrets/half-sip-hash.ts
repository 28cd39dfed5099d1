/**
 * HalfSipHash-2-4 with 64 bits: a keyed hash for tables whose keys others may choose. Without the key, nobody can find
 * two texts with one hash.
 */
export interface HashKey {
  readonly low: number;
  readonly high: number;
}
export interface Hash64 {
  low: number;
  high: number;
}

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/**
 * Hashes `first` and the UTF-16 code units of `text`, little endian, into `into`. A new object for each result or a
 * function for each round would cost more.
 */
export function halfSipHash({ low: k0, high: k1 }: HashKey, text: string, into: Hash64, first?: number): void {
  let [v0, v1, v2, v3] = [k0 | 0, (k1 ^ 0xee) | 0, 0x6c796765 ^ k0, 0x74656462 ^ k1];
  const head = first === undefined ? 0 : 1;
  const pairs = text.length >> 1;
  const bytes = 2 * text.length + 4 * head;
  const last = (bytes << 24) | (text.length % 2 === 0 ? 0 : text.charCodeAt(text.length - 1));
  const words = head + pairs + 1;
  // Two rounds for each word, then four for each half of the result.
  for (let step = 0; step < words + 2; step++) {
    let word = 0;
    if (step < words) {
      const at = 2 * (step - head);
      if (step < head) word = first!;
      else word = step === words - 1 ? last : text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16);
      v3 ^= word;
    } else if (step === words) v2 ^= 0xee;
    else v1 ^= 0xdd;
    for (let round = step < words ? 2 : 4; round > 0; round--) {
      v0 = (v0 + v1) | 0;
      v1 = rotate(v1, 5) ^ v0;
      v0 = rotate(v0, 16);
      v2 = (v2 + v3) | 0;
      v3 = rotate(v3, 8) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = rotate(v3, 7) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = rotate(v1, 13) ^ v2;
      v2 = rotate(v2, 16);
    }
    if (step < words) v0 ^= word;
    else if (step === words) into.low = (v1 ^ v3) >>> 0;
    else into.high = (v1 ^ v3) >>> 0;
  }
}
