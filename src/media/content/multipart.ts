import { utf8 } from "../../platform/text/encoding.ts";
import type { ByteRange } from "../blobs/blob-store.ts";
import { contentRange } from "./byte-range.ts";

/** An answer with several ranges: `multipart/byteranges` (RFC 9110 section 14.6). */
export interface MultipartRanges {
  readonly body: ReadableStream<Uint8Array>;
  /** Headers that differ from an answer with one part. */
  readonly headers: Record<string, string>;
}

export interface RangeSource {
  readonly contentType: string;
  readonly sizeBytes: number;
  /** Undefined if the bytes are missing. */
  read(part: ByteRange): Promise<{ readonly body: ReadableStream<Uint8Array> } | undefined>;
}

/**
 * Reads the parts one at a time. Returns undefined if the bytes are missing. `boundary` must be random, so that no
 * content contains it.
 */
export async function multipartRanges(
  source: RangeSource,
  [first, ...more]: readonly [ByteRange, ...ByteRange[]],
  boundary: string,
): Promise<MultipartRanges | undefined> {
  const { contentType, sizeBytes } = source;
  const headOf = (part: ByteRange): Uint8Array =>
    utf8(
      `\r\n--${boundary}\r\ncontent-type: ${contentType}\r\ncontent-range: ${contentRange(part, sizeBytes)}\r\n\r\n`,
    );
  const end = utf8(`\r\n--${boundary}--\r\n`);
  const lengthBytes = [first, ...more].reduce((sum, part) => sum + headOf(part).length + part.length, end.length);
  const opened = await source.read(first);
  if (opened === undefined) return undefined;
  const { readable, writable } = new FixedLengthStream(lengthBytes);
  const write = async (bytes: Uint8Array): Promise<void> => {
    const writer = writable.getWriter();
    await writer.write(bytes);
    writer.releaseLock();
  };
  const send = async (): Promise<void> => {
    await write(headOf(first));
    await opened.body.pipeTo(writable, { preventClose: true });
    for (const part of more) {
      const next = await source.read(part);
      if (next === undefined) throw new Error("the content was removed while it was sent");
      await write(headOf(part));
      await next.body.pipeTo(writable, { preventClose: true });
    }
    await write(end);
    await writable.close();
  };
  // The abort makes the answer break off, so that a reader does not take a part for the whole.
  send().catch((thrown: unknown) => writable.abort(thrown).catch(() => undefined));
  const headers = {
    "content-type": `multipart/byteranges; boundary=${boundary}`,
    "content-length": String(lengthBytes),
  };
  return { body: readable, headers };
}
