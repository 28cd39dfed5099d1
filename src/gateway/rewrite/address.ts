/**
 * Finds a private address in a text, in all its spellings. The characters before and after it show that it is not part
 * of a longer address. The search works on bytes: an address is ASCII in every charset that is scanned, so no character
 * of it is split between two chunks.
 *
 * - Scheme, host and port are compared without case, the path with case.
 * - Every slash may be written `\/`, as in JSON.
 * - The character before it must not belong to a scheme, nor be a slash, `?` or `#`, since these continue another
 *   address. An escape of JSON, such as `\n` or `\u003c`, counts as the character that it stands for. A `=` is allowed,
 *   for an attribute without quotes. In a header, only `<`, `"` or white space is allowed.
 * - The character after it must begin the next part of an address, or be impossible in one (`ENDS`). It may be written
 *   plainly, as an escape of JSON or as an entity of HTML.
 */
export const NO_MATCH = -1;
/** The next bytes decide whether it is the address. */
export const UNDECIDED = -2;

const [SLASH, BACKSLASH, COLON, AMPERSAND, SEMICOLON, LETTER_U] = [0x2f, 0x5c, 0x3a, 0x26, 0x3b, 0x75];

/** 1 for the ASCII characters in the class. */
const tableOf = (characters: RegExp): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => Number(byte < 0x80 && characters.test(String.fromCharCode(byte))));
/** Characters that may follow. Any other makes another host, port or path of it, or is a byte of such a character. */
const ENDS = tableOf(/[^\w.:@~%&;=+$!*(-]/);
const IN_ANOTHER = tableOf(/[a-z0-9+.\-/?#]/i);
/** Characters before an address in `Link`: brackets, quotes of a parameter, spaces. */
const BEFORE_IN_HEADER = tableOf(/[<"\s]/);
/** JSON's escapes of control characters, without the backslash. */
const ESCAPED_CONTROL = tableOf(/[bfnrt]/);
/** Maps bytes to lower case. */
const LOWER = Uint8Array.from({ length: 256 }, (_, byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte));
/** Entities of quotes and angle brackets, without the ampersand. */
const ENTITY = /^(?:quot|apos|lt|gt|#0?(?:34|39|60|62|96)|#[xX]0?(?:22|27|3[cCeE]|60));$/;
const LONGEST_ENTITY = "#x022;".length;

/** Bytes before an address that are checked: the length of `\u003c`. */
export const LOOK_BEHIND = 6;

export class Address {
  /** Bytes of the registered address; a longer match has escaped slashes. */
  readonly length: number;
  /** Maximum bytes of scheme, host and port. */
  readonly longestOrigin: number;
  /** Maximum bytes that are needed to decide whether they are the address. */
  readonly longestUndecided: number;
  readonly #scheme: Uint8Array;
  readonly #origin: Uint8Array;
  /** Host with port. */
  readonly #host: Uint8Array;
  readonly #path: Uint8Array;
  readonly #skips: SkipTable;
  readonly #mayBegin: Beginning;

  /** `source`: scheme, `://`, host with port, and perhaps a path, without a slash at the end. */
  constructor(source: string, mayBegin: Beginning) {
    const [, scheme = "", host = "", path = ""] = /^([^:/]+):\/\/([^/]+)(.*)$/s.exec(source) ?? [];
    if (host === "") throw new Error("an address begins with a scheme, :// and a host");
    const encoder = new TextEncoder();
    const inLowerCase = (text: string): Uint8Array => encoder.encode(text).map((byte) => LOWER[byte]!);
    this.#scheme = inLowerCase(scheme);
    this.#host = inLowerCase(host);
    this.#origin = inLowerCase(`${scheme}://${host}`);
    this.#path = encoder.encode(path);
    this.#skips = skipTable(this.#host);
    this.#mayBegin = mayBegin;
    this.length = this.#origin.length + this.#path.length;
    this.longestOrigin = this.#origin.length + 2;
    const pathSlashes = this.#path.filter((byte) => byte === SLASH).length;
    this.longestUndecided = this.longestOrigin + this.#path.length + pathSlashes + LONGEST_ENTITY;
  }

  /** Index of the next occurrence of the host, from `from` on; -1 if there is none. */
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
      while (index > 0 && LOWER[data[start + index - 1]!] === host[index - 1]) index--;
      if (index === 0) return start;
      at += again;
    }
    return -1;
  }

  /** Start of an address with its host at `hostAt`; -1 if no scheme and `://` precede it, or none may begin there. */
  startOf(data: Uint8Array, hostAt: number): number {
    let at = hostAt;
    for (let slash = 0; slash < 2; slash++) {
      if (data[--at] !== SLASH) return -1;
      if (data[at - 1] === BACKSLASH) at--;
    }
    if (data[--at] !== COLON) return -1;
    const scheme = this.#scheme;
    for (let index = scheme.length - 1; index >= 0; index--) if (LOWER[data[--at]!] !== scheme[index]) return -1;
    return this.#mayBegin(data, at) ? at : -1;
  }

  /** End of an address with its host at `hostAt`, or `NO_MATCH`, or `UNDECIDED` if the next data decide. */
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

  /** True if the data end within scheme and host of a possible address that begins at `start`. */
  endsWithinOrigin(data: Uint8Array, start: number): boolean {
    let at = start;
    for (const expected of this.#origin) {
      if (expected === SLASH && data[at] === BACKSLASH) at++;
      if (at >= data.length) return this.#mayBegin(data, start);
      if (LOWER[data[at++]!] !== expected) return false;
    }
    return false;
  }
}

/** True if an address may begin at `start`, judged by the bytes before it. */
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

/** The character code of four hexadecimal digits; undefined if they are none. */
function readCode(digits: Uint8Array): number | undefined {
  const text = String.fromCharCode(...digits);
  return /^[\da-f]{4}$/i.test(text) ? Number.parseInt(text, 16) : undefined;
}

/** `at` if an address may end there, judged by the bytes that follow; else `NO_MATCH` or `UNDECIDED`. */
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
 * The table of Horspool's search. For the byte of the data that is aligned with the last byte of the name: the number
 * of bytes to move on, until the same byte of the name is aligned with it. 0 for the last byte of the name. So most
 * bytes are never read.
 */
interface SkipTable {
  readonly skips: Uint16Array;
  /** The step if the last byte matched and one before it did not. */
  readonly again: number;
}

function skipTable(name: Uint8Array): SkipTable {
  const last = name.length - 1;
  const skips = new Uint16Array(256).fill(name.length);
  for (let index = 0; index < last; index++) skips[name[index]!] = last - index;
  const again = skips[name[last]!]!;
  skips[name[last]!] = 0;
  for (let byte = 0; byte < 256; byte++) skips[byte] = skips[LOWER[byte]!]!;
  return { skips, again };
}
