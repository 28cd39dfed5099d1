import { pump } from "./pump.ts";

export interface AnswerBody {
  /** How long the service may take between two pieces. */
  readonly idleMs: number;
  /** Of the answer as it goes out; undefined where that is not known beforehand. */
  readonly lengthBytes: number | undefined;
  /** What every piece goes through. */
  readonly through: TransformStream<Uint8Array, Uint8Array> | undefined;
  /** The service broke off, or took too long; the caller sees a broken connection, never a whole answer. */
  brokeOff(thrown: unknown): void;
}

/** A service's body on its way to the caller. */
export function carryAnswer(
  body: ReadableStream<Uint8Array>,
  { idleMs, lengthBytes, through, brokeOff }: AnswerBody,
): ReadableStream<Uint8Array> {
  const { readable, writable } =
    through ?? (lengthBytes === undefined ? new IdentityTransformStream() : new FixedLengthStream(lengthBytes));
  let idle: ReturnType<typeof setTimeout> | undefined;
  const carried = pump(body, writable, {
    // A caller that takes its time costs the service nothing of its own.
    reading: () => void (idle = setTimeout(() => carried.stop(new Error(`nothing for ${idleMs} ms`)), idleMs)),
    got: () => clearTimeout(idle),
    ended: () => clearTimeout(idle),
    broke(thrown) {
      clearTimeout(idle);
      brokeOff(thrown);
    },
  });
  return readable;
}
