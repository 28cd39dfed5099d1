import { hasTable } from "../../platform/has-table.ts";
import { fillPage, PAGE_FORMAT, takePage, type ImportOutcome, type ImportPlace } from "../../platform/object-import.ts";
import { PushState, type StateRow } from "./state.ts";

/**
 * A push subscription's object as pages: its state, and its deliveries in the order in which they were taken.
 *
 * Every page has the state of its moment, and the last one counts: what was taken from the topic since the first page
 * is on a later one, so no event falls between cursor and deliveries. A delivery that ended meanwhile may be exported
 * as pending, and is repeated: delivery is at least once.
 *
 * An object that is being imported has deliveries and no state, so it is absent to everybody.
 */
export interface PushPage {
  readonly kind: "push";
  readonly format: number;
  readonly state: StateRow;
  readonly deliveries: readonly ExportedDelivery[];
  /** Where the next page starts; undefined on the last one. */
  readonly next: number | undefined;
}

export interface ExportedDelivery extends Record<string, SqlStorageValue> {
  place: number;
  event_id: string;
  state: string;
  at: number;
  step: number;
  tries: number;
  attempt_count: number;
  attempts: string;
  text: string | null;
}

export function exportPush(sql: SqlStorage, state: StateRow, after: number): PushPage {
  const rows = sql.exec<ExportedDelivery>(`SELECT ${COLUMNS} FROM delivery WHERE place > ? ORDER BY place`, after);
  const { page, isAll } = fillPage(rows, ({ attempts, text }) => 100 + attempts.length + (text?.length ?? 0));
  return { kind: "push", format: PAGE_FORMAT, state, deliveries: page, next: isAll ? undefined : page.at(-1)?.place };
}

export function importPushPage(storage: DurableObjectStorage, place: ImportPlace, page: PushPage): ImportOutcome {
  const { sql } = storage;
  const isEmpty = !hasTable(sql, "subscription") && !hasTable(sql, "delivery");
  return takePage(storage, place, page, isEmpty, () => {
    if (!hasTable(sql, "delivery")) PushState.createDeliveries(sql);
    for (const row of page.deliveries)
      sql.exec(
        `INSERT INTO delivery (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        row.place,
        row.event_id,
        row.state,
        row.at,
        row.step,
        row.tries,
        row.attempt_count,
        row.attempts,
        row.text,
      );
    if (place.isLast) PushState.store(sql, page.state);
  });
}

const COLUMNS = `place, event_id, state, at, step, tries, attempt_count, attempts, text`;
