import type { ByteRange } from "../blobs/blob-store.ts";
import { LIMITS } from "../model/limits.ts";

/**
 * Byte ranges of a request (RFC 9110 section 14). Pure.
 *
 * Returns the parts that a `Range` header asks for, in its order, without parts beyond the end. `unsatisfiable`: all
 * parts are beyond the end. `whole`: there is no range, or section 14.2 allows to ignore it: another unit, a malformed
 * range, too many parts, or overlapping parts.
 */
export function parseRanges(
  header: string | null,
  sizeBytes: number,
): readonly [ByteRange, ...ByteRange[]] | "whole" | "unsatisfiable" {
  const set = /^bytes=(.*)$/i.exec(header?.trim() ?? "")?.[1];
  if (set === undefined) return "whole";
  // A recipient ignores empty members of a list (section 5.6.1.2).
  const members = set.split(",").map((member) => member.trim());
  const specs = members.filter((member) => member !== "");
  if (specs.length === 0 || members.length > LIMITS.rangesPerRequest) return "whole";
  const parsed = specs.map((spec) => parseRange(spec, sizeBytes));
  if (parsed.includes("malformed")) return "whole";
  const [first, ...more] = parsed.filter((range) => typeof range === "object");
  if (first === undefined) return "unsatisfiable";
  return overlap([first, ...more]) ? "whole" : [first, ...more];
}

function parseRange(spec: string, sizeBytes: number): ByteRange | "malformed" | "unsatisfiable" {
  const [, first = "", last = ""] = /^(\d*)-(\d*)$/.exec(spec) ?? [];
  if (first === "") return last === "" ? "malformed" : suffix(Number(last), sizeBytes);
  const from = Number(first);
  const to = last === "" ? Infinity : Number(last);
  if (to < from) return "malformed";
  if (from >= sizeBytes) return "unsatisfiable";
  return { offset: from, length: Math.min(to, sizeBytes - 1) - from + 1 };
}

function suffix(lastBytes: number, sizeBytes: number): ByteRange | "unsatisfiable" {
  const length = Math.min(lastBytes, sizeBytes);
  return length === 0 ? "unsatisfiable" : { offset: sizeBytes - length, length };
}

function overlap(ranges: readonly ByteRange[]): boolean {
  const ordered = ranges.toSorted((a, b) => a.offset - b.offset);
  return ordered.some(({ offset }, index) => {
    const before = ordered[index - 1];
    return before !== undefined && before.offset + before.length > offset;
  });
}

/** Returns the value of `Content-Range`, such as `bytes 0-99/1000`. */
export const contentRange = ({ offset, length }: ByteRange, sizeBytes: number): string =>
  `bytes ${offset}-${offset + length - 1}/${sizeBytes}`;

/** Returns a part of a stream. The source is not read further than the end of the part. */
export function sliceStream(
  body: ReadableStream<Uint8Array>,
  { offset, length }: ByteRange,
): ReadableStream<Uint8Array> {
  let [toSkip, toTake] = [offset, length];
  const slicer = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const part = chunk.subarray(toSkip, toSkip + toTake);
      toSkip -= Math.min(toSkip, chunk.byteLength);
      toTake -= part.byteLength;
      if (part.byteLength > 0) controller.enqueue(part);
      if (toTake === 0) controller.terminate();
    },
  });
  return body.pipeThrough(slicer).pipeThrough(new FixedLengthStream(length));
}
