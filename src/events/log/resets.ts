import { hasTable } from "../../platform/storage/has-table.ts";

/**
 * Resets of a log. After a reset, the log gives out positions after `seq` a second time: it was restored to an earlier
 * time, imported from a backup, or opened again after a loss, and ended at `seq` then.
 *
 *   log ─ 1 … 50 … 100 ── restored to 50 ──→ 1 … 50, and other events at 51 …
 *   reader at 100 ── reads: the log returns a reset that the reader has not seen ──→ reader at 50
 *   reader at 40 ── the same ──→ reader at 40
 *
 * Once the log has a hundred events again, a reader that only compared its position with the log's end would miss the
 * new events 51 to 100. So a log returns its resets with every answer, and a reader stores the id of the last one that
 * it has seen for each shard. A log without resets, as almost all are, stores and returns nothing.
 */
export interface Reset {
  readonly id: string;
  readonly seq: number;
}

export class ResetTable {
  readonly #sql: SqlStorage;
  #known: readonly Reset[] | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** All, the oldest first; undefined if there was none. */
  get all(): readonly Reset[] | undefined {
    this.#known ??= hasTable(this.#sql, "reset")
      ? this.#sql.exec<{ id: string; seq: number }>(`SELECT id, seq FROM reset ORDER BY number`).toArray()
      : [];
    return this.#known.length === 0 ? undefined : this.#known;
  }

  /** Records that positions after `seq` are given out again. A repeat with the same id changes nothing. */
  add(id: string, seq: number): void {
    this.#sql.exec(TABLE);
    this.#sql.exec(`INSERT OR IGNORE INTO reset (id, seq) VALUES (?, ?)`, id, seq);
    this.#known = undefined;
  }

  forget(): void {
    this.#known = undefined;
  }
}

/** Where a reader at `position` continues, and the last reset that it has seen then; undefined if nothing changes. */
export function positionAfter(
  told: readonly Reset[] | undefined,
  seen: string | undefined,
  position: number,
): { readonly position: number; readonly seen: string } | undefined {
  const last = told?.at(-1);
  if (told === undefined || last === undefined || last.id === seen) return undefined;
  // A restore removed the reset that the reader saw, so all resets of the log count as unseen.
  const unseen = told.slice(told.findIndex(({ id }) => id === seen) + 1);
  return { position: Math.min(position, ...unseen.map(({ seq }) => seq)), seen: last.id };
}

const TABLE = `CREATE TABLE IF NOT EXISTS reset (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  seq INTEGER NOT NULL
) STRICT`;
