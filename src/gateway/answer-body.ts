import { within } from "../platform/within.ts";
import { pump, type PumpWatch } from "./pump.ts";
import type { Scan } from "./rewrite-scan.ts";

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
  let idle: ReturnType<typeof setTimeout> | undefined;
  let gotBytes = 0;
  const watch: PumpWatch = {
    // A caller that takes its time costs the service nothing of its own.
    reading: () => void (idle = setTimeout(() => carried.stop(new Error(`nothing for ${idleMs} ms`)), idleMs)),
    got(sizeBytes) {
      clearTimeout(idle);
      gotBytes += sizeBytes;
      // The runtime takes the answer for sent when it has as many bytes.
      return gotBytes === lengthBytes ? beforeEnd?.() : undefined;
    },
    ended() {
      clearTimeout(idle);
      return beforeEnd?.();
    },
    async broke(thrown) {
      clearTimeout(idle);
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
  body: ReadableStream<Uint8Array>,
  {
    idleMs,
    lengthBytes,
    scan,
    brokeOff,
  }: Omit<AnswerBody, "beforeEnd" | "mayBeEmpty"> & { readonly lengthBytes: number },
): Promise<Uint8Array | undefined> {
  try {
    const bytes = new Uint8Array(await within(idleMs, new Response(body).arrayBuffer()));
    if (bytes.length !== lengthBytes) throw new Error(`${bytes.length} of ${lengthBytes} bytes`);
    if (scan === undefined) return bytes;
    const buffer = new Uint8Array(scan.room + bytes.length);
    buffer.set(bytes, scan.room);
    return scan.next(buffer, buffer.length, true);
  } catch (thrown) {
    brokeOff(thrown);
    return undefined;
  }
}
