import { chain, GENESIS, type CopyFacts } from "../../platform/secrets/audit-chain.ts";
import type { Log } from "../../platform/runtime/log.ts";
import { toJson, type AuditRow } from "./audit-store.ts";
import { createCopyStore, type CopyRecord } from "./copy-store.ts";

export interface AuditCopy extends CopyFacts {
  readonly name: string;
  readonly head: string;
  readonly writtenAt: number;
}

export interface AuditCopiesDeps {
  readonly db: D1Database;
  readonly bucket: R2Bucket;
  readonly log: Log;
}

/** Our choice: rows of a copy, characters of its rows, copies of one run; bytes of an object that is read. */
export const COPY = { rows: 2_000, chars: 4_000_000, aRun: 10, readBytes: 32 * 1024 * 1024 } as const;

export type AuditCopies = ReturnType<typeof createAuditCopies>;

/**
 * Copies of the audit log in the bucket, chained by hashes (platform/secrets/audit-chain.ts). The last hash of each
 * is in D1:
 *
 *   none ──plan: the rows and their hash──▶ planned ──write the object──▶ written
 *
 * A plan is one conditional write, so two crons make one chain. A plan always gives the same bytes, so another run can
 * finish it. Rows stay in the log until they are in a written copy. The name contains a part of the hash, so other
 * content has another name; an object that is there is not written again.
 */
export function createAuditCopies({ db, bucket, log }: AuditCopiesDeps) {
  const store = createCopyStore(db);

  /** False: nothing is due, or another cron planned it. */
  async function plan(last: CopyRecord | null, nowMs: number, which: "due" | "all"): Promise<boolean> {
    const copied = last?.lastSeq ?? 0;
    const newest = await store.newestSeq();
    const isFirstOfDay = dayOf(last?.writtenAt ?? 0) !== dayOf(nowMs);
    const isDue = which === "all" || isFirstOfDay || newest - copied >= COPY.rows;
    if (!isDue || newest <= copied) return false;
    const rows = fitting(await store.rowsBetween(copied, newest, COPY.rows));
    const { facts, head } = await build((last?.number ?? 0) + 1, last?.head ?? GENESIS, rows);
    const day = dayOf(nowMs).replaceAll("-", "/");
    const name = `audit/${day}-${String(facts.number).padStart(6, "0")}-${head.slice(0, 16)}.jsonl`;
    return store.plan({ ...facts, name, head }, nowMs);
  }

  async function write(planned: CopyRecord, nowMs: number): Promise<void> {
    const rows = await store.rowsBetween(planned.firstSeq - 1, planned.lastSeq, COPY.rows);
    const { lines, head } = await build(planned.number, planned.previous, rows);
    if (head !== planned.head) {
      // Another version of the platform planned it and writes rows differently, or somebody changed them.
      log.error("a planned copy of the audit log cannot be made any more", { copy: planned.name });
      return store.removePlan(planned);
    }
    await bucket.put(planned.name, `${lines.join("\n")}\n`, {
      onlyIf: { etagDoesNotMatch: "*" },
      httpMetadata: { contentType: "application/x-ndjson" },
    });
    await store.setWritten(planned, nowMs);
  }

  return {
    /**
     * Makes the copies that are due: one a day, and more if many rows wait. `all`: copies of every row there is. False:
     * there may be more.
     */
    async run(nowMs: number, which: "due" | "all" = "due"): Promise<boolean> {
      for (let copies = 0; copies < COPY.aRun; copies++) {
        let last = await store.last();
        if (last === null || last.writtenAt !== null) {
          if (!(await plan(last, nowMs, which))) return true;
          last = await store.last();
        }
        if (last?.writtenAt === null) await write(last, nowMs);
      }
      return false;
    },
    /** Copies with numbers above `after`, the oldest first. */
    page: async (after: number, limit: number, skip: number): Promise<readonly AuditCopy[]> =>
      (await store.page(after, limit, skip)).map(toCopy),
    /** A copy with its lines. Undefined: there is none. `missing`: its object is gone. */
    async read(number: number): Promise<(AuditCopy & { readonly lines: readonly string[] }) | "missing" | undefined> {
      const record = await store.find(number);
      if (record === null) return undefined;
      const object = await bucket.get(record.name);
      if (object === null) return "missing";
      if (object.size > COPY.readBytes) {
        await object.body.cancel();
        return "missing";
      }
      return { ...toCopy(record), lines: (await object.text()).replace(/\n$/, "").split("\n") };
    },
  };
}

async function build(number: number, previous: string, rows: readonly AuditRow[]) {
  const [firstSeq, lastSeq] = [rows[0]?.seq ?? 0, rows.at(-1)?.seq ?? 0];
  const facts = { number, rows: rows.length, firstSeq, lastSeq, previous };
  const lines = rows.map((row) => ({ seq: row.seq, ...toJson(row) }));
  return { facts, ...(await chain(facts, lines)) };
}

/** The first rows that fit in a copy, at least one. */
function fitting(rows: readonly AuditRow[]): readonly AuditRow[] {
  let chars = 0;
  const end = rows.findIndex(({ subject, reason, changes }) => {
    chars += subject.length + reason.length + changes.length;
    return chars > COPY.chars;
  });
  return end === -1 ? rows : rows.slice(0, Math.max(end, 1));
}

/** In UTC: `2026-11-22`. */
const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

const toCopy = (record: CopyRecord): AuditCopy => ({ ...record, writtenAt: record.writtenAt ?? 0 });
