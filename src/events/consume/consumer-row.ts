import { hasTable } from "../../platform/storage/has-table.ts";
import type { ObjectSchema } from "../../platform/storage/object-schema.ts";
import { withoutCommitted, type DeliveryCounts } from "./delivery-counts.ts";
import { unread, type ConsumerState } from "./lock.ts";

/** State of one consumer. */
export interface ConsumerRecord {
  readonly state: ConsumerState;
  /** Delivery counts, by shard. */
  readonly counts: readonly DeliveryCounts[];
  /** The last reset of each shard's log that the consumer saw (log/resets.ts); null: none. Absent: none in any. */
  readonly seenResets?: readonly (string | null)[] | undefined;
}

/** A consumer in a backup. */
export interface ConsumerPage {
  readonly kind: "consumer";
  readonly format: number;
  /** The record as stored. */
  readonly record: string;
}

/** The stored JSON of a record. Consumers of release 0.1.0 have it too, so the name of the counts stays. */
export const encodeRecord = ({ state, counts, seenResets }: ConsumerRecord): string =>
  JSON.stringify({ state, seenResets, handouts: counts });

function decodeRecord(stored: string): ConsumerRecord {
  const { handouts: counts, ...rest } = JSON.parse(stored) as Omit<ConsumerRecord, "counts"> & {
    readonly handouts: ConsumerRecord["counts"];
  };
  return { ...rest, counts };
}

/** The record of a consumer that never read. */
export const newRecord = (shards: number): ConsumerRecord => ({
  state: unread(shards),
  counts: Array.from({ length: shards }, () => []),
});

/** Adds the start positions of shards that were read for the first time. Returns the same record if there are none. */
export const withStartPositions = (cursor: readonly number[], record: ConsumerRecord): ConsumerRecord =>
  record.state.cursor.every((after, shard) => after === cursor[shard])
    ? record
    : { ...record, state: { ...record.state, cursor } };

/** Moves the cursor back in shards whose logs were reset, and drops the delivery counts of those that moved. */
export const rewound = (record: ConsumerRecord, rewinds: readonly Rewind[]): ConsumerRecord => {
  const of = (shard: number): Rewind | undefined => rewinds.find((rewind) => rewind.shard === shard);
  const { state, counts, seenResets } = record;
  return {
    state: { ...state, cursor: state.cursor.map((after, shard) => of(shard)?.position ?? after) },
    counts: counts.map((known, shard) =>
      (of(shard)?.position ?? state.cursor[shard]) === state.cursor[shard] ? known : [],
    ),
    seenResets: state.cursor.map((_, shard) => of(shard)?.seen ?? seenResets?.[shard] ?? null),
  };
};

/** A position to go back to. */
export interface Rewind {
  readonly shard: number;
  readonly position: number;
  /** The reset that the consumer has seen then; null: the log lost events without a reset. */
  readonly seen: string | null;
}

/** The only row of a consumer. The first write creates the table, so a mere query of the position stores nothing. */
export class ConsumerRow {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  load(): ConsumerRecord | undefined {
    if (!hasTable(this.#sql, "consumer")) return undefined;
    const row = this.#sql.exec<{ record: string }>(`SELECT record FROM consumer WHERE id = 1`).toArray()[0];
    return row === undefined ? undefined : decodeRecord(row.record);
  }

  /**
   * Writes the row and returns the stored record, without delivery counts of committed events. `isFirst` creates the
   * table.
   */
  save({ state, counts, seenResets }: ConsumerRecord, isFirst: boolean): ConsumerRecord {
    const record = {
      state,
      seenResets,
      counts: counts.map((known, shard) => withoutCommitted(known, state.cursor[shard]!)),
    };
    if (isFirst) this.#sql.exec(TABLE);
    this.#store(encodeRecord(record));
    return record;
  }

  #store(record: string): void {
    this.#sql.exec(
      `INSERT OR REPLACE INTO consumer (id, schema_version, record) VALUES (1, ${CONSUMER_SCHEMA.version}, ?)`,
      record,
    );
  }

  /** Writes the record of another consumer, from a backup. */
  import(record: string): void {
    this.#sql.exec(TABLE);
    this.#store(record);
  }
}

export const CONSUMER_SCHEMA: ObjectSchema = { object: "TopicConsumer", table: "consumer", version: 1 };
const TABLE = `CREATE TABLE IF NOT EXISTS consumer (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  schema_version INTEGER NOT NULL,
  record TEXT NOT NULL
) STRICT`;
