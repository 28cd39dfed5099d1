import { AUDIT_COLUMNS, type AuditRow } from "./audit-store.ts";

export interface CopyRecord {
  readonly number: number;
  readonly name: string;
  readonly rows: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly previous: string;
  readonly head: string;
  /** Null while the copy is planned. */
  readonly writtenAt: number | null;
}

const COLUMNS = `
  number, name, rows, first_seq AS firstSeq, last_seq AS lastSeq, previous, head, written_at AS writtenAt`;
const LAST = `SELECT ${COLUMNS} FROM audit_copy WHERE number > 0 ORDER BY number DESC LIMIT 1`;
const ONE = `SELECT ${COLUMNS} FROM audit_copy WHERE number = ?1 AND written_at IS NOT NULL`;
const PAGE = `
  SELECT ${COLUMNS} FROM audit_copy WHERE number > ?1 AND written_at IS NOT NULL ORDER BY number LIMIT ?2 OFFSET ?3`;
const NEWEST = `SELECT max(seq) AS seq FROM audit_entry`;
const ROWS = `SELECT ${AUDIT_COLUMNS} FROM audit_entry WHERE seq > ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3`;
const PLAN = `
  INSERT INTO audit_copy (number, name, rows, first_seq, last_seq, previous, head, planned_at, of_entries)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1) ON CONFLICT DO NOTHING`;
const REMOVE_PLAN = `DELETE FROM audit_copy WHERE number = ?1 AND head = ?2 AND written_at IS NULL`;
const WRITTEN = `UPDATE audit_copy SET written_at = ?3 WHERE number = ?1 AND head = ?2 AND written_at IS NULL`;

export function createCopyStore(db: D1Database) {
  return {
    last: (): Promise<CopyRecord | null> => db.prepare(LAST).first<CopyRecord>(),
    /** A written copy. */
    find: (number: number): Promise<CopyRecord | null> => db.prepare(ONE).bind(number).first<CopyRecord>(),
    page: async (after: number, limit: number, skip: number): Promise<readonly CopyRecord[]> =>
      (await db.prepare(PAGE).bind(after, limit, skip).all<CopyRecord>()).results,
    newestSeq: async (): Promise<number> => (await db.prepare(NEWEST).first<number>("seq")) ?? 0,
    rowsBetween: async (after: number, last: number, limit: number): Promise<readonly AuditRow[]> =>
      (await db.prepare(ROWS).bind(after, last, limit).all<AuditRow>()).results,
    /** False: another cron planned a copy with this number. */
    async plan(copy: Omit<CopyRecord, "writtenAt">, nowMs: number): Promise<boolean> {
      const values = [copy.number, copy.name, copy.rows, copy.firstSeq, copy.lastSeq, copy.previous, copy.head, nowMs];
      const statement = db.prepare(PLAN).bind(...values);
      return (await statement.run()).meta.changes === 1;
    },
    removePlan: async ({ number, head }: CopyRecord): Promise<void> =>
      void (await db.prepare(REMOVE_PLAN).bind(number, head).run()),
    setWritten: async ({ number, head }: CopyRecord, nowMs: number): Promise<void> =>
      void (await db.prepare(WRITTEN).bind(number, head, nowMs).run()),
  };
}
