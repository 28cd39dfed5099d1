/** What the sweep finds and forgets. Rows tell by `due_at` that they wait for it. */
export interface DueStore {
  /** Pending → removed for files whose day is over; how many. The condition is what a commit races with. */
  expirePending(nowMs: number, maxRows: number): Promise<number>;
  removedFiles(nowMs: number, maxRows: number): Promise<readonly DueFile[]>;
  dueVariants(nowMs: number, maxRows: number): Promise<readonly DueVariant[]>;
  /** Nonces of all makings that a file has rows of. */
  noncesOf(fileId: string): Promise<readonly string[]>;
  /** The file is gone: its rows too. */
  forgetFile(fileId: string): Promise<void>;
  postponeFile(fileId: string, dueAt: number): Promise<void>;
  /** Only while it is pending. */
  postponeVariant(fileId: string, nonce: string, dueAt: number): Promise<void>;
}

export interface DueFile {
  readonly id: string;
  readonly createdAt: number;
}

export interface DueVariant {
  readonly fileId: string;
  readonly nonce: string;
  readonly state: "pending" | "removed";
}

const SQL = {
  expirePending: `UPDATE file SET state = 'removed' WHERE
    id IN (SELECT id FROM file WHERE due_at <= ?1 AND state = 'pending' ORDER BY due_at LIMIT ?2)`,
  removedFiles: `SELECT id, created_at FROM file WHERE due_at <= ?1 AND state = 'removed' ORDER BY due_at LIMIT ?2`,
  dueVariants: `SELECT file_id, nonce, state FROM variant WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2`,
  noncesOf: `SELECT nonce FROM variant WHERE file_id = ?1`,
  forgetVariants: `DELETE FROM variant WHERE file_id = ?1
    AND EXISTS (SELECT 1 FROM file WHERE file.id = ?1 AND file.state = 'removed')`,
  forgetFile: `DELETE FROM file WHERE id = ?1 AND state = 'removed'`,
  postponeFile: `UPDATE file SET due_at = ?2 WHERE id = ?1 AND state = 'removed'`,
  postponeVariant: `UPDATE variant SET due_at = ?3 WHERE file_id = ?1 AND nonce = ?2 AND state = 'pending'`,
} as const;

export function createDueStore(db: D1Database): DueStore {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  return {
    async expirePending(nowMs, maxRows) {
      return (await prepared(SQL.expirePending, nowMs, maxRows).run()).meta.changes;
    },
    async removedFiles(nowMs, maxRows) {
      const found = await prepared(SQL.removedFiles, nowMs, maxRows).all<{ id: string; created_at: number }>();
      return found.results.map((row) => ({ id: row.id, createdAt: row.created_at }));
    },
    async dueVariants(nowMs, maxRows) {
      const found = await prepared(SQL.dueVariants, nowMs, maxRows).all<{
        file_id: string;
        nonce: string;
        state: DueVariant["state"];
      }>();
      return found.results.map((row) => ({ fileId: row.file_id, nonce: row.nonce, state: row.state }));
    },
    async noncesOf(fileId) {
      const found = await prepared(SQL.noncesOf, fileId).all<{ nonce: string }>();
      return found.results.map((row) => row.nonce);
    },
    async forgetFile(fileId) {
      await db.batch([prepared(SQL.forgetVariants, fileId), prepared(SQL.forgetFile, fileId)]);
    },
    async postponeFile(fileId, dueAt) {
      await prepared(SQL.postponeFile, fileId, dueAt).run();
    },
    async postponeVariant(fileId, nonce, dueAt) {
      await prepared(SQL.postponeVariant, fileId, nonce, dueAt).run();
    },
  };
}
