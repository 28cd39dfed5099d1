import { createReservations } from "../platform/reservations.ts";

/**
 * Memory for large bodies. An isolate has 128 MB for all of its requests. A body that is parsed, checked and encoded
 * again takes about five times its bytes: a publish of 5 MiB 22 to 27 MB. So two of the largest fit, and any number of
 * small ones. Another one is refused with 503, rather than ending the isolate with everything that runs in it.
 */
export interface BodyMemory {
  /** Reserves memory before so many bytes are read; false if there is none. To be asked once. */
  admits(bytes: number): boolean;
  release(): void;
}

/** Bodies up to this size need no reservation. */
export const SMALL_BODY_BYTES = 256 * 1024;
const LIMITS = { heldBytes: 52 * 1024 * 1024, copies: 5, requestMs: 30_000 } as const;

const reserve = createReservations(LIMITS.heldBytes, LIMITS.requestMs);

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
