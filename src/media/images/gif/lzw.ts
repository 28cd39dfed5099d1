/**
 * This file decodes the LZW data of gifs (GIF89a, appendix F). Pure; `indices` limits work and memory for any bytes.
 */
const MAX_CODES = 4096;
const MAX_CODE_BITS = 12;

/**
 * Fills `indices` from the sub-blocks at `dataAt` and returns the number that it filled, which is smaller than the
 * length if the data ends early, as some encoders write it. Undefined: the data is broken, or the file ends within it.
 */
export function decodeLzw(bytes: Uint8Array, dataAt: number, indices: Uint8Array): number | undefined {
  const rootBits = bytes[dataAt] ?? 0;
  // More than 8 bits make no sense, but some encoders write them.
  if (rootBits < 1 || rootBits >= MAX_CODE_BITS) return undefined;
  const [clear, end] = [1 << rootBits, (1 << rootBits) + 1];
  const prefixes = new Uint16Array(MAX_CODES);
  const lasts = new Uint8Array(MAX_CODES);
  const lengths = new Uint16Array(MAX_CODES);
  for (let root = 0; root < clear; root++) [lasts[root], lengths[root]] = [root, 1];

  const codes = new CodeReader(bytes, dataAt + 1);
  let [next, codeBits, previous] = [end + 1, rootBits + 1, -1];
  let filled = 0;
  while (filled < indices.length) {
    const code = codes.next(codeBits);
    if (code < 0) return codes.isCut ? undefined : filled;
    if (code === end) return filled;
    if (code === clear) {
      [next, codeBits, previous] = [end + 1, rootBits + 1, -1];
      continue;
    }
    // A code must be known, or be the one that this step defines.
    const isNew = code === next && previous >= 0;
    if (previous < 0 ? code > end : code >= next && !isNew) return undefined;
    const known = isNew ? previous : code;
    const length = lengths[known]!;
    let rest = known;
    for (let at = filled + length - 1; at >= filled; at--) {
      // A typed array ignores writes beyond its end.
      indices[at] = lasts[rest]!;
      rest = prefixes[rest]!;
    }
    const first = indices[filled]!;
    filled += length;
    if (isNew) indices[filled++] = first;
    if (previous >= 0 && next < MAX_CODES) {
      prefixes[next] = previous;
      lasts[next] = first;
      lengths[next] = lengths[previous]! + 1;
      next += 1;
      if (next === 1 << codeBits && codeBits < MAX_CODE_BITS) codeBits += 1;
    }
    previous = code;
  }
  return indices.length;
}

/**
 * Reads codes of variable width, lowest bit first, from a chain of sub-blocks. Fields are not `#private`, because
 * private fields are slower and this code is hot.
 */
class CodeReader {
  private readonly bytes: Uint8Array;
  private at: number;
  /** The number of bytes left in the current sub-block. */
  private left = 0;
  private bits = 0;
  private bitCount = 0;
  /** True if the file ended before the chain. */
  isCut = false;

  constructor(bytes: Uint8Array, at: number) {
    this.bytes = bytes;
    this.at = at;
  }

  /** Returns the next code, or -1 at the end. */
  next(bitCount: number): number {
    while (this.bitCount < bitCount) {
      if (this.left === 0 && !this.#enterSubBlock()) return -1;
      if (this.at >= this.bytes.length) return -1;
      this.bits |= this.bytes[this.at++]! << this.bitCount;
      this.bitCount += 8;
      this.left -= 1;
    }
    const code = this.bits & ((1 << bitCount) - 1);
    this.bits >>>= bitCount;
    this.bitCount -= bitCount;
    return code;
  }

  #enterSubBlock(): boolean {
    this.left = this.bytes[this.at++] ?? 0;
    this.isCut = this.at + this.left > this.bytes.length;
    return this.left > 0;
  }
}
