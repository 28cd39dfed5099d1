/**
 * Headers as plain values, names in small letters; of several `Set-Cookie` the last. They are read once and handed on as a
 * plain object: the runtime's own `Headers` leave V8 for each look, and each object of them costs as much as ten.
 */
export type GivenHeaders = ReadonlyMap<string, string>;

/** What becomes of them. Without a prototype, since any name is a name. */
export type MadeHeaders = Record<string, string>;

export const noHeaders = (): MadeHeaders => Object.create(null) as MadeHeaders;

/** Undefined where they take more than `maxBytes`, as HTTP/1.1 writes them. */
export function readHeaders(headers: Headers, maxBytes: number): GivenHeaders | undefined {
  const given = new Map<string, string>();
  let sizeBytes = 0;
  for (const [name, value] of headers) {
    sizeBytes += name.length + value.length + ": \r\n".length;
    given.set(name, value);
  }
  return sizeBytes > maxBytes ? undefined : given;
}

/** The length of a body as it is declared. */
export function lengthOf(headers: GivenHeaders): number | undefined {
  const length = headers.get("content-length");
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}
