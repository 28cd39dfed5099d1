/** Rows that wait, counted up to a limit, and the time of the oldest one. */
export interface Backlog {
  readonly rows: number;
  readonly sinceMs: number | null;
}

/** Counts no further. */
const MOST = 1_000;
/** A deletion of many files is due again within a day until it is proven, and its report long after that. */
const ERASURE_DUE_MS = 26 * 3_600_000;
/** A deletion is proven a day after the request, if nothing is in its way. */
const ERASURE_MS = 48 * 3_600_000;

const JOBS = `
  SELECT count(*) AS rows, min(due_at) AS sinceMs
  FROM (SELECT due_at FROM variant WHERE due_at <= ?1 ORDER BY due_at LIMIT ${MOST})`;
const FILES = `
  SELECT count(*) AS rows, min(due_at) AS sinceMs
  FROM (SELECT due_at FROM file WHERE state = 'removed' AND due_at <= ?1 ORDER BY due_at LIMIT ${MOST})`;
const ERASURES = `
  SELECT count(*) AS rows, min(requested_at) AS sinceMs
  FROM (SELECT requested_at FROM erasure
    WHERE due_at <= ?1 AND verified_at IS NULL AND requested_at <= ?2 ORDER BY due_at LIMIT ${MOST})`;

/** Work of this service that is due and not done. Reads a bounded number of rows. */
export function createBacklogStore(db: D1Database) {
  return {
    /** Variants to make or to remove that the sweep should have sent on. */
    dueJobs: async (nowMs: number): Promise<Backlog> =>
      (await db.prepare(JOBS).bind(nowMs).first<Backlog>()) ?? { rows: 0, sinceMs: null },
    /** Removed files whose next step was due before this time, and deletions that are not proven after two days. */
    async overdueErasures(dueBeforeMs: number, nowMs: number): Promise<Backlog> {
      const found = await db.batch<Backlog>([
        db.prepare(FILES).bind(dueBeforeMs),
        db.prepare(ERASURES).bind(nowMs + ERASURE_DUE_MS, nowMs - ERASURE_MS),
      ]);
      const parts = found.flatMap(({ results }) => results);
      const times = parts.flatMap(({ sinceMs }) => (sinceMs === null ? [] : [sinceMs]));
      return {
        rows: parts.reduce((sum, { rows }) => sum + rows, 0),
        sinceMs: times.length === 0 ? null : Math.min(...times),
      };
    },
  };
}

export type BacklogStore = ReturnType<typeof createBacklogStore>;
