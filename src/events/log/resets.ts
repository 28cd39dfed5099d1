import { hasTable } from "../../platform/storage/has-table.ts";

/**
 * Resets of a log: moments at which its positions began to be given a second time. The log was restored to an earlier
 * point, imported from a backup, or opened anew after a loss, and ended at `seq` then.
 *
 *   log ─ 1 … 50 … 100 ── restored to 50 ──→ 1 … 50, and other events at 51 …
 *   reader at 100 ── reads: the log tells of a reset that the reader has not seen ──→ reader at 50
 *   reader at 40 ── the same ──→ reader at 40
 *
 * A reader that only compared its position with the log's end would miss the new events 51 to 100, as soon as there are
 * so many. So a log tells its resets with every answer, and a reader keeps the id of the last one that it has seen for
 * each shard. Without resets, which is almost always, neither costs anything.
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

  /** Records that positions behind `seq` begin anew. A repeat changes nothing. */
  add(id: string, seq: number): void {
    this.#sql.exec(TABLE);
    this.#sql.exec(`INSERT OR IGNORE INTO reset (id, seq) VALUES (?, ?)`, id, seq);
    this.#known = undefined;
  }

  forget(): void {
    this.#known = undefined;
  }
}

/** Where a reader at `position` goes on, and the reset that it has seen then; undefined: it stays. */
export function positionAfter(
  told: readonly Reset[] | undefined,
  seen: string | undefined,
  position: number,
): { readonly position: number; readonly seen: string } | undefined {
  const last = told?.at(-1);
  if (told === undefined || last === undefined || last.id === seen) return undefined;
  // A reset that the log does not know was itself undone, so all others count.
  const unseen = told.slice(told.findIndex(({ id }) => id === seen) + 1);
  return { position: Math.min(position, ...unseen.map(({ seq }) => seq)), seen: last.id };
}

const TABLE = `CREATE TABLE IF NOT EXISTS reset (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  seq INTEGER NOT NULL
) STRICT`;
