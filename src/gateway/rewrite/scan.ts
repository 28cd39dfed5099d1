import { type Address, LOOK_BEHIND, NO_MATCH, UNDECIDED } from "./address.ts";

const NOTHING = new Uint8Array(0);

/** The replacement of an address, plain and with escaped slashes. */
export interface Replacement {
  readonly plain: Uint8Array;
  readonly escaped: Uint8Array;
}

/**
 * Replaces each address in a text that comes chunk by chunk. A possible beginning of an address is carried over to the
 * next chunk, with the few bytes before it. Replacements are not scanned again.
 */
export class Scan {
  /** Bytes to leave free in a buffer before the chunk, for those that were carried over. */
  readonly headroom: number;
  readonly #address: Address;
  readonly #replacement: Replacement;
  #carried: Uint8Array = NOTHING;
  /** Number of the carried bytes that are passed on already. They are kept as the bytes before an address. */
  #passed = 0;
  /**
   * Holds a copy of the chunk, followed by the result, since bytes are copied fastest within one array. It is reused,
   * since a new large array costs more than the search in it.
   */
  #work: Uint8Array = NOTHING;

  constructor(address: Address, replacement: Replacement) {
    this.#address = address;
    this.#replacement = replacement;
    this.headroom = LOOK_BEHIND + address.longestUndecided;
  }

  /**
   * Returns the bytes to pass on. The chunk is in the buffer from `headroom` to `end`. The result is in that buffer or
   * in a reused one, so it is valid until the next call. With `isLast` nothing is carried over.
   */
  next(buffer: Uint8Array, end: number, isLast: boolean): Uint8Array {
    const begin = this.headroom - this.#carried.length;
    buffer.set(this.#carried, begin);
    const data = buffer.subarray(begin, end);
    const from = this.#passed;
    /** Start and end of each match, in turn. */
    const matches: number[] = [];
    const kept = this.#findAll(data, from, isLast, matches);
    const lookedAt = Math.max(0, kept - LOOK_BEHIND);
    this.#carried = data.slice(lookedAt);
    this.#passed = kept - lookedAt;
    return matches.length === 0 ? data.subarray(from, kept) : this.#replace(data, from, kept, matches);
  }

  /** Rewrites a complete text at once. The scan must be new. */
  whole(data: Uint8Array): Uint8Array {
    const matches: number[] = [];
    this.#findAll(data, 0, true, matches);
    return matches.length === 0 ? data : this.#replace(data, 0, data.length, matches);
  }

  /** Collects the matches; returns the start of the bytes that cannot be passed on yet. */
  #findAll(data: Uint8Array, from: number, isLast: boolean, matches: number[]): number {
    const address = this.#address;
    let decided = from;
    for (let host = address.findHost(data, from); host !== -1;) {
      const start = address.startOf(data, host);
      const end = start >= decided ? address.endOf(data, host, isLast) : NO_MATCH;
      if (end === UNDECIDED) return start;
      if (end !== NO_MATCH) {
        matches.push(start, end);
        decided = end;
      }
      host = address.findHost(data, end === NO_MATCH ? host + 1 : end);
    }
    if (isLast) return data.length;
    // Carries over the beginning of an address whose host is incomplete.
    for (let start = Math.max(decided, data.length - address.longestOrigin); start < data.length; start++)
      if (address.endsWithinOrigin(data, start)) return start;
    return data.length;
  }

  #replace(data: Uint8Array, from: number, end: number, matches: readonly number[]): Uint8Array {
    const { plain, escaped } = this.#replacement;
    const length = end - from;
    const longest = length + (matches.length / 2) * escaped.length;
    if (this.#work.length < length + longest) this.#work = new Uint8Array(length + longest);
    const work = this.#work;
    work.set(data.subarray(from, end));
    let read = 0;
    let written = length;
    for (let index = 0; index < matches.length; index += 2) {
      const start = matches[index]! - from;
      const next = matches[index + 1]! - from;
      work.copyWithin(written, read, start);
      written += start - read;
      const instead = next - start > this.#address.length ? escaped : plain;
      work.set(instead, written);
      written += instead.length;
      read = next;
    }
    work.copyWithin(written, read, length);
    return work.subarray(length, written + length - read);
  }
}
