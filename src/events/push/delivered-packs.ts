import { hasTable } from "../../platform/storage/has-table.ts";
import { DELIVERY } from "../model/limits.ts";
import { attemptOf, toStored, type StoredAttempt } from "./stored-attempt.ts";
import type { Attempt } from "./types.ts";
import { HOUR_MS } from "../../platform/runtime/clock.ts";

/**
 * Deliveries whose first attempt succeeded, as most do, with up to `DELIVERY.packed` in one row. They are kept so that
 * the client can list them and deliver them again.
 *
 *   a checkpoint ── adds to the newest row, or begins one ──→ kept ── 7 days, or 1,000 newer ones ──→ its row removed
 *   kept ── redeliver ──→ out of its row: the delivery gets one of its own (delivery-table.ts)
 *
 * The first row creates the table. An older release that does not know the table does not list these deliveries;
 * nothing is lost.
 */
export class DeliveredPacks {
  readonly #sql: SqlStorage;
  /** Undefined: not read yet, or a write failed. */
  #known: Known | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Reads again after a failed write. */
  forget(): void {
    this.#known = undefined;
  }

  get count(): number {
    return this.#facts().count;
  }

  /** The largest place; 0 if there is none. */
  get lastPlace(): number {
    return this.#facts().lastPlace;
  }

  /** Adds deliveries. Call it in a transaction. */
  add(items: readonly PackedDelivery[]): void {
    if (items.length === 0) return;
    const facts = this.#facts();
    if (!facts.exists) this.#sql.exec(PACK_TABLE);
    facts.exists = true;
    let left = items;
    while (left.length > 0) {
      const { newest } = facts;
      const endedAtMs = left.at(-1)!.atMs;
      const room = newest === undefined || endedAtMs > newest.atMs + PACK_MS ? 0 : DELIVERY.packed - newest.size;
      const some = left.slice(0, room > 0 ? room : DELIVERY.packed);
      left = left.slice(some.length);
      const atMs = some.at(-1)!.atMs;
      const lastPlace = Math.max(facts.lastPlace, ...some.map(({ place }) => place));
      const lines = some.map(toLine).join("\n");
      if (room > 0 && newest !== undefined) {
        this.#sql.exec(PACK_SQL.append, newest.id, atMs, some.length, lastPlace, lines);
        facts.newest = { id: newest.id, atMs, size: newest.size + some.length };
      } else {
        const { id } = this.#sql.exec<{ id: number }>(PACK_SQL.begin, atMs, some.length, lastPlace, lines).one();
        facts.newest = { id, atMs, size: some.length };
      }
      facts.count += some.length;
      facts.lastPlace = lastPlace;
    }
  }

  find(eventId: string): PackedDelivery | undefined {
    return this.#packOf(eventId)?.items.find((item) => item.eventId === eventId);
  }

  /** Removes a delivery from its row. Call it in a transaction. */
  remove(eventId: string): void {
    const pack = this.#packOf(eventId);
    if (pack === undefined) return;
    const left = pack.items.filter((item) => item.eventId !== eventId);
    if (left.length === 0) this.#sql.exec(PACK_SQL.remove, pack.id);
    else this.#sql.exec(PACK_SQL.replace, pack.id, left.length, left.map(toLine).join("\n"));
    this.forget();
  }

  /** All deliveries by place. Their number is bounded (`DELIVERY.deliveredKept`). */
  all(): PackedDelivery[] {
    if (!this.#facts().exists) return [];
    const packs = this.#sql.exec<{ items: string }>(PACK_SQL.all).toArray();
    return packs.flatMap(({ items }) => fromLines(items)).toSorted((a, b) => a.place - b.place);
  }

  /** The oldest row: the number of its deliveries, and when the last of them was delivered. */
  oldest(): { readonly id: number; readonly size: number; readonly atMs: number } | undefined {
    if (!this.#facts().exists) return undefined;
    return this.#sql.exec<{ id: number; size: number; atMs: number }>(PACK_SQL.oldest).toArray()[0];
  }

  removePack(id: number): void {
    this.#sql.exec(PACK_SQL.remove, id);
    this.forget();
  }

  #packOf(eventId: string): { readonly id: number; readonly items: readonly PackedDelivery[] } | undefined {
    if (!this.#facts().exists) return undefined;
    const row = this.#sql.exec<{ id: number; items: string }>(PACK_SQL.find, eventId).toArray()[0];
    return row === undefined ? undefined : { id: row.id, items: fromLines(row.items) };
  }

  #facts(): Known {
    if (this.#known !== undefined) return this.#known;
    if (!hasTable(this.#sql, "delivered")) return (this.#known = { exists: false, count: 0, lastPlace: 0 });
    const sums = this.#sql.exec<{ count: number; lastPlace: number }>(PACK_SQL.sums).one();
    const newest = this.#sql.exec<{ id: number; size: number; atMs: number }>(PACK_SQL.newest).toArray()[0];
    return (this.#known = { exists: true, ...sums, newest });
  }
}

export interface PackedDelivery {
  /** Its number in the order of taking, which the rows of `delivery` share. */
  readonly place: number;
  readonly eventId: string;
  /** When it was delivered. */
  readonly atMs: number;
  readonly attempt: Attempt;
}

interface Known {
  exists: boolean;
  count: number;
  lastPlace: number;
  newest?: { readonly id: number; readonly size: number; readonly atMs: number } | undefined;
}

/** A row takes no delivery this long after its last one, so that a row is not kept long beyond its age. */
const PACK_MS = HOUR_MS;

/** `items`: one delivery per line, as a JSON list. `at`: when the last of them was delivered. */
const PACK_TABLE = `CREATE TABLE IF NOT EXISTS delivered (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  size INTEGER NOT NULL,
  last_place INTEGER NOT NULL,
  items TEXT NOT NULL
) STRICT`;

/** Statements that scan all rows run only when an instance starts or a client asks; the table is bounded. */
const PACK_SQL = {
  begin: `INSERT INTO delivered (at, size, last_place, items) VALUES (?1, ?2, ?3, ?4) RETURNING id`,
  append: `UPDATE delivered SET at = ?2, size = size + ?3, last_place = ?4, items = items || char(10) || ?5
    WHERE id = ?1`,
  replace: `UPDATE delivered SET size = ?2, items = ?3 WHERE id = ?1`,
  remove: `DELETE FROM delivered WHERE id = ?1`,
  newest: `SELECT id, size, at AS atMs FROM delivered ORDER BY id DESC LIMIT 1`,
  oldest: `SELECT id, size, at AS atMs FROM delivered ORDER BY id LIMIT 1`,
  sums: `SELECT coalesce(sum(size), 0) AS count, coalesce(max(last_place), 0) AS lastPlace FROM delivered`,
  find: `SELECT id, items FROM delivered WHERE instr(items, '"' || ?1 || '"') > 0 LIMIT 1`,
  all: `SELECT items FROM delivered ORDER BY id`,
} as const;

type Line = readonly [place: number, eventId: string, atMs: number, attempt: StoredAttempt];

const toLine = ({ place, eventId, atMs, attempt }: PackedDelivery): string =>
  JSON.stringify([place, eventId, atMs, toStored(attempt)] satisfies Line);

const fromLines = (lines: string): PackedDelivery[] =>
  lines.split("\n").map((line) => {
    const [place, eventId, atMs, attempt] = JSON.parse(line) as Line;
    return { place, eventId, atMs, attempt: attemptOf(attempt) };
  });
