import { pump } from "./pump.ts";

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
}

/** `lengthBytes` is what the caller declared; a body without a length is counted as it comes. */
export function carryBody(
  body: ReadableStream<Uint8Array>,
  lengthBytes: number | undefined,
  { maxBytes, callerIdleMs, waitsFor }: CarryLimits,
): CarriedBody {
  const { readable, writable } =
    lengthBytes === undefined ? new IdentityTransformStream() : new FixedLengthStream(lengthBytes);
  let fault: BodyFault | undefined;
  let sizeBytes = 0;
  let idle: ReturnType<typeof setTimeout> | undefined;
  const end = (why: BodyFault): void => {
    fault ??= why;
    carried.stop(new Error(`the caller's body: ${why}`));
  };
  const carried = pump(body, writable, {
    reading() {
      waitsFor("caller");
      idle = setTimeout(() => end("broken off"), callerIdleMs);
    },
    got(pieceBytes) {
      clearTimeout(idle);
      waitsFor("service");
      sizeBytes += pieceBytes;
      if (sizeBytes > maxBytes) end("too large");
    },
    ended() {
      clearTimeout(idle);
      waitsFor("service");
    },
    broke() {
      clearTimeout(idle);
      fault ??= "broken off";
    },
  });
  return { stream: readable, fault: () => fault };
}
