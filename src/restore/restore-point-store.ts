import { undoneBy } from "./past.ts";

/** The last restore of the database: a table with one row. */
export interface RestorePoint {
  readonly generation: string;
  /** Null: the database was never restored. */
  readonly restoredTo: number | null;
  readonly markedAt: number | null;
  readonly held: 0 | 1;
  /** How far erasures were replayed: the name of a copy of the audit log, and its lines that are done. */
  readonly replayedName: string;
  readonly replayedLines: number;
}

const READ = `SELECT generation, restored_to AS restoredTo, marked_at AS markedAt, held, replayed_name AS replayedName,
  replayed_lines AS replayedLines FROM restore_point WHERE id = 1`;
const MARK = `UPDATE restore_point SET generation = ?1, restored_to = ?2, marked_at = ?3, held = 1, replayed_name = '',
  replayed_lines = 0 WHERE id = 1`;
const RELEASE = `UPDATE restore_point SET held = 0 WHERE id = 1 AND held = 1`;
const REPLAYED = `UPDATE restore_point SET replayed_name = ?2, replayed_lines = ?3 WHERE id = 1 AND generation = ?1`;
const LAST_RESTORE_AT = `SELECT marked_at AS markedAt FROM restore_point WHERE id = 1`;
const HELD_FROM = `SELECT restored_to AS heldFrom FROM restore_point WHERE id = 1 AND held = 1`;
/** Our choice: the most rows that are read for the row of a bookmark, as for a page of the log. */
const NEWEST_ROWS = 50_000;
const RESTORED_AT = `SELECT at FROM audit_entry WHERE seq > (SELECT max(seq) FROM audit_entry) - ${NEWEST_ROWS}
  AND subject = ?1 AND action = 'restore' AND substr(reason, -length(?2)) = ?2 ORDER BY seq DESC LIMIT 1`;

export type RestorePointStore = ReturnType<typeof createRestorePointStore>;

export function createRestorePointStore(db: D1Database) {
  const read = async (): Promise<RestorePoint> => {
    const point = await db.prepare(READ).first<RestorePoint>();
    if (point === null) throw new Error("the row of the restore point is missing");
    return point;
  };
  return {
    read,
    async mark(
      generation: string,
      restoredTo: number,
      nowMs: number,
      audit: D1PreparedStatement,
    ): Promise<RestorePoint> {
      await db.batch([db.prepare(MARK).bind(generation, restoredTo, nowMs), audit]);
      return read();
    },
    async release(audit: D1PreparedStatement): Promise<RestorePoint> {
      await db.batch([db.prepare(RELEASE), audit]);
      return read();
    },
    /** Stores the position of the replay, unless another restore was marked meanwhile. */
    replayed: async ({ generation }: RestorePoint, name: string, lines: number): Promise<void> =>
      void (await db.prepare(REPLAYED).bind(generation, name, lines).run()),
    /** When the restore of this subject began that answered with this bookmark; undefined: no recent row tells. */
    restoredAt: async (subject: string, undo: string): Promise<number | undefined> =>
      (await db.prepare(RESTORED_AT).bind(subject, undoneBy(undo)).first<number>("at")) ?? undefined,
    /** When the last restore was made: the database has older rows from before it. Undefined: there was none. */
    lastRestoreAt: async (): Promise<number | undefined> =>
      (await db.prepare(LAST_RESTORE_AT).first<number | null>("markedAt")) ?? undefined,
    /** The time from which on repairs keep objects of the bucket; undefined: there is no hold. */
    heldFrom: async (): Promise<number | undefined> =>
      (await db.prepare(HELD_FROM).first<number>("heldFrom")) ?? undefined,
  };
}
