/** Bytes on their way between two connections, and who is waited for meanwhile. */
export interface PumpWatch {
  /** The source is asked for more. */
  reading(): void;
  /** It gave some, which the sink now has to take. */
  got(sizeBytes: number): void;
  /** It came to its end. */
  ended(): void;
  /** It broke off, or was stopped. Not called where the sink was given up. */
  broke(thrown: unknown): void;
}

export interface Pump {
  /** Breaks off both sides. */
  stop(reason: Error): void;
}

/** As much as is there at once, at most this. */
const PIECE_BYTES = 64 * 1024;

/**
 * Carries a body from a connection into `sink`, piece by piece as fast as the sink takes it, so that one piece is in memory
 * at a time. What breaks off on one side is broken off on the other.
 */
export function pump(source: ReadableStream<Uint8Array>, sink: WritableStream<Uint8Array>, watch: PumpWatch): Pump {
  const reader = source.getReader({ mode: "byob" });
  const writer = sink.getWriter();
  let stopped: Error | undefined;
  let sinkIsGone = false;

  /** Undefined at the end. */
  const next = async (): Promise<Uint8Array | undefined> => {
    watch.reading();
    const { done, value } = await reader.read(new Uint8Array(PIECE_BYTES));
    // A reader that was cancelled comes to an end like any other.
    if (stopped !== undefined) throw stopped;
    if (done || value === undefined) return undefined;
    watch.got(value.byteLength);
    if (stopped !== undefined) throw stopped;
    return value;
  };
  const run = async (): Promise<void> => {
    try {
      for (;;) {
        let piece: Uint8Array | undefined;
        try {
          piece = await next();
        } catch (thrown) {
          if (!sinkIsGone) watch.broke(thrown);
          throw thrown;
        }
        if (piece === undefined) break;
        await writer.write(piece);
      }
      watch.ended();
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
