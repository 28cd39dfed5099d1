import type { AuditRecord, AuditTrail } from "../platform/audit.ts";
import { describeError, type Log } from "../platform/log.ts";
import { harmless } from "../platform/text.ts";
import { createNoteBudget } from "./note-budget.ts";

/**
 * The audit log: who did what: changes by operators, revocations, refusals and blocks with their exact reason. It never
 * holds a secret: bodies are not kept, only addresses.
 *
 * Rows come by `statement`, in the transaction of what they tell of, or by `note`, beside an answer, bounded. They go by
 * the sweep: after 90 days, or when newer ones of their kind fill the share that this kind has. So nobody pushes the
 * operator's changes out of the log, be it by being refused or by ending thousands of tokens.
 */
export interface AuditLog extends AuditTrail {
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

/** All our choice. 600 rows a minute of each isolate; a request may work for 30 s after its answer. */
export const NOTES = { rows: 200, windowMs: 20_000 } as const;
/** Rows that are kept, 100,000 in all. */
const KEPT = { ageMs: 90 * 86_400_000, byOperator: 10_000, done: 10_000, refused: 80_000 } as const satisfies Kept;
type Kept = { ageMs: number } & Record<keyof typeof SHARES, number>;
/** Rows of one step of the sweep, and steps of one run. */
const SWEEP = { rows: 2_000, steps: 25 } as const;
/** Characters of each text that a row keeps. */
export const TEXT_CHARS = { requestId: 64, actor: 256, action: 64, subject: 512, reason: 1024 } as const;

const INSERT = `
  INSERT INTO audit (at, request_id, actor, action, subject, outcome, reason) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7`;
const REMOVE_OLD = `
  DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE at < ?1 ORDER BY at LIMIT ?2)`;
/** Kinds of rows: refusals, what clients and users did with what is theirs, and what the operator client (?1) did. */
const SHARES = {
  refused: `outcome = 'refused'`,
  done: `outcome = 'done' AND actor <> ?1`,
  byOperator: `outcome = 'done' AND actor = ?1`,
} as const;
/** The newest row beyond the share of its kind. */
const firstBeyond = (ofShare: string): string =>
  `SELECT at, seq FROM audit WHERE ${ofShare} ORDER BY at DESC, seq DESC LIMIT 1 OFFSET ?2`;
const removeBeyond = (ofShare: string): string => `
  DELETE FROM audit WHERE seq IN (
    SELECT seq FROM audit WHERE ${ofShare} AND at <= ?2 AND (at < ?2 OR seq <= ?3) ORDER BY at LIMIT ?4)`;

export function createAuditLog({ db, log, operatorClientId, wait }: AuditDeps, kept: Kept = KEPT): AuditLog {
  const budget = createNoteBudget(NOTES);

  const statement: AuditTrail["statement"] = (when, { atMs, requestId, actor, action, subject, outcome, reason }) =>
    db
      .prepare(when === "always" ? INSERT : `${INSERT} WHERE changes() > 0`)
      .bind(
        atMs,
        harmless(requestId, TEXT_CHARS.requestId),
        harmless(actor, TEXT_CHARS.actor),
        harmless(action, TEXT_CHARS.action),
        harmless(subject, TEXT_CHARS.subject),
        outcome,
        harmless(reason, TEXT_CHARS.reason),
      );

  const write = async (record: AuditRecord): Promise<void> => {
    try {
      await statement("always", record).run();
    } catch (thrown) {
      log.error("audit row lost", { requestId: record.requestId, error: describeError(thrown) });
    }
  };

  return {
    statement,
    async note(record) {
      const place = budget.take(record.atMs);
      if (place === "row") return write(record);
      if (place === "counted") return;
      await wait(NOTES.windowMs);
      const reason = `…and ${budget.collect()} more from here on, counted and not written one by one`;
      const { atMs, requestId } = record;
      await write({ atMs, requestId, actor: "", action: "audit", subject: "", outcome: "refused", reason });
    },
    async sweep(nowMs) {
      await inSteps(db.prepare(REMOVE_OLD).bind(nowMs - kept.ageMs, SWEEP.rows));
      for (const share of ["refused", "done", "byOperator"] as const) {
        const beyond = db.prepare(firstBeyond(SHARES[share])).bind(operatorClientId, kept[share]);
        const first = await beyond.first<{ at: number; seq: number }>();
        if (first === null) continue;
        const removal = db.prepare(removeBeyond(SHARES[share]));
        await inSteps(removal.bind(operatorClientId, first.at, first.seq, SWEEP.rows));
      }
    },
  };
}

/** Runs a bounded removal until it finds less than it may remove; what is left over is the next run's. */
async function inSteps(removal: D1PreparedStatement): Promise<void> {
  for (let step = 0; step < SWEEP.steps; step++) if ((await removal.run()).meta.changes < SWEEP.rows) return;
}
