import { MINUTE_MS } from "../../platform/runtime/clock.ts";
import type { LongJob } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";

/**
 * Long work whose message failed in every attempt and became a dead letter. The row of the work stays due, so the sweep
 * sends it again: 15 minutes after the first failure. The delay doubles with each failure, up to a day.
 *
 * One more row, of the directory, has the time at which a variant of any shard began to wait for the end of an outage.
 */
export type DeadWorkStore = ReturnType<typeof createDeadWorkStore>;

const SQL = {
  record: `INSERT INTO dead_work (work, id, failures, failed_at, next_at) VALUES (?1, ?2, 1, ?3, ?3 + ?4)
    ON CONFLICT (work, id) DO UPDATE SET failures = failures + 1, failed_at = ?3,
      next_at = ?3 + min(?4 << min(failures, 20), ?5) RETURNING failures`,
  waiting: `SELECT dead_work.work, dead_work.id FROM json_each(?1) AS job CROSS JOIN dead_work
    ON dead_work.work = job.value ->> 'work' AND dead_work.id = job.value ->> 'id' WHERE next_at > ?2`,
  // Many variants wait in an outage, and a minute more or less does not matter.
  noteOutage: `INSERT INTO dead_work (work, id, failures, failed_at, next_at) VALUES ('variant', '', 1, ?1, 0)
    ON CONFLICT (work, id) DO UPDATE SET failures = failures + 1, failed_at = ?1 WHERE failed_at < ?1 - ${MINUTE_MS}`,
  lastOutage: `SELECT failed_at FROM dead_work WHERE work = 'variant' AND id = ''`,
  deleteOld: `DELETE FROM dead_work WHERE failed_at < ?1`,
} as const;

export function createDeadWorkStore(db: D1Database) {
  return {
    /** Counts a failure. Returns the number of failures of this work. */
    async record({ work, id }: LongJob, nowMs: number): Promise<number> {
      const statement = db.prepare(SQL.record).bind(work, id, nowMs, LIMITS.workResendMs, LIMITS.deadWork.mostMs);
      return (await statement.first<number>("failures")) ?? 1;
    },
    /** Returns the jobs that may be sent again now. */
    async sendable(jobs: readonly LongJob[], nowMs: number): Promise<readonly LongJob[]> {
      if (jobs.length === 0) return jobs;
      const { results } = await db.prepare(SQL.waiting).bind(JSON.stringify(jobs), nowMs).all<LongJob>();
      return jobs.filter((job) => !results.some(({ work, id }) => work === job.work && id === job.id));
    },
    noteOutage: async (nowMs: number): Promise<void> => void (await db.prepare(SQL.noteOutage).bind(nowMs).run()),
    /** Null: none in `LIMITS.deadWork.keptMs`. */
    lastOutageMs: (): Promise<number | null> => db.prepare(SQL.lastOutage).first<number>("failed_at"),
    /** Deletes the counts of work that has not failed for `LIMITS.deadWork.keptMs`. */
    deleteOld: async (nowMs: number): Promise<void> =>
      void (await db
        .prepare(SQL.deleteOld)
        .bind(nowMs - LIMITS.deadWork.keptMs)
        .run()),
  };
}
