/**
 * A private address as it stands in a text: how it may be spelled, and what may stand before and after it, so that it is
 * this address and not one that looks like it. All on bytes: an address is ASCII in every charset that is scanned, and
 * no character has to be put together from two chunks.
 *
 * - Scheme, host and port compare without case, the path with it.
 * - Every slash may be written `\/`, as JSON may.
 * - Before it stands no character of a scheme, and no slash, `?` or `#`, with which another address would go on, unless
 *   that ends an escape of JSON: `\n`, `\u003c`. A `=` may be of an attribute without quotes. In a header nothing stands
 *   before it but what cannot be in an address at all.
 * - After it stands what begins an address's next part or cannot stand in one: `ENDS`, or the same as an escape of JSON
 *   or an entity of HTML.
 */
export const NO_MATCH = -1;
/** What comes next decides. */
export const UNDECIDED = -2;

const [SLASH, BACKSLASH, COLON, AMPERSAND, SEMICOLON, LETTER_U] = [0x2f, 0x5c, 0x3a, 0x26, 0x3b, 0x75];

/** 1 for the ASCII characters that are in the class. */
const tableOf = (characters: RegExp): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => Number(byte < 0x80 && characters.test(String.fromCharCode(byte))));
/** Anything else would make another host, port or path of it, or may belong to a character that would. */
const ENDS = tableOf(/[^\w.:@~%&;=+$!*(-]/);
const IN_ANOTHER = tableOf(/[a-z0-9+.\-/?#]/i);
/** What `Link` has before an address: brackets, quotes of a parameter, spaces. */
const BEFORE_IN_HEADER = tableOf(/[<"\s]/);
/** JSON's escapes of control characters, without the backslash. */
const ESCAPED_CONTROL = tableOf(/[bfnrt]/);
/** Each byte, capital letters as small ones. */
const SMALL = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte));
/** Quotes and angle brackets as HTML writes them, without the ampersand. */
const ENTITY = /^(?:quot|apos|lt|gt|#0?(?:34|39|60|62|96)|#[xX]0?(?:22|27|3[cCeE]|60));$/;
const LONGEST_ENTITY = "#x022;".length;

/** Bytes before an address that are looked at: as many as `\u003c` has. */
export const LOOK_BEHIND = 6;

export class Address {
  /** Bytes of it as it is registered; a match that is longer has escaped slashes. */
  readonly length: number;
  /** Bytes that its scheme, host and port take at most. */
  readonly longestOrigin: number;
  /** Bytes that have to be there at most until it is decided whether they are the address. */
  readonly longestUndecided: number;
  readonly #scheme: Uint8Array;
  readonly #origin: Uint8Array;
  /** With its port. */
  readonly #host: Uint8Array;
  readonly #path: Uint8Array;
  readonly #skips: SkipTable;
  readonly #mayBegin: Beginning;

  /**
   * `source`: scheme, `://`, host with its port, and a path that does not end with a slash or no path. `mayBegin`: where
   * an address may begin.
   */
  constructor(source: string, mayBegin: Beginning) {
    const [, scheme = "", host = "", path = ""] = /^([^:/]+):\/\/([^/]+)(.*)$/s.exec(source) ?? [];
    if (host === "") throw new Error("an address begins with a scheme, :// and a host");
    const encoder = new TextEncoder();
    const inSmall = (text: string): Uint8Array => encoder.encode(text).map((byte) => SMALL[byte]!);
    this.#scheme = inSmall(scheme);
    this.#host = inSmall(host);
    this.#origin = inSmall(`${scheme}://${host}`);
    this.#path = encoder.encode(path);
    this.#skips = skipTable(this.#host);
    this.#mayBegin = mayBegin;
    this.length = this.#origin.length + this.#path.length;
    this.longestOrigin = this.#origin.length + 2;
    const pathSlashes = this.#path.filter((byte) => byte === SLASH).length;
    this.longestUndecided = this.longestOrigin + this.#path.length + pathSlashes + LONGEST_ENTITY;
  }

  /** Where its host stands next, from `from` on; -1: nowhere. */
  findHost(data: Uint8Array, from: number): number {
    const host = this.#host;
    const { skips, again } = this.#skips;
    const last = host.length - 1;
    for (let at = from + last; at < data.length;) {
      const skip = skips[data[at]!]!;
      if (skip !== 0) {
        at += skip;
        continue;
      }
      const start = at - last;
      let index = last;
      while (index > 0 && SMALL[data[start + index - 1]!] === host[index - 1]) index--;
      if (index === 0) return start;
      at += again;
    }
    return -1;
  }

  /** Where an address begins whose host stands at `hostAt`; -1: no scheme and `://` stand before that. */
  startOf(data: Uint8Array, hostAt: number): number {
    let at = hostAt;
    for (let slash = 0; slash < 2; slash++) {
      if (data[--at] !== SLASH) return -1;
      if (data[at - 1] === BACKSLASH) at--;
    }
    if (data[--at] !== COLON) return -1;
    const scheme = this.#scheme;
    for (let index = scheme.length - 1; index >= 0; index--) if (SMALL[data[--at]!] !== scheme[index]) return -1;
    return this.#mayBegin(data, at) ? at : -1;
  }

  /** Where an address ends whose host stands at `hostAt`; `NO_MATCH`; `UNDECIDED`, unless nothing comes after the data. */
  endOf(data: Uint8Array, hostAt: number, isLast: boolean): number {
    const path = this.#path;
    let at = hostAt + this.#host.length;
    for (let index = 0; index < path.length; index++, at++) {
      const expected = path[index];
      if (expected === SLASH && data[at] === BACKSLASH) at++;
      if (at >= data.length) return isLast ? NO_MATCH : UNDECIDED;
      if (data[at] !== expected) return NO_MATCH;
    }
    return endsAt(data, at, isLast);
  }

  /** Whether the data end within what would be scheme and host of an address that begins at `start`. */
  endsWithinOrigin(data: Uint8Array, start: number): boolean {
    let at = start;
    for (const expected of this.#origin) {
      if (expected === SLASH && data[at] === BACKSLASH) at++;
      if (at >= data.length) return this.#mayBegin(data, start);
      if (SMALL[data[at++]!] !== expected) return false;
    }
    return false;
  }
}

/** Whether an address may begin at `start`, by what stands before it. */
type Beginning = (data: Uint8Array, start: number) => boolean;

export const mayBeginInHeader: Beginning = (data, start) => start === 0 || BEFORE_IN_HEADER[data[start - 1]!] === 1;

export function mayBeginInText(data: Uint8Array, start: number): boolean {
  if (start === 0) return true;
  const last = data[start - 1]!;
  if (IN_ANOTHER[last] === 0 || (ESCAPED_CONTROL[last] === 1 && data[start - 2] === BACKSLASH)) return true;
  if (data[start - 6] !== BACKSLASH || data[start - 5] !== LETTER_U) return false;
  const code = readCode(data.subarray(start - 4, start));
  return code !== undefined && IN_ANOTHER[code] !== 1;
}

/** Four hexadecimal digits. */
function readCode(digits: Uint8Array): number | undefined {
  const text = String.fromCharCode(...digits);
  return /^[\da-f]{4}$/i.test(text) ? Number.parseInt(text, 16) : undefined;
}

/** Whether an address ends at `at`, by what stands there: `at`, as a match would end. */
function endsAt(data: Uint8Array, at: number, isLast: boolean): number {
  const byte = data[at];
  if (byte === undefined) return isLast ? at : UNDECIDED;
  if (byte === BACKSLASH) return endsAtEscape(data, at, isLast);
  if (byte === AMPERSAND) return endsAtEntity(data, at, isLast);
  return ENDS[byte] === 1 ? at : NO_MATCH;
}

function endsAtEscape(data: Uint8Array, at: number, isLast: boolean): number {
  if (at + 1 === data.length) return isLast ? at : UNDECIDED;
  if (data[at + 1] !== LETTER_U) return at;
  const digits = data.subarray(at + 2, at + 6);
  if (digits.length < 4 && !isLast) return UNDECIDED;
  const code = readCode(digits);
  return code !== undefined && ENDS[code] === 1 ? at : NO_MATCH;
}

function endsAtEntity(data: Uint8Array, at: number, isLast: boolean): number {
  const name = data.subarray(at + 1, at + 1 + LONGEST_ENTITY);
  const end = name.indexOf(SEMICOLON);
  if (end === -1) return name.length < LONGEST_ENTITY && !isLast ? UNDECIDED : NO_MATCH;
  return ENTITY.test(String.fromCharCode(...name.subarray(0, end + 1))) ? at : NO_MATCH;
}

/**
 * How far the search may move on when a byte stands where the name's last one should: to the same byte in the name
 * (Horspool's search), so that most bytes are never looked at. 0 for the last one itself.
 */
interface SkipTable {
  readonly skips: Uint16Array;
  /** The step after a byte that is the name's last one, when those before it are others. */
  readonly again: number;
}

function skipTable(name: Uint8Array): SkipTable {
  const last = name.length - 1;
  const skips = new Uint16Array(256).fill(name.length);
  for (let index = 0; index < last; index++) skips[name[index]!] = last - index;
  const again = skips[name[last]!]!;
  skips[name[last]!] = 0;
  for (let byte = 0; byte < 256; byte++) skips[byte] = skips[SMALL[byte]!]!;
  return { skips, again };
}
