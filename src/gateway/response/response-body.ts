import { pump, type PumpWatch } from "../pump.ts";
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
