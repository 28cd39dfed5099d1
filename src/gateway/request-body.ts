/** A caller's body on its way to a service, and what became of it. */
export interface CarriedBody {
  readonly stream: ReadableStream<Uint8Array>;
  /** Why it did not arrive whole, if that was the caller's doing. */
  fault(): BodyFault | undefined;
}

export type BodyFault = "too large" | "broken off";

export interface CarryLimits {
  readonly maxBytes: number;
  /** How long the caller may take between two pieces. */
  readonly callerIdleMs: number;
  /** Told who is waited for from now on: the service, or the caller again. */
  waitsFor(whom: "service" | "caller"): void;
  /** Breaks the call of the service off. */
  abort(): void;
}

const PIECE_BYTES = 64 * 1024;

/**
 * `lengthBytes` is what the caller declared; a body without a length is counted as it comes.
 *
 * A body that does not arrive whole must not look whole to the service, and in chunks it would: where a stream breaks the
 * runtime ends its chunks properly. So the call is broken off before the stream is.
 */
export function carryBody(
  body: ReadableStream<Uint8Array>,
  lengthBytes: number | undefined,
  { maxBytes, callerIdleMs, waitsFor, abort }: CarryLimits,
): CarriedBody {
  const reader = body.getReader({ mode: "byob" });
  let fault: BodyFault | undefined;
  let sizeBytes = 0;

  const next = async (): Promise<Uint8Array | undefined> => {
    waitsFor("caller");
    const idle = setTimeout(() => {
      fault ??= "broken off";
      reader.cancel().catch(() => undefined);
    }, callerIdleMs);
    try {
      const { value } = await reader.read(new Uint8Array(PIECE_BYTES));
      sizeBytes += value?.byteLength ?? 0;
      if (sizeBytes > maxBytes) fault ??= "too large";
      if (fault !== undefined) throw new Error(`the caller's body: ${fault}`);
      return value?.byteLength === 0 ? undefined : value;
    } catch (thrown) {
      fault ??= "broken off";
      throw thrown;
    } finally {
      clearTimeout(idle);
      waitsFor("service");
    }
  };
  const stream = new ReadableStream({
    type: "bytes",
    async pull(controller) {
      try {
        const piece = await next();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      } catch (thrown) {
        abort();
        controller.error(thrown);
        await reader.cancel(thrown).catch(() => undefined);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return { stream: lengthBytes === undefined ? stream : ofLength(stream, lengthBytes), fault: () => fault };
}

/** The service is told the length. */
function ofLength(stream: ReadableStream<Uint8Array>, lengthBytes: number): ReadableStream<Uint8Array> {
  const fixed = new FixedLengthStream(lengthBytes);
  stream.pipeTo(fixed.writable).catch(() => undefined);
  return fixed.readable;
}
