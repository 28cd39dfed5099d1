import type { AttemptError } from "../../platform/delivery/response.ts";
import type { Attempt } from "./types.ts";

/** Time, duration, status, error; the trace if the publish has spans, and the start of the body of a refusal. */
export type StoredAttempt = readonly [number, number, number | null, AttemptError | null, (string | null)?, string?];

export function toStored({ atMs, durationMs, status, error, trace, said }: Attempt): StoredAttempt {
  const result = [atMs, durationMs, status ?? null, error ?? null] as const;
  if (said !== undefined) return [...result, trace ?? null, said];
  return trace === undefined ? result : [...result, trace];
}

export const attemptOf = ([atMs, durationMs, status, error, trace, said]: StoredAttempt): Attempt => ({
  atMs,
  durationMs,
  status: status ?? undefined,
  error: error ?? undefined,
  ...(typeof trace === "string" && { trace }),
  ...(said !== undefined && { said }),
});
