import { OPERATOR_PERSON, type AuditRecord, type AuditTrail, type AuditTrails } from "../../platform/ports/audit.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { createAuditStore, type Share } from "./audit-store.ts";
import { createCarrier, forgetArrived } from "./carry-store.ts";
import { createNoteQueue } from "./note-queue.ts";
import type { LoggedFields, RowQuery } from "./change-store.ts";
import { createNoteBudget, type Counted } from "./note-budget.ts";
import { DAY_MS } from "../../platform/runtime/clock.ts";

/**
 * The audit log: changes by operators, revocations, refusals and blocks, each with its exact reason. It never holds a
 * secret: it keeps the addresses of requests, not their bodies.
 *
 * `statement` and `change` add a row in the transaction of the change. `note` adds one after the answer, within limits
 * for each kind. The sweep removes rows that are in a copy in the bucket (copies.ts) after 90 days, or when newer rows
 * fill their share. So neither refused requests nor thousands of revoked tokens push the operator's changes out of the
 * log. If no copy can be made, refusals beyond a ceiling are dropped, which a row reports; rows of changes stay.
 */
export interface AuditLog extends AuditTrails {
  /**
   * The row of a change that names the changed fields, in the transaction of the change: `before` it, `row` directly
   * after it, `end` anywhere later. A PUT that changes nothing leaves no row, and neither does a removal of nothing.
   */
  change(
    kind: "put" | "delete",
    record: AuditRecord,
    row: RowQuery,
    fields: LoggedFields,
  ): {
    readonly before: D1PreparedStatement;
    readonly row: D1PreparedStatement;
    readonly end: D1PreparedStatement;
  };
  /** Adds a row for a list that somebody read: one in ten minutes for each isolate, actor and subject. Never throws. */
  listed(record: Omit<AuditRecord, "outcome" | "action" | "reason">): Promise<void>;
  sweep(nowMs: number): Promise<void>;
}

export interface AuditDeps {
  readonly db: D1Database;
  readonly log: Log;
  /** Its rows have a share of their own. */
  readonly operatorClientId: string;
  /** Resolves after so many milliseconds. */
  wait(ms: number): Promise<void>;
  /** The pause between two writes of refusals; absent: each is written at once. */
  readonly notePauseMs?: number;
}

/**
 * Our choice: in each isolate 600 rows a minute about known accounts and clients, and 120 of each action about others.
 * A request may work for 30 s after its answer, so it can wait for a window.
 */
export const NOTES = { unknownRows: 40, rowsEach: 20, knownRows: 200, kinds: 64, windowMs: 20_000 } as const;
/** Our choice: 100,000 rows in all. */
const KEPT: Kept = {
  ageMs: 90 * DAY_MS,
  rows: { operator: 10_000, done: 10_000, known: 40_000, unknown: 40_000 },
  uncopied: { known: 400_000, unknown: 400_000 },
};
interface Kept {
  readonly ageMs: number;
  readonly rows: Readonly<Record<Share, number>>;
  /** The ceiling of rows that no copy has, for shares that anybody can fill. */
  readonly uncopied: Readonly<Record<"known" | "unknown", number>>;
}
/** Our choice: how long rows of release 0.1.0 stay in its own table, in which that release may still look for them. */
const ENTERED_KEPT_MS = DAY_MS;
/** Our choice: see `forgetArrived`. */
const ARRIVED_KEPT_MS = DAY_MS;
/** Our choice: often enough to show who reads, and seldom enough not to displace other rows. */
const LISTED = { everyMs: 600_000, remembered: 100 } as const;

export function createAuditLog(
  { db, log, operatorClientId, wait, notePauseMs }: AuditDeps,
  kept: Kept = KEPT,
): AuditLog {
  const store = createAuditStore(db, wait);
  const budget = createNoteBudget(NOTES);
  const listedAtMs = new Map<string, number>();

  const statement: AuditTrail["statement"] = (when, record) =>
    store.insertStatement(when, record, shareOf(record, operatorClientId));

  const noteQueue = createNoteQueue(
    { wait, pauseMs: notePauseMs ?? 0 },
    (records: readonly AuditRecord[]) => store.writeAll(records.map((one) => [one, shareOf(one, operatorClientId)])),
    (rows, thrown) =>
      log.error("audit rows lost", { rows, error: thrown === undefined ? undefined : describeError(thrown) }),
  );

  const write = async (requestId: string, records: readonly AuditRecord[]): Promise<void> => {
    try {
      await store.write(records.map((record) => statement("always", record)));
    } catch (thrown) {
      log.error("audit row lost", { requestId, rows: records.length, error: describeError(thrown) });
    }
  };

  return {
    statement,
    inShard: (shard) => createCarrier(db, shard, (_, record) => shareOf(record, operatorClientId)),
    change: (kind, record, row, fields) =>
      store.changeStatements(kind, record, shareOf(record, operatorClientId), row, fields),
    async note(record) {
      const { atMs, requestId, action } = record;
      const place = budget.take({ action, about: aboutOf(record) }, atMs);
      if (place === "row") return notePauseMs === undefined ? write(requestId, [record]) : noteQueue.add(record, atMs);
      if (place === "counted") return;
      await wait(NOTES.windowMs);
      const counts = budget.collect().map((counted) => countRecord(counted, { atMs, requestId }));
      if (counts.length > 0) await write(requestId, counts);
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
      await store.removeEntered(nowMs - ENTERED_KEPT_MS);
      await forgetArrived(db, nowMs - ARRIVED_KEPT_MS);
      const copied = await store.lastCopiedSeq();
      await store.removeOld(nowMs - kept.ageMs, copied);
      const { oldest, newest } = await store.ends();
      // Counting reads every row, so skip it if there cannot be too many.
      if (newest - oldest < Math.min(...Object.values(kept.rows))) return;
      const rows = await store.countShares();
      for (const [share, most] of Object.entries(kept.rows)) {
        const there = rows.get(share) ?? 0;
        const removed = there <= most ? 0 : await store.removeOldest(share, there - most, copied);
        const ceiling = kept.uncopied[share as keyof typeof kept.uncopied] ?? Infinity;
        if (there - removed > ceiling) await dropUncopied(share, there - removed - ceiling, nowMs);
      }
    },
  };

  /** Removes rows that no copy has, and reports that by a row. */
  async function dropUncopied(share: string, rows: number, nowMs: number): Promise<void> {
    const dropped = await store.removeOldest(share, rows, Number.MAX_SAFE_INTEGER);
    log.error("audit rows dropped that are in no copy", { share, rows: dropped });
    const reason = `${dropped} refusals were dropped before they could be copied to the bucket`;
    const record = { atMs: nowMs, requestId: "", actor: "", action: "audit", subject: "", known: true, reason };
    await write("", [{ ...record, outcome: "done" }]);
  }
}

function shareOf({ outcome, actor, known }: AuditRecord, operatorClientId: string): Share {
  if (outcome === "done") return actor === operatorClientId || actor.startsWith(OPERATOR_PERSON) ? "operator" : "done";
  return known === true || actor !== "" ? "known" : "unknown";
}

/** The account or client that a refusal is about. */
const aboutOf = ({ known, subject, actor }: AuditRecord): string => (known === true ? subject : actor);

const countRecord = ({ action, about, count }: Counted, at: Pick<AuditRecord, "atMs" | "requestId">): AuditRecord => ({
  ...at,
  actor: "",
  action: action === "" ? "audit" : action,
  subject: about,
  outcome: "refused",
  known: about !== "",
  reason: `…and ${count} more of this kind from here on, counted and not written one by one`,
});
