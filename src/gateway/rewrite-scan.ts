import { type Address, LOOK_BEHIND, mayBegin, NO_MATCH, UNDECIDED } from "./rewrite-address.ts";

const NOTHING = new Uint8Array(0);

/** What an address is replaced by: as it is, and with its slashes escaped. */
export interface Replacement {
  readonly plain: Uint8Array;
  readonly escaped: Uint8Array;
}

/**
 * One text on its way, chunk by chunk: each address in it is replaced, the rest stays as it is. What may be the beginning
 * of an address is kept until the next chunk; that is never more than the address with all its slashes escaped and what
 * is looked at behind it. Whatever is put in is not looked at again.
 */
export class Scan {
  readonly #address: Address;
  readonly #replacement: Replacement;
  /** The end of what has been passed on, as it was. */
  #before: Uint8Array = NOTHING;
  #held: Uint8Array = NOTHING;

  constructor(address: Address, replacement: Replacement) {
    this.#address = address;
    this.#replacement = replacement;
  }

  /** What can be passed on by now: a part of the chunk itself where nothing in it is replaced. */
  next(chunk: Uint8Array): Uint8Array {
    return this.#pass(this.#held.length === 0 ? chunk : concat(this.#held, chunk), false);
  }

  /** The rest. */
  end(): Uint8Array {
    return this.#pass(this.#held, true);
  }

  #pass(data: Uint8Array, isLast: boolean): Uint8Array {
    /** Start and end of each match, in turn. */
    const matches: number[] = [];
    const kept = this.#findAll(data, isLast, matches);
    const passed = kept === data.length ? data : data.subarray(0, kept);
    this.#held = data.slice(kept);
    // Copies: who gets the chunk may do with it what they like.
    this.#before =
      kept >= LOOK_BEHIND ? data.slice(kept - LOOK_BEHIND, kept) : concat(this.#before, passed).slice(-LOOK_BEHIND);
    return matches.length === 0 ? passed : this.#replace(passed, matches);
  }

  /** Where the bytes begin that have to be kept. */
  #findAll(data: Uint8Array, isLast: boolean, matches: number[]): number {
    const address = this.#address;
    let passed = 0;
    for (let host = address.findHost(data, 0); host !== -1;) {
      const start = address.startOf(data, host);
      const end =
        start >= passed && mayBegin(data, start, this.#before) ? address.match(data, start, isLast) : NO_MATCH;
      if (end === UNDECIDED) return start;
      if (end !== NO_MATCH) {
        matches.push(start, end);
        passed = end;
      }
      host = address.findHost(data, end === NO_MATCH ? host + 1 : end);
    }
    if (isLast) return data.length;
    // Whose host is not whole yet.
    for (let start = Math.max(passed, data.length - address.longestOrigin); start < data.length; start++)
      if (address.match(data, start, false) === UNDECIDED && mayBegin(data, start, this.#before)) return start;
    return data.length;
  }

  #replace(data: Uint8Array, matches: readonly number[]): Uint8Array {
    const { plain, escaped } = this.#replacement;
    const isEscaped = (index: number): boolean => matches[index + 1]! - matches[index]! > this.#address.length;
    let length = data.length;
    for (let index = 0; index < matches.length; index += 2)
      length += (isEscaped(index) ? escaped : plain).length - (matches[index + 1]! - matches[index]!);
    const out = new Uint8Array(length);
    let [from, to] = [0, 0];
    for (let index = 0; index < matches.length; index += 2) {
      to = copy(data, from, matches[index]!, out, to);
      const instead = isEscaped(index) ? escaped : plain;
      to = copy(instead, 0, instead.length, out, to);
      from = matches[index + 1]!;
    }
    copy(data, from, data.length, out, to);
    return out;
  }
}

/** Below it, a loop is faster than a view and its copy. */
const SHORT = 96;

/** Returns where the copy ends. */
function copy(source: Uint8Array, from: number, end: number, target: Uint8Array, at: number): number {
  const length = end - from;
  if (length > SHORT) target.set(source.subarray(from, end), at);
  else for (let index = 0; index < length; index++) target[at + index] = source[from + index]!;
  return at + length;
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}
