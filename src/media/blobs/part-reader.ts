import { err, ok, type Result } from "../../platform/model/result.ts";

/** Reads a stream in parts of one size, for multipart uploads. Only the last part is shorter. */
export class PartReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #partBytes: number;
  /** The bytes of the last chunk that did not fit its part. */
  #rest: Uint8Array = new Uint8Array(0);
  #ended = false;

  constructor(stream: ReadableStream<Uint8Array>, partBytes: number) {
    this.#reader = stream.getReader();
    this.#partBytes = partBytes;
  }

  /** True if nothing follows the part read last. */
  get ended(): boolean {
    return this.#ended && this.#rest.byteLength === 0;
  }

  /** The next part, empty at the end; `interrupted` if the stream broke off. */
  async next(): Promise<Result<Uint8Array, "interrupted">> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    // The loop reads one chunk beyond a full part, so `ended` knows whether the part was the last.
    while (size <= this.#partBytes) {
      const chunk = await this.#take();
      if (chunk === undefined) return err("interrupted");
      if (chunk.byteLength === 0) break;
      chunks.push(chunk);
      size += chunk.byteLength;
    }
    return ok(this.#cut(chunks, size));
  }

  cancel(): Promise<void> {
    return this.#reader.cancel().catch(() => undefined);
  }

  /** The next bytes; empty at the end, undefined if the stream broke off. */
  async #take(): Promise<Uint8Array | undefined> {
    if (this.#rest.byteLength > 0) {
      const rest = this.#rest;
      this.#rest = new Uint8Array(0);
      return rest;
    }
    while (!this.#ended) {
      try {
        const chunk = await this.#reader.read();
        if (chunk.done) this.#ended = true;
        else if (chunk.value.byteLength > 0) return chunk.value;
      } catch {
        return undefined;
      }
    }
    return new Uint8Array(0);
  }

  #cut(chunks: readonly Uint8Array[], size: number): Uint8Array {
    const part = new Uint8Array(Math.min(size, this.#partBytes));
    let at = 0;
    for (const chunk of chunks) {
      const fits = chunk.subarray(0, part.byteLength - at);
      part.set(fits, at);
      at += fits.byteLength;
      if (fits.byteLength < chunk.byteLength) this.#rest = chunk.slice(fits.byteLength);
    }
    return part;
  }
}
