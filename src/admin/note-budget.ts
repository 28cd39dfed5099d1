/**
 * How many audit rows requests that are refused may cause: anybody can send those, and a database takes only so many
 * writes. Each kind has a share of its own, so that noise of one hides nothing of another. Of each isolate and window:
 *
 *   what is about nobody that there is   `unknownRows` of each action
 *   what is about an account or client   `rowsEach` of each action and account, the first one always, `knownRows` in all
 *   beyond                               counted, kind by kind; the first one that is counted becomes the teller: it
 *                                        waits, collects the counts, and writes one row for each kind
 *
 * A teller may die with its request, so another takes its place when nothing was collected for two windows. Memory is
 * bounded: actions are words of the code, accounts have a row each at least, and counts of more than `kinds` are one.
 */
export interface NoteBudget {
  take(kind: NoteKind, nowMs: number): "row" | "counted" | "counted, and tell";
  /** What was counted since the last time. */
  collect(): readonly Counted[];
}

/** `about`: which account or client it is about; empty where there is none. */
export interface NoteKind {
  readonly action: string;
  readonly about: string;
}

/** Of what no kind was left for, the action is empty. */
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

const REST: NoteKind = { action: "", about: "" };

export function createNoteBudget(limits: NoteLimits): NoteBudget {
  let windowBeganMs = Number.NEGATIVE_INFINITY;
  let knownRows = 0;
  const rows = new Map<string, number>();
  const counted = new Map<string, Counted>();
  let tellerSinceMs = Number.NEGATIVE_INFINITY;
  /** A clock that was set back ends what it measured. */
  const isWithin = (lengthMs: number, sinceMs: number, nowMs: number): boolean => Math.abs(nowMs - sinceMs) < lengthMs;
  const keyOf = ({ action, about }: NoteKind): string => JSON.stringify([action, about]);

  /** Whether there is a row left for it, which it then has. */
  function hasRow(kind: NoteKind): boolean {
    const isKnown = kind.about !== "";
    const key = keyOf(kind);
    const taken = rows.get(key) ?? 0;
    if (taken >= (isKnown ? limits.rowsEach : limits.unknownRows)) return false;
    // The first is never refused: naming many accounts hides none.
    if (isKnown && taken > 0 && knownRows >= limits.knownRows) return false;
    rows.set(key, taken + 1);
    if (isKnown) knownRows += 1;
    return true;
  }

  function count(kind: NoteKind): void {
    const isLeft = counted.has(keyOf(kind)) || counted.size < limits.kinds;
    const told = isLeft ? kind : REST;
    counted.set(keyOf(told), { ...told, count: (counted.get(keyOf(told))?.count ?? 0) + 1 });
  }

  return {
    take(kind, nowMs) {
      if (!isWithin(limits.windowMs, windowBeganMs, nowMs)) {
        windowBeganMs = nowMs;
        knownRows = 0;
        rows.clear();
      }
      if (hasRow(kind)) return "row";
      count(kind);
      if (isWithin(2 * limits.windowMs, tellerSinceMs, nowMs)) return "counted";
      tellerSinceMs = nowMs;
      return "counted, and tell";
    },
    collect() {
      const all = [...counted.values()];
      counted.clear();
      tellerSinceMs = Number.NEGATIVE_INFINITY;
      return all;
    },
  };
}
