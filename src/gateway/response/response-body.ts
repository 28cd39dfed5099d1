import type { Scan } from "../rewrite/scan.ts";
import { watchdog, type Watchdog } from "../model/watchdog.ts";

export interface AnswerBody {
  /** How long the service may take between two pieces. */
  readonly idleMs: number;
  /** Of the answer as it goes out; undefined where that is not known beforehand. */
  readonly lengthBytes: number | undefined;
  /** What every piece goes through. */
  readonly scan: Scan | undefined;
  /** To be awaited before the last of it goes out. */
  readonly beforeEnd: (() => Promise<void>) | undefined;
  /** Without a byte of its body the answer still says what it has to. */
  readonly mayBeEmpty: boolean;
  /** The service broke off, or took too long; the caller sees a broken connection, never a whole answer. */
  brokeOff(thrown: unknown): void;
}

/** A service's body on its way to the caller. */
export function carryAnswer(
  body: ReadableStream<Uint8Array>,
  { idleMs, lengthBytes, scan, beforeEnd, mayBeEmpty, brokeOff }: AnswerBody,
): ReadableStream<Uint8Array> {
  const { readable, writable } =
    lengthBytes === undefined ? new IdentityTransformStream() : new FixedLengthStream(lengthBytes);
  const idle = watchdog(idleMs, () => carried.stop(new Error(`nothing for ${idleMs} ms`)));
  let gotBytes = 0;
  const watch: PumpWatch = {
    // A caller that takes its time costs the service nothing of its own.
    reading: () => idle.begin(),
    got(sizeBytes) {
      idle.end();
      gotBytes += sizeBytes;
      // The runtime takes the answer for sent when it has as many bytes.
      return gotBytes === lengthBytes ? beforeEnd?.() : undefined;
    },
    ended() {
      idle.end();
      return beforeEnd?.();
    },
    async broke(thrown) {
      idle.end();
      brokeOff(thrown);
      await beforeEnd?.();
      return mayBeEmpty && gotBytes === 0 && lengthBytes === undefined ? "end" : undefined;
    },
  };
  const carried = pump(body, writable, watch, scan);
  return readable;
}

/** Up to this, a body whose length is known is taken as a whole: the streams around a small one cost more than all else. */
export const WHOLE_BYTES = 16 * 1024;

/**
 * A service's small body; undefined where it did not come whole in time, so that no half of it goes out. The time is for
 * all of it: to hear of each piece (a reader in the place of `arrayBuffer`) took a third of the requests a second.
 */
export async function takeWhole(
  response: Response,
  lengthBytes: number,
  { patience, scan, brokeOff }: Pick<AnswerBody, "scan" | "brokeOff"> & { readonly patience: Watchdog },
): Promise<Uint8Array | undefined> {
  patience.begin();
  try {
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (bytes.length !== lengthBytes) throw new Error(`${bytes.length} of ${lengthBytes} bytes`);
    return scan === undefined ? bytes : scan.whole(bytes);
  } catch (thrown) {
    brokeOff(thrown);
    return undefined;
  } finally {
    patience.end();
  }
}

/** Bytes on their way between two connections, and who is waited for meanwhile. */
export interface PumpWatch {
  /** The source is asked for more. */
  reading(): void;
  /** It gave some, which the sink gets now, or when the promise is kept. */
  got(sizeBytes: number): Promise<void> | undefined;
  /** It came to its end, and so does the sink now, or when the promise is kept. */
  ended(): Promise<void> | undefined;
  /**
   * It broke off, or was stopped; and so does the sink when the promise is kept, unless that says "end". Not called where
   * the sink was given up.
   */
  broke(thrown: unknown): Promise<"end" | undefined>;
}

export interface Pump {
  /** Breaks off both sides. */
  stop(reason: Error): void;
}

/** What is read at once: as much as is there, at most this. More where a source keeps filling it. */
const PIECE_BYTES = { first: 16 * 1024, most: 128 * 1024 } as const;

/**
 * Carries a body from a connection into `sink`, piece by piece as fast as the sink takes it, so that one piece is in memory
 * at a time. What breaks off on one side is broken off on the other. `scan`: what every piece goes through.
 *
 * The sink has to be the runtime's own, which has taken a piece when its write has ended: the piece's buffer is read into
 * again. A TransformStream of JavaScript took five times as long, and smaller pieces twice (docs/benchmarks.md).
 */
export function pump(
  source: ReadableStream<Uint8Array>,
  sink: WritableStream<Uint8Array>,
  watch: PumpWatch,
  scan?: Scan,
): Pump {
  const reader = source.getReader({ mode: "byob" });
  const writer = sink.getWriter();
  const room = scan?.room ?? 0;
  let buffer = new ArrayBuffer(room + PIECE_BYTES.first);
  let wasFilled = false;
  let stopped: Error | undefined;
  let sinkIsGone = false;

  /** Undefined at the end. */
  const next = async (): Promise<Uint8Array | undefined> => {
    watch.reading();
    if (wasFilled && buffer.byteLength < PIECE_BYTES.most) buffer = new ArrayBuffer(2 * buffer.byteLength);
    const { done, value } = await reader.read(new Uint8Array(buffer, room));
    // A reader that was cancelled comes to an end like any other.
    if (stopped !== undefined) throw stopped;
    if (done || value === undefined) return undefined;
    const wait = watch.got(value.byteLength);
    if (wait !== undefined) await wait;
    if (stopped !== undefined) throw stopped;
    buffer = value.buffer;
    wasFilled = room + value.byteLength === buffer.byteLength;
    return scan === undefined ? value : scan.next(new Uint8Array(buffer), room + value.byteLength, false);
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
          if (sinkIsGone || (await watch.broke(thrown)) !== "end") throw thrown;
        }
        if (piece === undefined) break;
        await put(piece);
      }
      if (scan !== undefined) await put(scan.next(new Uint8Array(room), room, true));
      await watch.ended();
      await writer.close();
    } catch (thrown) {
      await Promise.allSettled([reader.cancel(thrown), writer.abort(thrown)]);
    }
  };
  const stop = (reason: Error): void => {
    stopped ??= reason;
    void reader.cancel(reason).catch(() => undefined);
  };
  // Whoever wanted the bytes went away: nothing more is asked for.
  writer.closed.catch((thrown: unknown) => {
    sinkIsGone = true;
    stop(new Error("nobody takes it any more", { cause: thrown }));
  });
  void run();
  return { stop };
}
