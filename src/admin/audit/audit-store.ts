import type { RowRange } from "../../http/input/paging.ts";
import type { AuditRecord } from "../../platform/ports/audit.ts";
import { sanitizeForLog } from "../../platform/text/text.ts";
import {
  CHANGED,
  fieldsNow,
  namesOf,
  readChanges,
  stateStatements,
  type LoggedFields,
  type RowQuery,
} from "./change-store.ts";

/** Rows by the operator, rows by clients and users, refusals about known accounts, other refusals. */
export type Share = "operator" | "done" | "known" | "unknown";

/** Characters of each text that a row keeps. */
export const TEXT_CHARS = { requestId: 64, actor: 256, action: 64, subject: 512, reason: 1024 } as const;
/** Rows that one step of a removal removes, steps of one removal, and the pause between two. */
const REMOVAL = { rows: 1_000, steps: 50, pauseMs: 50 } as const;

export interface AuditRow {
  readonly seq: number;
  readonly at: number;
  readonly requestId: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly outcome: string;
  readonly reason: string;
  readonly changes: string;
}
export const AUDIT_COLUMNS = `seq, at, request_id AS requestId, actor, action, subject, outcome, reason, changes`;

/** A row in answers and in copies of the log. Copies are chained by hashes, so the order of the fields stays. */
export const toJson = ({ at, requestId, actor, action, subject, outcome, reason, changes }: AuditRow): object => ({
  at,
  requestId,
  actor,
  action,
  subject,
  outcome,
  ...(reason === "" ? {} : { reason }),
  ...(changes === "[]" ? {} : { changes: readChanges(changes) }),
});

const INSERT = `
  INSERT INTO audit (at, request_id, actor, action, subject, outcome, reason, share, changes)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9`;
/** ?9: the fields; behind it the parameters of the row. */
const insertChange = (row: RowQuery, fields: LoggedFields): string => `
  INSERT INTO audit (at, request_id, actor, action, subject, outcome, reason, share, changes)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ${CHANGED.reason}, ?8, changes
  FROM (SELECT ${CHANGED.changes("?9", fieldsNow(row, fields, 9))} AS changes)
  WHERE ${CHANGED.isChange("changes")}`;
const INSERT_REMOVAL = `
  INSERT INTO audit (at, request_id, actor, action, subject, outcome, reason, share, changes)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ${CHANGED.changes("?9", "NULL")} WHERE changes() > 0`;
/** Rows of refusals, as lists of values. */
const INSERT_ALL = `
  INSERT INTO audit (at, request_id, actor, action, subject, outcome, reason, share)
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7
  FROM json_each(?1) ORDER BY json_each.key`;
const REMOVE_OLD = `
  DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE at < ?1 AND seq <= ?3 ORDER BY at LIMIT ?2)`;
const LAST_COPIED = `
  SELECT coalesce((SELECT last_seq FROM audit_copy WHERE number > 0 AND written_at IS NOT NULL ORDER BY number DESC LIMIT 1), 0) AS seq`;
const NEWEST = `SELECT coalesce(max(seq), 0) AS seq FROM audit`;
/** The newest row beyond a share. */
const FIRST_BEYOND = `SELECT at, seq FROM audit WHERE share = ?1 ORDER BY at DESC, seq DESC LIMIT 1 OFFSET ?2`;
const REMOVE_BEYOND = `
  DELETE FROM audit WHERE seq IN (
    SELECT seq FROM audit WHERE share = ?1 AND at <= ?2 AND (at < ?2 OR seq <= ?3) AND seq <= ?5
    ORDER BY at LIMIT ?4)`;

/**
 * Filters by text, the one that leaves the fewest rows first: the first that is given uses its index, the others
 * compare row by row. All indexes but that of the subject end with the time, so their rows come in order.
 */
const FILTERS = [
  { name: "requestId", index: "audit_by_request", matches: (value) => `request_id = ${value}` },
  {
    name: "subject",
    index: "audit_by_subject",
    matches: (value) => `subject >= ${value} AND subject < ${value} || char(0x10FFFF)`,
  },
  { name: "actor", index: "audit_by_actor", matches: (value) => `actor = ${value}` },
  { name: "action", index: "audit_by_action", matches: (value) => `action = ${value}` },
  { name: "outcome", index: "audit_by_outcome", matches: (value) => `outcome = ${value}` },
] as const satisfies { name: string; index: string; matches(value: string): string }[];
export type AuditFilter = Readonly<Partial<Record<(typeof FILTERS)[number]["name"], string | undefined>>>;

/** ?1 to ?2: times; at ?2 itself only rows before ?3. */
const pageSql = (index: string, conditions: readonly string[]): string => `
  SELECT ${AUDIT_COLUMNS} FROM audit INDEXED BY ${index}
  WHERE ${[...conditions, "at >= ?1 AND at <= ?2 AND (at < ?2 OR seq < ?3)"].join(" AND ")}
  ORDER BY at DESC, seq DESC LIMIT ?4 OFFSET ?5`;

export type AuditStore = ReturnType<typeof createAuditStore>;

export function createAuditStore(db: D1Database, wait: (ms: number) => Promise<void> = async () => {}) {
  const valuesOf = (record: AuditRecord, share: Share): readonly (string | number)[] => [
    record.atMs,
    sanitizeForLog(record.requestId, TEXT_CHARS.requestId),
    sanitizeForLog(record.actor, TEXT_CHARS.actor),
    sanitizeForLog(record.action, TEXT_CHARS.action),
    sanitizeForLog(record.subject, TEXT_CHARS.subject),
    record.outcome,
    sanitizeForLog(record.reason, TEXT_CHARS.reason),
    share,
  ];

  /** Removes in bounded steps and leaves the rest to the next run. Returns how many rows it removed. */
  async function inSteps(removal: D1PreparedStatement): Promise<number> {
    let removed = 0;
    for (let step = 0; step < REMOVAL.steps; step++) {
      const { changes } = (await removal.run()).meta;
      removed += changes;
      if (changes < REMOVAL.rows) break;
      await wait(REMOVAL.pauseMs);
    }
    return removed;
  }

  return {
    insertStatement: (when: "always" | "if changed", record: AuditRecord, share: Share): D1PreparedStatement =>
      db
        .prepare(when === "always" ? INSERT : `${INSERT} WHERE changes() > 0`)
        .bind(...valuesOf(record, share), JSON.stringify((record.changed ?? []).map((field) => ({ field })))),

    /** Statements around a change: `before` it, `row` directly after it, `end` anywhere later. */
    changeStatements(kind: "put" | "delete", record: AuditRecord, share: Share, row: RowQuery, fields: LoggedFields) {
      const { before, end } = stateStatements(db, row, fields);
      const values = [...valuesOf(record, share), namesOf(fields)];
      const inserted =
        kind === "put"
          ? db.prepare(insertChange(row, fields)).bind(...values, ...row.values)
          : db.prepare(INSERT_REMOVAL).bind(...values);
      return { before, row: inserted, end };
    },

    /** Writes rows of refusals in one statement. */
    async writeAll(rows: readonly (readonly [AuditRecord, Share])[]): Promise<void> {
      const values = rows.map(([record, share]) => valuesOf(record, share));
      await db.prepare(INSERT_ALL).bind(JSON.stringify(values)).run();
    },

    write: async (statements: readonly D1PreparedStatement[]): Promise<void> => void (await db.batch([...statements])),

    /** Rows of a time from the newest on, behind `before`. */
    async page(
      filter: AuditFilter,
      sinceMs: number,
      before: readonly [atMs: number, seq: number],
      { limit, skip }: RowRange,
    ): Promise<readonly AuditRow[]> {
      const given = FILTERS.filter(({ name }) => filter[name] !== undefined);
      const conditions = given.map(({ matches }, index) => matches(`?${index + 6}`));
      const statement = db.prepare(pageSql(given[0]?.index ?? "audit_by_time", conditions));
      const values = given.map(({ name }) => filter[name]);
      return (await statement.bind(sinceMs, ...before, limit, skip, ...values).all<AuditRow>()).results;
    },

    lastCopiedSeq: async (): Promise<number> => (await db.prepare(LAST_COPIED).first<number>("seq")) ?? 0,
    newestSeq: async (): Promise<number> => (await db.prepare(NEWEST).first<number>("seq")) ?? 0,
    removeOld: (beforeMs: number, lastSeq: number): Promise<number> =>
      inSteps(db.prepare(REMOVE_OLD).bind(beforeMs, REMOVAL.rows, lastSeq)),
    /** Removes the oldest rows beyond `rows` of a share, up to `lastSeq`. */
    async removeBeyond(share: string, rows: number, lastSeq: number): Promise<number> {
      const first = await db.prepare(FIRST_BEYOND).bind(share, rows).first<{ at: number; seq: number }>();
      if (first === null) return 0;
      return inSteps(db.prepare(REMOVE_BEYOND).bind(share, first.at, first.seq, REMOVAL.rows, lastSeq));
    },
  };
}
