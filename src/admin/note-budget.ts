/**
 * How many audit rows requests that are refused may cause: anybody can send those, and a database takes only so many
 * writes. Of each isolate:
 *
 *   within the window's rows → a row each
 *   beyond → counted; the first one that is counted becomes the teller: it waits, collects the count, and writes one row
 *
 * A teller may die with its request, so another takes its place when nothing was collected for two windows.
 */
export interface NoteBudget {
  take(nowMs: number): "row" | "counted" | "counted, and tell";
  /** What was counted since the last time. */
  collect(): number;
}

export function createNoteBudget(limits: { readonly rows: number; readonly windowMs: number }): NoteBudget {
  let windowBeganMs = Number.NEGATIVE_INFINITY;
  let rows = 0;
  let counted = 0;
  let tellerSinceMs = Number.NEGATIVE_INFINITY;
  /** A clock that was set back ends what it measured. */
  const isWithin = (lengthMs: number, sinceMs: number, nowMs: number): boolean => Math.abs(nowMs - sinceMs) < lengthMs;

  return {
    take(nowMs) {
      if (!isWithin(limits.windowMs, windowBeganMs, nowMs)) {
        windowBeganMs = nowMs;
        rows = 0;
      }
      if (rows < limits.rows) {
        rows += 1;
        return "row";
      }
      counted += 1;
      if (isWithin(2 * limits.windowMs, tellerSinceMs, nowMs)) return "counted";
      tellerSinceMs = nowMs;
      return "counted, and tell";
    },
    collect() {
      const all = counted;
      counted = 0;
      tellerSinceMs = Number.NEGATIVE_INFINITY;
      return all;
    },
  };
}
