import { hasTable } from "../../platform/storage/has-table.ts";
import {
  fillPage,
  PAGE_FORMAT,
  takePage,
  type ImportOutcome,
  type ImportPlace,
} from "../../platform/storage/object-import.ts";
import type { PackedDelivery } from "./delivered-packs.ts";
import type { Deliveries } from "./deliveries.ts";
import { PushState, type StateRow } from "./state.ts";
import { toStored } from "./stored-attempt.ts";

/**
 * A push subscription's object as pages: its state, and its deliveries in the order in which they were taken. Each
 * packed delivery becomes a row.
 *
 * Every page has the state at its time, and the import uses that of the last page. Events taken since the first page
 * are on later pages, so no event falls between cursor and deliveries. A delivery that ended during the export may be
 * exported as pending and is then repeated: delivery is at least once.
 *
 * During an import the object has deliveries but no state, so it counts as absent.
 */
export interface PushPage {
  readonly kind: "push";
  readonly format: number;
  readonly state: StateRow;
  /** The last reset seen of each shard's log (log/resets.ts); absent in backups of earlier releases. */
  readonly seenResets?: readonly { readonly shard: number; readonly id: string }[];
  readonly deliveries: readonly ExportedDelivery[];
  /** Where the next page starts; undefined on the last one. */
  readonly next: number | undefined;
}

interface ExportedDelivery extends Record<string, SqlStorageValue> {
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

export function exportPush(
  sql: SqlStorage,
  { state, deliveries }: { readonly state: PushState; readonly deliveries: Deliveries },
  after: number,
): PushPage {
  const packed = deliveries.packed().filter(({ place }) => place > after);
  const rows = sql.exec<ExportedDelivery>(`SELECT ${COLUMNS} FROM delivery WHERE place > ? ORDER BY place`, after);
  const { page, isAll } = fillPage(byPlace(rows, packed.map(toRow)), ({ attempts, text }) => {
    return 100 + attempts.length + (text?.length ?? 0);
  });
  const next = isAll ? undefined : page.at(-1)?.place;
  const seenResets = [...state.seenResets].map(([shard, id]) => ({ shard, id }));
  return { kind: "push", format: PAGE_FORMAT, state: state.toRow(), seenResets, deliveries: page, next };
}

function* byPlace(rows: Iterable<ExportedDelivery>, packed: readonly ExportedDelivery[]): Generator<ExportedDelivery> {
  let at = 0;
  for (const row of rows) {
    while (at < packed.length && packed[at]!.place < row.place) yield packed[at++]!;
    yield row;
  }
  yield* packed.slice(at);
}

const toRow = ({ place, eventId, atMs, attempt }: PackedDelivery): ExportedDelivery => ({
  place,
  event_id: eventId,
  state: "delivered",
  at: atMs,
  step: 0,
  tries: 1,
  attempt_count: 1,
  attempts: JSON.stringify([toStored(attempt)]),
  text: null,
});

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
    if (!place.isLast) return;
    PushState.store(sql, page.state);
    PushState.storeSeen(sql, new Map(page.seenResets?.map(({ shard, id }) => [shard, id])));
  });
}

const COLUMNS = `place, event_id, state, at, step, tries, attempt_count, attempts, text`;
