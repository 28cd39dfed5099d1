import type { Failure } from "./failure.ts";
import { IDEMPOTENCY_KEY } from "./limits.ts";

/** Why this `Idempotency-Key` header, of a publish or a read, is none; undefined when it is one, or absent. */
export const refusedKey = (key: string | null): Failure | undefined =>
  key === null || (key.length <= IDEMPOTENCY_KEY.maxChars && /^[\x21-\x7e]+$/.test(key))
    ? undefined
    : { kind: "key_malformed", maxChars: IDEMPOTENCY_KEY.maxChars };
