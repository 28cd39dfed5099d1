/** One byte range of a request (RFC 9110 section 14). Pure. */
export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

/**
 * The part of `sizeBytes` that a `Range` header asks for. `whole`: there is no range, it is of another unit, malformed,
 * or asks for several parts; section 14.2 allows to ignore all of these.
 */
export function parseRange(header: string | null, sizeBytes: number): ByteRange | "whole" | "unsatisfiable" {
  const match = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header?.trim() ?? "");
  if (match === null) return "whole";
  const [, first = "", last = ""] = match;
  if (first === "" && last === "") return "whole";
  if (first === "") return suffix(Number(last), sizeBytes);
  const from = Number(first);
  const to = last === "" ? Infinity : Number(last);
  if (to < from) return "whole";
  if (from >= sizeBytes) return "unsatisfiable";
  return { offset: from, length: Math.min(to, sizeBytes - 1) - from + 1 };
}

function suffix(lastBytes: number, sizeBytes: number): ByteRange | "unsatisfiable" {
  const length = Math.min(lastBytes, sizeBytes);
  return length === 0 ? "unsatisfiable" : { offset: sizeBytes - length, length };
}
