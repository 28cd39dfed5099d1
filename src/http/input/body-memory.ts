import type { Clock } from "../../platform/runtime/clock.ts";
import { createReservations } from "../../platform/runtime/reservations.ts";

/**
 * Memory for large bodies of requests and answers. An isolate has 128 MB for all of its requests. A body that is
 * parsed, checked and encoded again takes about five times its bytes: a publish of 5 MiB 22 to 27 MB. So two of the
 * largest fit, and any number of small ones. Another one is refused with 503, rather than ending the isolate with
 * everything that runs in it.
 */
export interface BodyMemory {
  /** Reserves memory before so many bytes are read; false if there is none. To be asked once. */
  admits(bytes: number): boolean;
  release(): void;
}

/** Bodies up to this size need no reservation. */
export const SMALL_BODY_BYTES = 256 * 1024;
const LIMITS = { heldBytes: 52 * 1024 * 1024, copies: 5, requestMs: 30_000 } as const;
/** An answer exists as the text that an object gave, and as bytes. */
const ANSWERS = { heldBytes: 52 * 1024 * 1024, copies: 2, parts: 4 } as const;

const reserve = createReservations(LIMITS.heldBytes, LIMITS.requestMs);
const reserveForAnswer = createReservations(ANSWERS.heldBytes, LIMITS.requestMs);

export function createBodyMemory(requestId: string, nowMs: number): BodyMemory {
  let release: (() => void) | undefined;
  return {
    admits(bytes) {
      if (bytes <= SMALL_BODY_BYTES) return true;
      release = reserve(requestId, bytes * LIMITS.copies, nowMs);
      return release !== undefined;
    },
    release: () => release?.(),
  };
}

/**
 * Memory for the answer to a request, reserved before its text is asked for. Where there is little, the answer may be a
 * quarter as large, and so on: a batch of events is then smaller, and the caller comes again. The smallest answers need
 * no reservation.
 */
export interface AnswerMemory {
  /** Reserves up to so many bytes. Undefined: all of them, else what the answer may have. */
  reserve(bytes: number): number | undefined;
  /** To be called once the answer is sent or needs no memory. */
  release(): void;
}

export function createAnswerMemory(requestId: string, clock: Clock): AnswerMemory {
  let release: (() => void) | undefined;
  return {
    reserve(bytes) {
      for (let part = bytes; part > SMALL_BODY_BYTES; part = Math.ceil(part / ANSWERS.parts)) {
        release = reserveForAnswer(requestId, part * ANSWERS.copies, clock.nowMs());
        if (release !== undefined) return part === bytes ? undefined : part;
      }
      return bytes > SMALL_BODY_BYTES ? SMALL_BODY_BYTES : undefined;
    },
    release: () => release?.(),
  };
}
