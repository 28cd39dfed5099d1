import { hasTable } from "../../platform/has-table.ts";
import { withoutCommitted, type DeliveryCounts } from "./delivery-counts.ts";
import { unread, type ConsumerState } from "./lock.ts";

/** What one client's consumer keeps. Stored as JSON, so a member that was added later may be missing. */
export interface ConsumerRecord {
  readonly state: ConsumerState;
  /** One of each shard. */
  readonly handouts: readonly DeliveryCounts[];
}

/** That of a client that reads for the first time, or anew from another place. */
export const newRecord = (shards: number): ConsumerRecord => ({
  state: unread(shards),
  handouts: Array.from({ length: shards }, () => []),
});

/** The record with the places where shards begin that were looked at for the first time; itself when there is none. */
export const begunAt = (cursor: readonly number[], record: ConsumerRecord): ConsumerRecord =>
  record.state.cursor.every((after, shard) => after === cursor[shard])
    ? record
    : { ...record, state: { ...record.state, cursor } };

/** The one row of a consumer. A client that only asks for its position leaves nothing: the table comes with the first write. */
export class ConsumerRow {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  load(): ConsumerRecord | undefined {
    if (!hasTable(this.#sql, "consumer")) return undefined;
    const row = this.#sql.exec<{ record: string }>(`SELECT record FROM consumer WHERE id = 1`).toArray()[0];
    return row === undefined ? undefined : (JSON.parse(row.record) as ConsumerRecord);
  }

  /** One write; gives what was stored: counts of what is committed are of no use. `isFirst`: there is no row yet. */
  save({ state, handouts }: ConsumerRecord, isFirst: boolean): ConsumerRecord {
    const record = { state, handouts: handouts.map((known, shard) => withoutCommitted(known, state.cursor[shard]!)) };
    if (isFirst) this.#sql.exec(SCHEMA);
    this.#sql.exec(
      `INSERT OR REPLACE INTO consumer (id, schema_version, record) VALUES (1, ${SCHEMA_VERSION}, ?)`,
      JSON.stringify(record),
    );
    return record;
  }
}

const SCHEMA_VERSION = 1;
const SCHEMA = `CREATE TABLE IF NOT EXISTS consumer (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  schema_version INTEGER NOT NULL,
  record TEXT NOT NULL
) STRICT`;
