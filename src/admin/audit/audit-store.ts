import type { RowRange } from "../../http/input/paging.ts";
import type { AuditRecord } from "../../platform/ports/audit.ts";
import { EMAIL_MAX_CHARS } from "../../platform/text/email.ts";
import { sanitizeForLog } from "../../platform/text/text.ts";
import { fieldsNow, pendingStatements, readChanges, type LoggedFields, type RowQuery } from "./change-store.ts";
import { MINUTE_MS } from "../../platform/runtime/clock.ts";

/** Rows by the operator, rows by clients and users, refusals about known accounts, other refusals. */
export type Share = "operator" | "done" | "known" | "unknown";

/** Characters of each text that a row keeps. The longest actor is `operator` and an address. */
export const TEXT_CHARS = {
  requestId: 64,
  actor: "operator ".length + EMAIL_MAX_CHARS,
  action: 64,
  subject: 512,
  reason: 1024,
} as const;
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

/** The number of the next row. Numbers of removed rows are not used again, since the last copy has the greatest one. */
export const NEXT = `1 + max(coalesce((SELECT max(seq) FROM audit_entry), 0),
    coalesce((SELECT last_seq FROM audit_copy WHERE number > 0 ORDER BY number DESC LIMIT 1), 0))`;
export const INTO = `INSERT INTO audit_entry (seq, at, request_id, actor, action, subject, outcome, reason, share, changes)`;
const INSERT = `
  ${INTO} SELECT ${NEXT}, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9`;
/** The row of a change, written before the change. The parameters of the changed row follow ?8. */
const insertPending = (row: RowQuery, fields: LoggedFields): string => `
  ${INTO} SELECT ${NEXT}, ?1, ?2, ?3, ?4, ?5, '', ?7, ?8, coalesce(${fieldsNow(row, fields, 8)}, '')`;
/** Rows of refusals, as lists of values. */
const INSERT_ALL = `
  ${INTO}
  SELECT json_each.key + next, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
    value ->> 7, '[]'
  FROM (SELECT ${NEXT} AS next) CROSS JOIN json_each(?1) ORDER BY json_each.key`;

/**
 * How late a row may be. Rows are in the order of their transactions, and every 64th is in an index of times. A row has
 * the time at which its request began, and is written soon after. So the index leads near the rows of a time.
 *
 * Our choice: longer than a cron runs.
 */
const LATE_MS = 15 * MINUTE_MS;
/** SQL: a row before every one of this time or later. */
export const rowBefore = (timeMs: string): string => `
  coalesce((SELECT seq FROM audit_entry WHERE seq % 64 = 0 AND at < ${timeMs} - ${LATE_MS} ORDER BY at DESC LIMIT 1), 0)`;
/** SQL: a row behind every one of this time or earlier. */
const rowBehind = (timeMs: string): string => `
  coalesce((SELECT seq FROM audit_entry WHERE seq % 64 = 0 AND at > ${timeMs} + ${LATE_MS} ORDER BY at LIMIT 1),
    (SELECT max(seq) + 1 FROM audit_entry), 1)`;

const REMOVE_OLD = `
  DELETE FROM audit_entry WHERE seq IN (
    SELECT seq FROM audit_entry WHERE seq < ${rowBehind("?1")} AND seq <= ?3 AND at < ?1 ORDER BY seq LIMIT ?2)`;
/** Removes rows that release 0.1.0 wrote into its own table, from which a trigger copied them here. */
const REMOVE_ENTERED = `DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE at < ?1 ORDER BY at LIMIT ?2)`;
const LAST_COPIED = `
  SELECT coalesce((SELECT last_seq FROM audit_copy WHERE number > 0 AND written_at IS NOT NULL ORDER BY number DESC LIMIT 1), 0) AS seq`;
const ENDS = `
  SELECT coalesce((SELECT min(seq) FROM audit_entry), 0) AS oldest, coalesce((SELECT max(seq) FROM audit_entry), 0) AS newest`;
/** The oldest rows of a share. */
const REMOVE_OLDEST = `
  DELETE FROM audit_entry WHERE seq IN (
    SELECT seq FROM audit_entry WHERE share = ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3)`;
export const AUDIT_SQL = { countShares: `SELECT share, count(*) AS rows FROM audit_entry GROUP BY share` } as const;

const MATCHES = {
  requestId: (value) => `request_id = ${value}`,
  subject: (value) => `subject >= ${value} AND subject < ${value} || char(0x10FFFF)`,
  actor: (value) => `actor = ${value}`,
  action: (value) => `action = ${value}`,
  outcome: (value) => `outcome = ${value}`,
} as const satisfies Record<string, (value: string) => string>;
/** `since`, `until`: times. */
export type AuditFilter = Readonly<
  Partial<Record<keyof typeof MATCHES, string | undefined>> & { since?: number | undefined; until?: number | undefined }
>;

/** Our choice: the most rows that a page of a filtered list reads, which takes the database some tens of ms. */
export const WALK_ROWS = 50_000;
/** ?1, ?2: times. ?3: behind which row the last page ended. */
const BOUNDS = `
  SELECT min(?3, ${rowBehind("?2")}) AS before, ${rowBefore("?1")} AS after`;
/** ?1, ?2: rows between which the page is. */
const pageSql = (conditions: readonly string[]): string => `
  SELECT ${AUDIT_COLUMNS} FROM audit_entry WHERE ${["seq < ?1 AND seq > ?2", ...conditions].join(" AND ")}
  ORDER BY seq DESC LIMIT ?3 OFFSET ?4`;

const TIMES = [{ matches: (value: string) => `at >= ${value}` }, { matches: (value: string) => `at <= ${value}` }];
const NO_BOUNDS = { before: 0, after: 0 } as const;

export interface AuditPage {
  readonly rows: readonly AuditRow[];
  /** The number at which the walk ended before the page was full. Rows below it were not read. */
  readonly walkedTo: number | undefined;
}

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

/** The values of a row, in the order of `INTO` behind its number. */
export const rowValues = (record: AuditRecord, share: Share): readonly (string | number)[] => [
  ...valuesOf(record, share),
  JSON.stringify((record.changed ?? []).map((field) => ({ field }))),
];

export function createAuditStore(db: D1Database, wait: (ms: number) => Promise<void> = async () => {}) {
  /** Removes in bounded steps and leaves the rest to the next run. Returns how many rows it removed. */
  async function inSteps(removal: (rows: number) => D1PreparedStatement, most = Infinity): Promise<number> {
    let removed = 0;
    for (let step = 0; step < REMOVAL.steps; step++) {
      const rows = Math.min(REMOVAL.rows, most - removed);
      if (rows === 0) break;
      const { changes } = (await removal(rows).run()).meta;
      removed += changes;
      if (changes < rows) break;
      await wait(REMOVAL.pauseMs);
    }
    return removed;
  }

  const boundsOf = async (since: number, until: number, before: number) =>
    (await db.prepare(BOUNDS).bind(since, until, before).first<{ before: number; after: number }>()) ?? NO_BOUNDS;

  return {
    insertStatement: (when: "always" | "if changed", record: AuditRecord, share: Share): D1PreparedStatement =>
      db.prepare(when === "always" ? INSERT : `${INSERT} WHERE changes() > 0`).bind(...rowValues(record, share)),

    /** Statements around a change: `before` it, `row` directly after it, `end` anywhere later. */
    changeStatements(kind: "put" | "delete", record: AuditRecord, share: Share, row: RowQuery, fields: LoggedFields) {
      const before = db.prepare(insertPending(row, fields)).bind(...valuesOf(record, share), ...row.values);
      return { before, ...pendingStatements(db, kind, record.outcome, row, fields) };
    },

    /** Writes rows of refusals in one statement. */
    async writeAll(rows: readonly (readonly [AuditRecord, Share])[]): Promise<void> {
      const values = rows.map(([record, share]) => valuesOf(record, share));
      await db.prepare(INSERT_ALL).bind(JSON.stringify(values)).run();
    },

    write: async (statements: readonly D1PreparedStatement[]): Promise<void> => void (await db.batch([...statements])),

    /**
     * Rows from the newest on, below the number `before`. A list with a filter reads at most `WALK_ROWS` rows, and
     * returns its position.
     */
    async page(filter: AuditFilter, before: number, { limit, skip }: RowRange): Promise<AuditPage> {
      const { since = 0, until = Number.MAX_SAFE_INTEGER, ...texts } = filter;
      const given = Object.entries(MATCHES).flatMap(([name, matches]) => {
        const value = texts[name as keyof typeof MATCHES];
        return value === undefined ? [] : [{ value, matches }];
      });
      const isTimed = filter.since !== undefined || filter.until !== undefined;
      const isWalk = isTimed || given.length > 0;
      const bounds = isWalk ? await boundsOf(since, until, before) : { before, after: 0 };
      const last = isWalk ? Math.max(bounds.after, bounds.before - 1 - WALK_ROWS) : 0;
      const conditions = [...given, ...(isTimed ? TIMES : [])].map(({ matches }, index) => matches(`?${index + 5}`));
      const values = [...given.map(({ value }) => value), ...(isTimed ? [since, until] : [])];
      const statement = db.prepare(pageSql(conditions)).bind(bounds.before, last, limit, skip, ...values);
      const { results: rows } = await statement.all<AuditRow>();
      return { rows, walkedTo: rows.length < limit && last > bounds.after ? last + 1 : undefined };
    },

    lastCopiedSeq: async (): Promise<number> => (await db.prepare(LAST_COPIED).first<number>("seq")) ?? 0,
    /** The numbers of the oldest row and the newest one; 0: there is none. */
    async ends(): Promise<{ readonly oldest: number; readonly newest: number }> {
      return (await db.prepare(ENDS).first<{ oldest: number; newest: number }>()) ?? { oldest: 0, newest: 0 };
    },
    /** Reads the whole log. */
    async countShares(): Promise<ReadonlyMap<string, number>> {
      const { results } = await db.prepare(AUDIT_SQL.countShares).all<{ share: string; rows: number }>();
      return new Map(results.map(({ share, rows }) => [share, rows]));
    },
    removeOld: (beforeMs: number, lastSeq: number): Promise<number> =>
      inSteps((rows) => db.prepare(REMOVE_OLD).bind(beforeMs, rows, lastSeq)),
    removeEntered: (beforeMs: number): Promise<number> =>
      inSteps((rows) => db.prepare(REMOVE_ENTERED).bind(beforeMs, rows)),
    /** Removes so many rows of a share, the oldest first, up to `lastSeq`. */
    removeOldest: (share: string, rows: number, lastSeq: number): Promise<number> =>
      inSteps((step) => db.prepare(REMOVE_OLDEST).bind(share, lastSeq, step), rows),
  };
}
