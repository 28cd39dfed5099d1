import type { Clock } from "../../platform/runtime/clock.ts";
import { createReservations } from "../../platform/runtime/reservations.ts";

/**
 * Memory for large bodies of requests and answers. An isolate has 128 MB for all of its requests. A body that is
 * parsed, checked and encoded again takes about five times its bytes: a publish of 5 MiB takes 22 to 27 MB. So two of
 * the largest fit, and any number of small ones. Another one is refused with 503. Otherwise the isolate would end, with
 * everything that runs in it.
 *
 *   coming: what has come ──whole──▶ five times its bytes ──answered──▶ nothing
 *      └── no room for more, or 256 KiB take over 30 s: refused, so it holds nothing
 *
 * A caller can send slowly for as long as it likes. So a body holds what has come, and all bodies of one caller hold at
 * most half of the memory. No body waits for memory that another one holds.
 */
export interface BodyMemory {
  /** True if a whole body of so many bytes would have memory now. It then holds none yet. */
  hasRoomFor(bytes: number): boolean;
  /** Holds memory for the bytes that have come; false if there is none. Each call replaces what is held. */
  holdComing(bytes: number): boolean;
  /** The same for a body that is whole. */
  holdWhole(bytes: number): boolean;
  release(): void;
}

/** Bodies up to this size need no reservation. */
export const SMALL_BODY_BYTES = 256 * 1024;
/** The time for the next 256 KiB of a larger body. */
export const STEP_MS = 30_000;
const LIMITS = { heldBytes: 52 * 1024 * 1024, copies: 5, requestMs: STEP_MS } as const;
/** An answer is in memory twice: as the text that an object returned, and as bytes. */
const ANSWERS = { heldBytes: 52 * 1024 * 1024, copies: 2, parts: 4 } as const;

const reserve = createReservations(LIMITS.heldBytes, LIMITS.requestMs, LIMITS.heldBytes / 2);
const reserveForAnswer = createReservations(ANSWERS.heldBytes, LIMITS.requestMs);

/** `ownerOf`: names the caller. */
export function createBodyMemory(requestId: string, ownerOf: () => string, clock: Clock): BodyMemory {
  let release: (() => void) | undefined;
  const hold = (bytes: number): boolean => {
    release?.();
    release = reserve(requestId, bytes, clock.nowMs(), ownerOf());
    return release !== undefined;
  };
  return {
    hasRoomFor(bytes) {
      const hasRoom = bytes <= SMALL_BODY_BYTES || hold(bytes * LIMITS.copies);
      release?.();
      return hasRoom;
    },
    holdComing: (bytes) => bytes <= SMALL_BODY_BYTES || hold(bytes),
    holdWhole: (bytes) => bytes <= SMALL_BODY_BYTES || hold(bytes * LIMITS.copies),
    release: () => release?.(),
  };
}

/**
 * Memory for the answer to a request, reserved before its text is read. If there is little memory, the answer may have
 * only a quarter of the size, and so on: a batch of events is then smaller, and the caller reads the rest later. The
 * smallest answers need no reservation.
 */
export interface AnswerMemory {
  /** Reserves up to so many bytes. Returns the size that the answer may have; undefined if it may have all of them. */
  reserve(bytes: number): number | undefined;
  /** Call it once the answer is sent or needs no memory. */
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
