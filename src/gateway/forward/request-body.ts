import { discard } from "../../http/body.ts";
import { withTimeout } from "../../platform/with-timeout.ts";
import { watchdog } from "../model/watchdog.ts";

/** A caller's body on its way to a service, and what became of it. */
export interface CarriedBody {
  readonly stream: ReadableStream<Uint8Array>;
  /** Why it did not arrive whole, if that was the caller's doing. */
  fault(): BodyFault | undefined;
  /** The service's connection took all of it. */
  isTaken(): boolean;
  /**
   * To be awaited before an answer goes out to its end: where that comes first the runtime closes the connection, and a
   * caller who is still sending sees a broken pipe in the place of the answer. It takes a second at most. Meanwhile the
   * service takes what it will; what it will not is read and thrown away.
   */
  rest(): Promise<void>;
  /** The service takes no more. */
  giveUp(): void;
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
const REST_MS = 1_000;

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
  let isTaken = false;
  let isGivenUp = false;
  let isOver = false;
  const over = Promise.withResolvers<void>();
  const end = (): void => {
    isOver = true;
    over.resolve();
  };
  /** Undefined at the end. */
  const read = async (): Promise<Uint8Array | undefined> => {
    const { value } = await reader.read(new Uint8Array(PIECE_BYTES));
    sizeBytes += value?.byteLength ?? 0;
    const isEnd = value === undefined || value.byteLength === 0;
    if (isEnd || sizeBytes === lengthBytes) end();
    return isEnd ? undefined : value;
  };

  const idle = watchdog(callerIdleMs, () => {
    fault ??= "broken off";
    reader.cancel().catch(() => undefined);
  });
  const next = async (): Promise<Uint8Array | undefined> => {
    waitsFor("caller");
    idle.begin();
    try {
      const piece = await read();
      if (sizeBytes > maxBytes) fault ??= "too large";
      if (fault !== undefined) throw new Error(`the caller's body: ${fault}`);
      return piece;
    } catch (thrown) {
      fault ??= "broken off";
      throw thrown;
    } finally {
      idle.end();
      waitsFor("service");
    }
  };
  let reading: Promise<unknown> = Promise.resolve();
  const giveUp = (): void => {
    if (isGivenUp) return;
    isGivenUp = true;
    const sizeOfNext = async (): Promise<number | undefined> => (await read())?.byteLength;
    void reading
      .catch(() => undefined)
      .then(() => (isOver ? undefined : discard(sizeOfNext, () => reader.cancel())))
      .finally(end);
  };
  const stream = new ReadableStream({
    type: "bytes",
    async pull(controller) {
      try {
        const piece = await (reading = next());
        // Nobody is there to take it: that breaks nothing off.
        if (isGivenUp) return;
        if (piece !== undefined) return controller.enqueue(piece);
        if (lengthBytes === undefined) isTaken = true;
        controller.close();
      } catch (thrown) {
        if (isGivenUp) return;
        abort();
        controller.error(thrown);
        giveUp();
      }
    },
    cancel: giveUp,
  });
  return {
    stream: lengthBytes === undefined ? stream : ofLength(stream, lengthBytes, () => void (isTaken = true)),
    fault: () => fault,
    isTaken: () => isTaken,
    rest: () => withTimeout(REST_MS, over.promise).catch(() => undefined),
    giveUp,
  };
}

/** The service is told the length. */
function ofLength(
  stream: ReadableStream<Uint8Array>,
  lengthBytes: number,
  taken: () => void,
): ReadableStream<Uint8Array> {
  const fixed = new FixedLengthStream(lengthBytes);
  stream.pipeTo(fixed.writable).then(taken, () => undefined);
  return fixed.readable;
}
