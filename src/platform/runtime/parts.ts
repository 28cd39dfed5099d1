/** Splits a list into parts of at most this total size. An item that is larger is a part of its own. */
export function inParts<T>(items: readonly T[], most: number, sizeOf: (item: T) => number): readonly (readonly T[])[] {
  const parts: T[][] = [];
  let size = Infinity;
  for (const item of items) {
    const more = sizeOf(item);
    if (size + more > most) {
      parts.push([]);
      size = 0;
    }
    parts.at(-1)!.push(item);
    size += more;
  }
  return parts;
}
