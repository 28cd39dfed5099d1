import type { VariantJob } from "../model/job.ts";

/** Variants that the sweep finds, in sets. Rows tell by `due_at` that they wait for it. */
export interface DueStore {
  dueVariants(nowMs: number, maxRows: number): Promise<readonly DueVariant[]>;
  /** Only those that are pending. */
  postponeVariants(makings: readonly VariantJob[], dueAt: number): Promise<void>;
}

export interface DueVariant extends VariantJob {
  readonly state: "pending" | "removed";
}

const SQL = {
  dueVariants: `SELECT file_id AS fileId, nonce, state FROM variant WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2`,
  postponeVariants: `UPDATE variant SET due_at = ?2 WHERE state = 'pending' AND (file_id, nonce) IN
    (SELECT value ->> 'fileId', value ->> 'nonce' FROM json_each(?1))`,
} as const;

export function createDueStore(db: D1Database): DueStore {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  return {
    async dueVariants(nowMs, maxRows) {
      return (await prepared(SQL.dueVariants, nowMs, maxRows).all<DueVariant>()).results;
    },
    async postponeVariants(makings, dueAt) {
      await prepared(SQL.postponeVariants, JSON.stringify(makings), dueAt).run();
    },
  };
}
