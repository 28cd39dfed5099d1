import { readChanges } from "./changes.ts";

/** A row of the audit log as the database has it. */
export interface AuditRow {
  readonly at: number;
  readonly request_id: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly outcome: string;
  readonly reason: string;
  readonly changes: string;
}

/** As the interface shows it, and as copies of the log have it. */
export const toJson = (row: AuditRow): object => ({
  at: row.at,
  requestId: row.request_id,
  actor: row.actor,
  action: row.action,
  subject: row.subject,
  outcome: row.outcome,
  ...(row.reason === "" ? {} : { reason: row.reason }),
  ...(row.changes === "[]" ? {} : { changes: readChanges(row.changes) }),
});
