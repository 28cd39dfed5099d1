/**
 * Collects rows in memory and writes those of a moment in one statement.
 *
 *   idle ──a row──▶ writing: all that wait ──▶ pause ──rows came meanwhile──▶ writing …
 *     ▲                                          └──none came──┐
 *     └───────────────────────────────────────────────────────┘
 *
 * The request of the first row writes for all others, for `workMs` at most; then the next request takes over. The
 * runtime may end a request silently, so a writer that began too long ago counts as gone. Rows beyond `most`, and rows
 * of a failed write, are counted and reported.
 */
const LIMITS = { most: 1_000, workMs: 15_000, goneAfterMs: 30_000 } as const;

export function createNoteQueue<Row>(
  { wait, pauseMs }: { wait(ms: number): Promise<void>; readonly pauseMs: number },
  write: (rows: readonly Row[]) => Promise<void>,
  onLost: (rows: number, thrown?: unknown) => void,
) {
  let waiting: Row[] = [];
  let lost = 0;
  let writingSinceMs = Number.NEGATIVE_INFINITY;

  async function writeWaiting(): Promise<void> {
    const rows = waiting;
    waiting = [];
    if (lost > 0) onLost(lost);
    lost = 0;
    try {
      await write(rows);
    } catch (thrown) {
      onLost(rows.length, thrown);
    }
  }

  return {
    /** `nowMs`: the time of the request. Resolves early if another request writes the row. Never throws. */
    async add(row: Row, nowMs: number): Promise<void> {
      if (waiting.length < LIMITS.most) waiting.push(row);
      else lost += 1;
      if (Math.abs(nowMs - writingSinceMs) < LIMITS.goneAfterMs) return;
      writingSinceMs = nowMs;
      for (let workedMs = 0; waiting.length > 0; workedMs += pauseMs) {
        await writeWaiting();
        // The last round is a write, so nothing is left behind.
        if (workedMs < LIMITS.workMs) await wait(pauseMs);
      }
      writingSinceMs = Number.NEGATIVE_INFINITY;
    },
  };
}
