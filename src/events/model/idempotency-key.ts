import type { Failure } from "./failure.ts";
import { IDEMPOTENCY_KEY } from "./limits.ts";

/** Checks an `Idempotency-Key` header. Undefined if it is valid or absent. */
export const refusedKey = (key: string | null): Failure | undefined =>
  key === null || (key.length <= IDEMPOTENCY_KEY.maxChars && /^[\x21-\x7e]+$/.test(key))
    ? undefined
    : { kind: "key_malformed", maxChars: IDEMPOTENCY_KEY.maxChars };
