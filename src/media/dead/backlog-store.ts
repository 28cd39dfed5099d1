import { HOUR_MS } from "../../platform/runtime/clock.ts";

/** The number of waiting rows, counted up to a limit, and the time of the oldest one. */
export interface Backlog {
  readonly rows: number;
  readonly sinceMs: number | null;
}

/** A count ends at this number. */
const MOST = 1_000;
/** An unproven deletion is due again within a day. A proven one is due when its report expires, which is much later. */
export const ERASURE_DUE_MS = 26 * HOUR_MS;
/** A deletion is normally proven a day after the request. */
export const PROVEN_MS = 48 * HOUR_MS;

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

/** Counts overdue work of this service. Each method reads a limited number of rows. */
export function createBacklogStore(db: D1Database) {
  return {
    /** Counts due variants that the sweep should make or remove. */
    dueJobs: async (nowMs: number): Promise<Backlog> =>
      (await db.prepare(JOBS).bind(nowMs).first<Backlog>()) ?? { rows: 0, sinceMs: null },
    /** Counts removed files whose next step was due before this time, and deletions without a proof after two days. */
    async overdueErasures(dueBeforeMs: number, nowMs: number): Promise<Backlog> {
      const found = await db.batch<Backlog>([
        db.prepare(FILES).bind(dueBeforeMs),
        db.prepare(ERASURES).bind(nowMs + ERASURE_DUE_MS, nowMs - PROVEN_MS),
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
