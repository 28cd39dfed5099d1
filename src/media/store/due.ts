import type { VariantJob } from "../job.ts";

/** What the sweep finds and forgets, in sets. Rows tell by `due_at` that they wait for it. */
export interface DueStore {
  /**
   * Pending → removed for files whose day is over, which is what a commit races with; then the removed files whose
   * bytes have to go.
   */
  dueFiles(nowMs: number, maxRows: number): Promise<readonly string[]>;
  dueVariants(nowMs: number, maxRows: number): Promise<readonly DueVariant[]>;
  /** All makings that the files have rows of. */
  makingsOf(fileIds: readonly string[]): Promise<readonly VariantJob[]>;
  /** Removed files whose bytes are gone: those made `keptMs` ago or earlier are forgotten, others are due then. */
  settleRemoved(fileIds: readonly string[], nowMs: number, keptMs: number): Promise<void>;
  /** Only those that are pending. */
  postponeVariants(makings: readonly VariantJob[], dueAt: number): Promise<void>;
}

export interface DueVariant extends VariantJob {
  readonly state: "pending" | "removed";
}

const SQL = {
  expirePending: `UPDATE file SET state = 'removed', removed_at = ?1 WHERE
    id IN (SELECT id FROM file WHERE due_at <= ?1 AND state = 'pending' ORDER BY due_at LIMIT ?2)`,
  removedFiles: `SELECT id FROM file WHERE due_at <= ?1 AND state = 'removed' ORDER BY due_at LIMIT ?2`,
  dueVariants: `SELECT file_id AS fileId, nonce, state FROM variant WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2`,
  makingsOf: `SELECT file_id AS fileId, nonce FROM variant WHERE file_id IN (SELECT value FROM json_each(?1))`,
  forgetVariants: `DELETE FROM variant WHERE file_id IN (SELECT file.id FROM json_each(?1)
    JOIN file ON file.id = value WHERE file.state = 'removed' AND file.created_at <= ?2)`,
  forgetFiles: `DELETE FROM file WHERE id IN (SELECT value FROM json_each(?1))
    AND state = 'removed' AND created_at <= ?2`,
  postponeFiles: `UPDATE file SET due_at = created_at + ?3 WHERE id IN (SELECT value FROM json_each(?1))
    AND state = 'removed' AND created_at > ?2`,
  postponeVariants: `UPDATE variant SET due_at = ?2 WHERE state = 'pending' AND (file_id, nonce) IN
    (SELECT value ->> 'fileId', value ->> 'nonce' FROM json_each(?1))`,
} as const;

export function createDueStore(db: D1Database): DueStore {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  return {
    async dueFiles(nowMs, maxRows) {
      const [, removed] = await db.batch<{ id: string }>([
        prepared(SQL.expirePending, nowMs, maxRows),
        prepared(SQL.removedFiles, nowMs, maxRows),
      ]);
      return (removed?.results ?? []).map((row) => row.id);
    },
    async dueVariants(nowMs, maxRows) {
      return (await prepared(SQL.dueVariants, nowMs, maxRows).all<DueVariant>()).results;
    },
    async makingsOf(fileIds) {
      return (await prepared(SQL.makingsOf, JSON.stringify(fileIds)).all<VariantJob>()).results;
    },
    async settleRemoved(fileIds, nowMs, keptMs) {
      const [ids, madeUntil] = [JSON.stringify(fileIds), nowMs - keptMs];
      await db.batch([
        prepared(SQL.forgetVariants, ids, madeUntil),
        prepared(SQL.forgetFiles, ids, madeUntil),
        prepared(SQL.postponeFiles, ids, madeUntil, keptMs),
      ]);
    },
    async postponeVariants(makings, dueAt) {
      await prepared(SQL.postponeVariants, JSON.stringify(makings), dueAt).run();
    },
  };
}
