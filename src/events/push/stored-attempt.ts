import type { Attempt, AttemptError } from "./types.ts";

/** Time, duration, status, error and, if the publish has spans, its trace. */
export type StoredAttempt = readonly [number, number, number | null, AttemptError | null, string?];

export const toStored = ({ atMs, durationMs, status, error, trace }: Attempt): StoredAttempt => [
  atMs,
  durationMs,
  status ?? null,
  error ?? null,
  ...(trace === undefined ? ([] as const) : ([trace] as const)),
];

export const attemptOf = ([atMs, durationMs, status, error, trace]: StoredAttempt): Attempt => ({
  atMs,
  durationMs,
  status: status ?? undefined,
  error: error ?? undefined,
  ...(trace === undefined ? {} : { trace }),
});
