import { discard } from "../../http/input/body.ts";
import { withTimeout } from "../../platform/runtime/with-timeout.ts";
import { watchdog } from "../model/watchdog.ts";

/** A caller's body on its way to a service. */
export interface RelayedBody {
  readonly stream: ReadableStream<Uint8Array>;
  /** The reason why the body did not arrive whole, if the caller caused it. */
  fault(): BodyFault | undefined;
  /** True once the connection to the service has taken the whole body. */
  isSent(): boolean;
  /**
   * Resolves when the body has been read, after a second at most. Await it before the end of a response is sent:
   * otherwise the runtime closes the connection, and a caller that is still sending sees a broken pipe and no response.
   */
  settled(): Promise<void>;
  /** Stops sending to the service, and reads and discards the rest of the body. */
  abandon(): void;
}

export type BodyFault = "too large" | "broken off";

export interface RelayOptions {
  readonly maxBytes: number;
  /** Maximum pause of the caller between two pieces. */
  readonly callerIdleMs: number;
  /** Called when the relay starts to wait for a side. */
  onWaitFor(side: "service" | "caller"): void;
  /** Aborts the call to the service. */
  abort(): void;
}

const PIECE_BYTES = 64 * 1024;
const SETTLE_MS = 1_000;

/**
 * Passes a caller's body on and counts its bytes. `lengthBytes` is the declared length, undefined for a chunked body.
 *
 * An incomplete body must not look complete to the service. A chunked one would, since the runtime ends the chunks of a
 * failed stream properly. So the call is aborted before the stream fails.
 */
export function relayBody(
  body: ReadableStream<Uint8Array>,
  lengthBytes: number | undefined,
  { maxBytes, callerIdleMs, onWaitFor, abort }: RelayOptions,
): RelayedBody {
  const reader = body.getReader({ mode: "byob" });
  let fault: BodyFault | undefined;
  let sizeBytes = 0;
  let isSent = false;
  let isAbandoned = false;
  let isRead = false;
  const allRead = Promise.withResolvers<void>();
  const end = (): void => {
    isRead = true;
    allRead.resolve();
  };
  /** Reads a piece; undefined at the end of the body. */
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
    onWaitFor("caller");
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
      onWaitFor("service");
    }
  };
  let reading: Promise<unknown> = Promise.resolve();
  const abandon = (): void => {
    if (isAbandoned) return;
    isAbandoned = true;
    const sizeOfNext = async (): Promise<number | undefined> => (await read())?.byteLength;
    void reading
      .catch(() => undefined)
      .then(() => (isRead ? undefined : discard(sizeOfNext, () => reader.cancel())))
      .finally(end);
  };
  const stream = new ReadableStream({
    type: "bytes",
    async pull(controller) {
      try {
        const piece = await (reading = next());
        // The stream has no reader any more, so there is nothing to pass on or to abort.
        if (isAbandoned) return;
        if (piece !== undefined) return controller.enqueue(piece);
        if (lengthBytes === undefined) isSent = true;
        controller.close();
      } catch (thrown) {
        if (isAbandoned) return;
        abort();
        controller.error(thrown);
        abandon();
      }
    },
    cancel: abandon,
  });
  return {
    stream: lengthBytes === undefined ? stream : withLength(stream, lengthBytes, () => void (isSent = true)),
    fault: () => fault,
    isSent: () => isSent,
    settled: () => withTimeout(SETTLE_MS, allRead.promise).catch(() => undefined),
    abandon,
  };
}

/** Wraps a stream of known length, so that the runtime sends a `Content-Length`. */
function withLength(
  stream: ReadableStream<Uint8Array>,
  lengthBytes: number,
  onSent: () => void,
): ReadableStream<Uint8Array> {
  const fixed = new FixedLengthStream(lengthBytes);
  stream.pipeTo(fixed.writable).then(onSent, () => undefined);
  return fixed.readable;
}
