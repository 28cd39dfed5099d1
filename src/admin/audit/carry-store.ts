import type { ShardTrail } from "../../platform/ports/audit.ts";
import { INTO, NEXT, rowValues, type Share } from "./audit-store.ts";

/** Rows that one step carries. */
const CARRIED = 100;

/** Ids begin with the time, so that rows are carried in their order. */
const WRITE = `INSERT INTO carried_audit (id, at, row) SELECT printf('%012x', ?1) || lower(hex(randomblob(8))), ?1, ?2`;
const OLDEST = `SELECT id, row FROM carried_audit WHERE id > '' AND row IS NOT NULL ORDER BY id LIMIT ?1`;
/** ?1: lists of an id and the values of its row. */
const TAKE_IN = [
  `${INTO}
    SELECT json_each.key + next, ${Array.from({ length: 9 }, (_, at) => `value ->> ${at + 1}`).join(", ")}
    FROM (SELECT ${NEXT} AS next) CROSS JOIN json_each(?1)
    WHERE NOT EXISTS (SELECT 1 FROM carried_audit WHERE id = value ->> 0) ORDER BY json_each.key`,
  `INSERT INTO carried_audit (id, at) SELECT value ->> 0, value ->> 1 FROM json_each(?1) WHERE true ON CONFLICT DO NOTHING`,
] as const;
const FORGET = `DELETE FROM carried_audit WHERE id IN (SELECT value FROM json_each(?1))`;
const FORGET_ARRIVED = `DELETE FROM carried_audit WHERE id > '' AND id < printf('%012x', ?1) AND row IS NULL`;

/**
 * Rows about changes in a shard. They are written in the shard, in the transaction of the change, and then carried to
 * the log in the directory. After a crash, the next step carries them: of any request, or of the cron.
 */
export const createCarrier = (
  directory: D1Database,
  shard: D1Database,
  shareOf: (...of: Parameters<ShardTrail["statement"]>) => Share,
): ShardTrail => ({
  statement: (when, record) =>
    shard
      .prepare(when === "always" ? WRITE : `${WRITE} WHERE changes() > 0`)
      .bind(record.atMs, JSON.stringify(rowValues(record, shareOf(when, record)))),
  async carry() {
    for (let count = CARRIED; count === CARRIED;) {
      const { results } = await shard.prepare(OLDEST).bind(CARRIED).all<{ id: string; row: string }>();
      count = results.length;
      if (count === 0) return;
      const rows = JSON.stringify(results.map(({ id, row }) => [id, ...(JSON.parse(row) as unknown[])]));
      await directory.batch(TAKE_IN.map((sql) => directory.prepare(sql).bind(rows)));
      await shard
        .prepare(FORGET)
        .bind(JSON.stringify(results.map(({ id }) => id)))
        .run();
    }
  },
});

/** Forgets the ids of rows that arrived before this time. No step takes so long that it could bring them once more. */
export const forgetArrived = async (directory: D1Database, beforeMs: number): Promise<void> =>
  void (await directory.prepare(FORGET_ARRIVED).bind(beforeMs).run());
