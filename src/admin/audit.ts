import type { AuditRecord, AuditTrail } from "../platform/audit.ts";
import { describeError, type Log } from "../platform/log.ts";
import { sanitizeForLog } from "../platform/text.ts";
import { CHANGED, namesOf, stateStatements, type LoggedFields, type RowQuery } from "./store/changes.ts";
import { createNoteBudget, type Counted } from "./note-budget.ts";

/**
 * The audit log: who did what: changes by operators, revocations, refusals and blocks with their exact reason. It never
 * holds a secret: bodies are not kept, only addresses.
 *
 * Rows come by `statement`, in the transaction of what they tell of, or by `note`, beside an answer, bounded kind by kind.
 * They go by the sweep when they are in a copy in the bucket (audit-copies.ts): after 90 days, or when newer ones fill the
 * share that theirs have. So nobody pushes the operator's changes out of the log, be it by being refused or by ending
 * thousands of tokens, nor what happened to an account by names that nobody has. While no copy can be made, refusals are
 * dropped beyond a ceiling, which a row tells; what was done stays.
 */
export interface AuditLog extends AuditTrail {
  /**
   * A row that says what a change changed, in its transaction: `before` in front of all of it; `behind` at once behind it,
   * the row and then, wherever, what ends it. A PUT that changes nothing has no row, a removal of nothing neither.
   */
  change(
    kind: "put" | "delete",
    record: AuditRecord,
    row: RowQuery,
    fields: LoggedFields,
  ): { readonly before: D1PreparedStatement; readonly behind: readonly D1PreparedStatement[] };
  /** A row for a list that somebody read: one in ten minutes of each isolate, actor and subject. Never throws. */
  listed(record: Omit<AuditRecord, "outcome" | "action" | "reason">): Promise<void>;
  sweep(nowMs: number): Promise<void>;
}

export interface AuditDeps {
  readonly db: D1Database;
  readonly log: Log;
  /** Whose rows have a share of their own. */
  readonly operatorClientId: string;
  /** Ends after so many milliseconds. */
  wait(ms: number): Promise<void>;
}

/**
 * All our choice: of each isolate 600 rows a minute about those that there are, and 120 of each action about others. A
 * request may work for 30 s after its answer.
 */
export const NOTES = { unknownRows: 40, rowsEach: 20, knownRows: 200, kinds: 64, windowMs: 20_000 } as const;
/** Rows that are kept, 100,000 in all; those of an older version, which have no share, as many as they were. */
const KEPT: Kept = {
  ageMs: 90 * 86_400_000,
  rows: { operator: 10_000, done: 10_000, known: 40_000, unknown: 40_000, "": 100_000 },
  uncopied: { known: 400_000, unknown: 400_000 },
};
interface Kept {
  readonly ageMs: number;
  readonly rows: Readonly<Record<Share, number>>;
  /** Rows that are kept though no copy has them. Anybody can cause these. */
  readonly uncopied: Readonly<Record<"known" | "unknown", number>>;
}
/** What the operator client did, what clients and users did with what is theirs, refusals about those that there are, others. */
type Share = "operator" | "done" | "known" | "unknown" | "";
/** Our choice: often enough to see who reads, and seldom enough to push nothing out. */
const LISTED = { everyMs: 600_000, remembered: 100 } as const;
/** Rows of one step of the sweep, and steps of one run. */
const SWEEP = { rows: 2_000, steps: 25 } as const;
/** Characters of each text that a row keeps. */
export const TEXT_CHARS = { requestId: 64, actor: 256, action: 64, subject: 512, reason: 1024 } as const;

const INSERT = `
  INSERT INTO audit (at, request_id, actor, action, subject, outcome, reason, share, changes)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9`;
/** ?9: the fields. */
const INSERT_CHANGE = `
  INSERT INTO audit (at, request_id, actor, action, subject, outcome, reason, share, changes)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ${CHANGED.reason}, ?8, changes FROM (SELECT ${CHANGED.changes("?9")} AS changes)
  WHERE ${CHANGED.isChange("changes")}`;
const INSERT_REMOVAL = `
  INSERT INTO audit (at, request_id, actor, action, subject, outcome, reason, share, changes)
  SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ${CHANGED.changes("?9")} WHERE changes() > 0`;
const REMOVE_OLD = `
  DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE at < ?1 AND seq <= ?3 ORDER BY at LIMIT ?2)`;
/** The last row that is in a copy. */
const COPIED = `
  SELECT coalesce((SELECT last_seq FROM audit_copy WHERE number > 0 AND written_at IS NOT NULL ORDER BY number DESC LIMIT 1), 0) AS seq`;
const NEWEST = `SELECT coalesce(max(seq), 0) AS seq FROM audit`;
/** The newest row beyond its share. */
const FIRST_BEYOND = `SELECT at, seq FROM audit WHERE share = ?1 ORDER BY at DESC, seq DESC LIMIT 1 OFFSET ?2`;
const REMOVE_BEYOND = `
  DELETE FROM audit WHERE seq IN (
    SELECT seq FROM audit WHERE share = ?1 AND at <= ?2 AND (at < ?2 OR seq <= ?3) AND seq <= ?5
    ORDER BY at LIMIT ?4)`;

export function createAuditLog({ db, log, operatorClientId, wait }: AuditDeps, kept: Kept = KEPT): AuditLog {
  const budget = createNoteBudget(NOTES);
  const listedAtMs = new Map<string, number>();

  const valuesOf = (record: AuditRecord): readonly (string | number)[] => [
    record.atMs,
    sanitizeForLog(record.requestId, TEXT_CHARS.requestId),
    sanitizeForLog(record.actor, TEXT_CHARS.actor),
    sanitizeForLog(record.action, TEXT_CHARS.action),
    sanitizeForLog(record.subject, TEXT_CHARS.subject),
    record.outcome,
    sanitizeForLog(record.reason, TEXT_CHARS.reason),
    shareOf(record, operatorClientId),
  ];
  const statement: AuditTrail["statement"] = (when, record) =>
    db
      .prepare(when === "always" ? INSERT : `${INSERT} WHERE changes() > 0`)
      .bind(...valuesOf(record), JSON.stringify((record.changed ?? []).map((field) => ({ field }))));

  /** Removes the oldest rows of a share, up to `lastSeq`; gives how many. */
  const removeBeyond = async (share: string, rows: number, lastSeq: number): Promise<number> => {
    const first = await db.prepare(FIRST_BEYOND).bind(share, rows).first<{ at: number; seq: number }>();
    if (first === null) return 0;
    return inSteps(db.prepare(REMOVE_BEYOND).bind(share, first.at, first.seq, SWEEP.rows, lastSeq));
  };

  const write = async (requestId: string, records: readonly AuditRecord[]): Promise<void> => {
    try {
      await db.batch(records.map((record) => statement("always", record)));
    } catch (thrown) {
      log.error("audit row lost", { requestId, rows: records.length, error: describeError(thrown) });
    }
  };

  return {
    statement,
    change(kind, record, row, fields) {
      const { before, after, end } = stateStatements(db, row, fields);
      const insert = db.prepare(kind === "put" ? INSERT_CHANGE : INSERT_REMOVAL);
      const inserted = insert.bind(...valuesOf(record), namesOf(fields));
      return { before, behind: kind === "put" ? [after, inserted, end] : [inserted, end] };
    },
    async note(record) {
      const { atMs, requestId, action } = record;
      const place = budget.take({ action, about: aboutOf(record) }, atMs);
      if (place === "row") return write(requestId, [record]);
      if (place === "counted") return;
      await wait(NOTES.windowMs);
      const counted = budget.collect();
      if (counted.length > 0)
        await write(
          requestId,
          counted.map((kind) => countRow(kind, { atMs, requestId })),
        );
    },
    async listed(record) {
      const key = `${record.actor} ${record.subject}`;
      if (Math.abs(record.atMs - (listedAtMs.get(key) ?? Number.NEGATIVE_INFINITY)) < LISTED.everyMs) return;
      if (listedAtMs.size >= LISTED.remembered) listedAtMs.clear();
      listedAtMs.set(key, record.atMs);
      const reason = "pages and lists of the next ten minutes have no row of their own";
      await write(record.requestId, [{ ...record, action: "list", outcome: "done", reason }]);
    },
    async sweep(nowMs) {
      const copied = (await db.prepare(COPIED).first<number>("seq")) ?? 0;
      await inSteps(db.prepare(REMOVE_OLD).bind(nowMs - kept.ageMs, SWEEP.rows, copied));
      for (const [share, rows] of Object.entries(kept.rows)) await removeBeyond(share, rows, copied);
      const newest = (await db.prepare(NEWEST).first<number>("seq")) ?? 0;
      for (const [share, rows] of Object.entries(kept.uncopied)) {
        // Reckoning what lies beyond reads as many rows.
        if (newest - copied <= rows) continue;
        const dropped = await removeBeyond(share, rows, newest);
        if (dropped === 0) continue;
        log.error("audit rows dropped that are in no copy", { share, rows: dropped });
        const reason = `${dropped} refusals were dropped before they could be copied to the bucket`;
        const record = { atMs: nowMs, requestId: "", actor: "", action: "audit", subject: "", known: true, reason };
        await write("", [{ ...record, outcome: "done" }]);
      }
    },
  };
}

function shareOf({ outcome, actor, known }: AuditRecord, operatorClientId: string): Share {
  if (outcome === "done") return actor === operatorClientId ? "operator" : "done";
  return known === true || actor !== "" ? "known" : "unknown";
}

/** Which account or client that there is a refusal is about. */
const aboutOf = ({ known, subject, actor }: AuditRecord): string => (known === true ? subject : actor);

const countRow = ({ action, about, count }: Counted, at: Pick<AuditRecord, "atMs" | "requestId">): AuditRecord => ({
  ...at,
  actor: "",
  action: action === "" ? "audit" : action,
  subject: about,
  outcome: "refused",
  known: about !== "",
  reason: `…and ${count} more of this kind from here on, counted and not written one by one`,
});

/** Runs a bounded removal until it finds less than it may remove; what is left over is the next run's. Gives how many rows went. */
async function inSteps(removal: D1PreparedStatement): Promise<number> {
  let removed = 0;
  for (let step = 0; step < SWEEP.steps; step++) {
    const { changes } = (await removal.run()).meta;
    removed += changes;
    if (changes < SWEEP.rows) break;
  }
  return removed;
}
