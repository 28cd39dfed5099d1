/**
 * The preference `wait` of a request (RFC 7240 4.3): how many whole seconds the caller will wait for a better answer.
 * Undefined without one. A value that is not a number of seconds is ignored, as the RFC asks.
 */
export function preferredWaitSec(headers: Headers, maxSec: number): number | undefined {
  for (const preference of (headers.get("prefer") ?? "").slice(0, MAX_CHARS).split(/[,;]/)) {
    const [, seconds] = /^\s*wait\s*=\s*"?(\d{1,9})"?\s*$/i.exec(preference) ?? [];
    if (seconds !== undefined) return Math.min(Number(seconds), maxSec);
  }
  return undefined;
}

const MAX_CHARS = 1024;
