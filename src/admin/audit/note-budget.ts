/**
 * Limits the audit rows of refused requests: anybody can send those, and a database takes only so many writes. Each
 * kind has a share of its own, so that noise of one kind hides nothing of another. In each isolate and window:
 *
 *   refusals without a known account or client   `unknownRows` of each action
 *   refusals about an account or client          `rowsEach` of each action and account, the first one always;
 *                                                `knownRows` in all
 *   the rest                                     counted by kind; the first request that is counted waits until the
 *                                                window is over and then writes a row with the count of each kind
 *
 * A request may be cut off while it waits, so the next one takes over if no counts were collected for two windows.
 * Memory is bounded: actions are words of the code, every known account has a row in the window, and counts beyond
 * `kinds` become one.
 */
export interface NoteKind {
  readonly action: string;
  /** The account or client; empty if none is known. */
  readonly about: string;
}

export interface Counted extends NoteKind {
  readonly count: number;
}

export interface NoteLimits {
  readonly unknownRows: number;
  readonly rowsEach: number;
  readonly knownRows: number;
  readonly kinds: number;
  readonly windowMs: number;
}

/** Counts of all kinds beyond `kinds`. */
const OTHERS: NoteKind = { action: "", about: "" };

export function createNoteBudget(limits: NoteLimits) {
  let windowBeganMs = Number.NEGATIVE_INFINITY;
  let knownRows = 0;
  const rows = new Map<string, number>();
  const counted = new Map<string, Counted>();
  let waitingSinceMs = Number.NEGATIVE_INFINITY;
  const isWithin = (lengthMs: number, sinceMs: number, nowMs: number): boolean => Math.abs(nowMs - sinceMs) < lengthMs;
  const keyOf = ({ action, about }: NoteKind): string => JSON.stringify([action, about]);

  /** Takes a row, if one is left. */
  function takeRow(kind: NoteKind): boolean {
    const isKnown = kind.about !== "";
    const key = keyOf(kind);
    const taken = rows.get(key) ?? 0;
    if (taken >= (isKnown ? limits.rowsEach : limits.unknownRows)) return false;
    // The first row is never refused: requests about many accounts cannot hide one.
    if (isKnown && taken > 0 && knownRows >= limits.knownRows) return false;
    rows.set(key, taken + 1);
    if (isKnown) knownRows += 1;
    return true;
  }

  function count(kind: NoteKind): void {
    const hasPlace = counted.has(keyOf(kind)) || counted.size < limits.kinds;
    const counter = hasPlace ? kind : OTHERS;
    counted.set(keyOf(counter), { ...counter, count: (counted.get(keyOf(counter))?.count ?? 0) + 1 });
  }

  return {
    /** `counted, and tell`: the caller waits for a window, collects the counts and writes them. */
    take(kind: NoteKind, nowMs: number): "row" | "counted" | "counted, and tell" {
      if (!isWithin(limits.windowMs, windowBeganMs, nowMs)) {
        windowBeganMs = nowMs;
        knownRows = 0;
        rows.clear();
      }
      if (takeRow(kind)) return "row";
      count(kind);
      if (isWithin(2 * limits.windowMs, waitingSinceMs, nowMs)) return "counted";
      waitingSinceMs = nowMs;
      return "counted, and tell";
    },
    /** Returns the counts since the last time. */
    collect(): readonly Counted[] {
      const all = [...counted.values()];
      counted.clear();
      waitingSinceMs = Number.NEGATIVE_INFINITY;
      return all;
    },
  };
}
