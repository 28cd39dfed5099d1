import { watchdog, type Watchdog } from "../model/watchdog.ts";
import type { Scan } from "../rewrite/scan.ts";

export interface ResponseBody {
  /** Maximum pause of the service between two pieces. */
  readonly idleMs: number;
  /** Length of the body that the caller gets; undefined if not known in advance. */
  readonly lengthBytes: number | undefined;
  /** Rewrites every piece. */
  readonly scan: Scan | undefined;
  /** Awaited before the last piece is sent. */
  readonly beforeEnd: (() => Promise<void>) | undefined;
  /** True if the response is still useful without any byte of its body. */
  readonly mayBeEmpty: boolean;
  /**
   * Called if the service disconnected or took too long. The caller gets a broken connection, not a short response.
   * `isUseful`: the caller gets the response without a body instead.
   */
  onBroken(thrown: unknown, isUseful: boolean): void;
  /** Called at the end of a body of unknown length, with its size before rewriting. */
  onPassedOn(sizeBytes: number): void;
}

/** Passes a service's body on to the caller. */
export function relayResponseBody(
  body: ReadableStream<Uint8Array>,
  { idleMs, lengthBytes, scan, beforeEnd, mayBeEmpty, onBroken, onPassedOn }: ResponseBody,
): ReadableStream<Uint8Array> {
  const { readable, writable } =
    lengthBytes === undefined ? new IdentityTransformStream() : new FixedLengthStream(lengthBytes);
  const idle = watchdog(idleMs, () => pipe.stop(new Error(`nothing for ${idleMs} ms`)));
  let receivedBytes = 0;
  const events: PipeEvents = {
    // Only the time of waiting for the service counts, not that of waiting for the caller.
    reading: () => idle.begin(),
    received(sizeBytes) {
      idle.end();
      receivedBytes += sizeBytes;
      // The runtime ends the response with its last declared byte, so await `beforeEnd` before that.
      return receivedBytes === lengthBytes ? beforeEnd?.() : undefined;
    },
    ended() {
      idle.end();
      if (lengthBytes === undefined) onPassedOn(receivedBytes);
      return beforeEnd?.();
    },
    async failed(thrown) {
      idle.end();
      const isUseful = mayBeEmpty && receivedBytes === 0 && lengthBytes === undefined;
      onBroken(thrown, isUseful);
      await beforeEnd?.();
      return isUseful ? "end" : undefined;
    },
  };
  const pipe = pipeBody(body, writable, events, scan);
  return readable;
}

/**
 * A body of known length up to this size is read as a whole, since streaming a small body costs more than all the rest.
 */
export const WHOLE_BYTES = 16 * 1024;

/**
 * Reads a small body. Undefined if it did not arrive whole in time, so that no part of it is sent. The time limit is
 * for the whole body: a reader that reports each piece cost a third of the requests a second.
 */
export async function readWhole(
  response: Response,
  lengthBytes: number,
  {
    deadline,
    scan,
    mayBeEmpty,
    onBroken,
  }: Pick<ResponseBody, "scan" | "mayBeEmpty" | "onBroken"> & { readonly deadline: Watchdog },
): Promise<Uint8Array | undefined> {
  deadline.begin();
  try {
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (bytes.length !== lengthBytes) throw new Error(`${bytes.length} of ${lengthBytes} bytes`);
    return scan === undefined ? bytes : scan.whole(bytes);
  } catch (thrown) {
    onBroken(thrown, mayBeEmpty);
    return undefined;
  } finally {
    deadline.end();
  }
}

/** Events of a pipe between two connections. */
interface PipeEvents {
  /** The source is asked for more. */
  reading(): void;
  /** The source delivered a piece; the sink gets it now, or when the promise resolves. */
  received(sizeBytes: number): Promise<void> | undefined;
  /** The source ended; the sink is closed now, or when the promise resolves. */
  ended(): Promise<void> | undefined;
  /**
   * The source failed or was stopped. When the promise resolves, the sink is aborted, or closed if it says "end". Not
   * called if the sink failed first.
   */
  failed(thrown: unknown): Promise<"end" | undefined>;
}

interface Pipe {
  /** Aborts both sides. */
  stop(reason: Error): void;
}

/** Maximum bytes of one read. The buffer grows while a source keeps filling it. */
const PIECE_BYTES = { first: 16 * 1024, most: 128 * 1024 } as const;

/**
 * Passes a body on piece by piece, as fast as the sink accepts it, with one piece in memory at a time. If one side
 * fails, the other is aborted. `scan` rewrites every piece.
 *
 * The sink must be a stream of the runtime: it has consumed a piece when its write resolves, so the next read reuses
 * the buffer. A TransformStream in JavaScript took five times as long, smaller pieces twice as long.
 */
function pipeBody(
  source: ReadableStream<Uint8Array>,
  sink: WritableStream<Uint8Array>,
  events: PipeEvents,
  scan?: Scan,
): Pipe {
  const reader = source.getReader({ mode: "byob" });
  const writer = sink.getWriter();
  const headroom = scan?.headroom ?? 0;
  let buffer = new ArrayBuffer(headroom + PIECE_BYTES.first);
  let wasFilled = false;
  let stopped: Error | undefined;
  let sinkIsGone = false;

  /** Undefined at the end. */
  const next = async (): Promise<Uint8Array | undefined> => {
    events.reading();
    if (wasFilled && buffer.byteLength < PIECE_BYTES.most) buffer = new ArrayBuffer(2 * buffer.byteLength);
    const { done, value } = await reader.read(new Uint8Array(buffer, headroom));
    // A cancelled reader reports `done`, as at the end of a body.
    if (stopped !== undefined) throw stopped;
    if (done || value === undefined) return undefined;
    const wait = events.received(value.byteLength);
    if (wait !== undefined) await wait;
    if (stopped !== undefined) throw stopped;
    buffer = value.buffer;
    wasFilled = headroom + value.byteLength === buffer.byteLength;
    return scan === undefined ? value : scan.next(new Uint8Array(buffer), headroom + value.byteLength, false);
  };
  const put = async (piece: Uint8Array): Promise<void> => {
    if (piece.byteLength > 0) await writer.write(piece);
  };
  const run = async (): Promise<void> => {
    try {
      for (;;) {
        let piece: Uint8Array | undefined;
        try {
          piece = await next();
        } catch (thrown) {
          if (sinkIsGone || (await events.failed(thrown)) !== "end") throw thrown;
        }
        if (piece === undefined) break;
        await put(piece);
      }
      if (scan !== undefined) await put(scan.next(new Uint8Array(headroom), headroom, true));
      await events.ended();
      await writer.close();
    } catch (thrown) {
      await Promise.allSettled([reader.cancel(thrown), writer.abort(thrown)]);
    }
  };
  const stop = (reason: Error): void => {
    stopped ??= reason;
    void reader.cancel(reason).catch(() => undefined);
  };
  // The caller disconnected: stop reading.
  writer.closed.catch((thrown: unknown) => {
    sinkIsGone = true;
    stop(new Error("nobody takes it any more", { cause: thrown }));
  });
  void run();
  return { stop };
}
