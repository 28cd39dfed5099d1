import { chain, GENESIS, type CopyFacts } from "../../platform/audit-chain.ts";
import type { Log } from "../../platform/log.ts";
import { toJson, type AuditRow } from "./audit-row.ts";

/**
 * Copies of the audit log in the bucket, chained by hashes (platform/audit-chain.ts), the last hash of each in the database:
 *
 *   none ──planned: which rows, and their hash──▶ planned ──the object is there──▶ written
 *
 * A plan is one conditional write, so two crons make one chain; what is planned is always the same bytes, so whoever is
 * interrupted is followed by somebody who goes on. Rows stay in the log until they are in a written copy. The name has
 * a part of the hash, so another content never stands under it; an object that is there is not written again.
 */
export interface AuditCopies {
  /** Makes the copies that are due: one a day, and more where many rows wait. */
  run(nowMs: number): Promise<void>;
  /** Copies with these numbers, from the oldest on. */
  page(after: number, limit: number, skip: number): Promise<readonly AuditCopy[]>;
  /** With its lines, as they are in the bucket; undefined: there is no such copy, `missing`: its object is gone. */
  read(number: number): Promise<(AuditCopy & { readonly lines: readonly string[] }) | "missing" | undefined>;
}

export interface AuditCopy extends CopyFacts {
  readonly name: string;
  readonly head: string;
  readonly writtenAtMs: number;
}

export interface AuditCopiesDeps {
  readonly db: D1Database;
  readonly bucket: R2Bucket;
  readonly log: Log;
}

/** All our choice: rows of a copy, characters of its rows, copies of one run; bytes of an object that is read. */
export const COPY = { rows: 2_000, chars: 4_000_000, aRun: 10, readBytes: 32 * 1024 * 1024 } as const;

const COLUMNS = `number, name, rows, first_seq, last_seq, previous, head, written_at`;
const LAST = `SELECT ${COLUMNS} FROM audit_copy WHERE number > 0 ORDER BY number DESC LIMIT 1`;
const ONE = `SELECT ${COLUMNS} FROM audit_copy WHERE number = ?1 AND written_at IS NOT NULL`;
const PAGE = `
  SELECT ${COLUMNS} FROM audit_copy WHERE number > ?1 AND written_at IS NOT NULL ORDER BY number LIMIT ?2 OFFSET ?3`;
const NEWEST = `SELECT max(seq) AS seq FROM audit`;
const ROWS = `
  SELECT seq, at, request_id, actor, action, subject, outcome, reason, changes FROM audit
  WHERE seq > ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3`;
const PLAN = `
  INSERT INTO audit_copy (number, name, rows, first_seq, last_seq, previous, head, planned_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING`;
const FORGET_PLAN = `DELETE FROM audit_copy WHERE number = ?1 AND head = ?2 AND written_at IS NULL`;
const WRITTEN = `UPDATE audit_copy SET written_at = ?3 WHERE number = ?1 AND head = ?2 AND written_at IS NULL`;

interface CopyRow {
  readonly number: number;
  readonly name: string;
  readonly rows: number;
  readonly first_seq: number;
  readonly last_seq: number;
  readonly previous: string;
  readonly head: string;
  readonly written_at: number | null;
}

type SequencedRow = AuditRow & { readonly seq: number };

export function createAuditCopies({ db, bucket, log }: AuditCopiesDeps): AuditCopies {
  const rowsBetween = async (after: number, last: number): Promise<readonly SequencedRow[]> =>
    (await db.prepare(ROWS).bind(after, last, COPY.rows).all<SequencedRow>()).results;

  /** False: nothing is due, or somebody else planned it. */
  async function plan(last: CopyRow | null, nowMs: number): Promise<boolean> {
    const copied = last?.last_seq ?? 0;
    const newest = (await db.prepare(NEWEST).first<number>("seq")) ?? 0;
    const isFirstOfDay = dayOf(last?.written_at ?? 0) !== dayOf(nowMs);
    const isDue = isFirstOfDay || newest - copied >= COPY.rows;
    if (!isDue || newest <= copied) return false;
    const rows = within(await rowsBetween(copied, newest));
    const number = (last?.number ?? 0) + 1;
    const { facts, head } = await build(number, last?.head ?? GENESIS, rows);
    const name = `audit/${dayOf(nowMs).replaceAll("-", "/")}-${String(number).padStart(6, "0")}-${head.slice(0, 16)}.jsonl`;
    const values = [number, name, facts.rows, facts.firstSeq, facts.lastSeq, facts.previous, head, nowMs];
    return (
      (
        await db
          .prepare(PLAN)
          .bind(...values)
          .run()
      ).meta.changes === 1
    );
  }

  async function write(planned: CopyRow, nowMs: number): Promise<void> {
    const rows = await rowsBetween(planned.first_seq - 1, planned.last_seq);
    const { lines, head } = await build(planned.number, planned.previous, rows);
    if (head !== planned.head) {
      // Another version of the platform planned it and says rows in other words, or somebody changed them.
      log.error("a planned copy of the audit log cannot be made any more", { copy: planned.name });
      await db.prepare(FORGET_PLAN).bind(planned.number, planned.head).run();
      return;
    }
    await bucket.put(planned.name, `${lines.join("\n")}\n`, {
      onlyIf: { etagDoesNotMatch: "*" },
      httpMetadata: { contentType: "application/x-ndjson" },
    });
    await db.prepare(WRITTEN).bind(planned.number, planned.head, nowMs).run();
  }

  return {
    async run(nowMs) {
      for (let copies = 0; copies < COPY.aRun; copies++) {
        let last = await db.prepare(LAST).first<CopyRow>();
        if (last === null || last.written_at !== null) {
          if (!(await plan(last, nowMs))) return;
          last = await db.prepare(LAST).first<CopyRow>();
        }
        if (last?.written_at === null) await write(last, nowMs);
      }
    },
    async page(after, limit, skip) {
      return (await db.prepare(PAGE).bind(after, limit, skip).all<CopyRow>()).results.map(toCopy);
    },
    async read(number) {
      const row = await db.prepare(ONE).bind(number).first<CopyRow>();
      if (row === null) return undefined;
      const object = await bucket.get(row.name);
      if (object === null) return "missing";
      if (object.size > COPY.readBytes) {
        await object.body.cancel();
        return "missing";
      }
      return { ...toCopy(row), lines: (await object.text()).replace(/\n$/, "").split("\n") };
    },
  };
}

async function build(number: number, previous: string, rows: readonly SequencedRow[]) {
  const facts = {
    number,
    rows: rows.length,
    firstSeq: rows[0]?.seq ?? 0,
    lastSeq: rows.at(-1)?.seq ?? 0,
    previous,
  };
  return {
    facts,
    ...(await chain(
      facts,
      rows.map((row) => ({ seq: row.seq, ...toJson(row) })),
    )),
  };
}

/** As many of them as a copy takes, one at least. */
function within(rows: readonly SequencedRow[]): readonly SequencedRow[] {
  let chars = 0;
  const fits = rows.findIndex(({ subject, reason, changes }) => {
    chars += subject.length + reason.length + changes.length;
    return chars > COPY.chars;
  });
  return fits === -1 ? rows : rows.slice(0, Math.max(fits, 1));
}

/** In UTC: `2026-11-22`. */
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

const toCopy = (row: CopyRow): AuditCopy => ({
  number: row.number,
  name: row.name,
  rows: row.rows,
  firstSeq: row.first_seq,
  lastSeq: row.last_seq,
  previous: row.previous,
  head: row.head,
  writtenAtMs: row.written_at ?? 0,
});
