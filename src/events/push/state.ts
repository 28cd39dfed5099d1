import { hasTable } from "../../platform/storage/has-table.ts";
import type { ObjectSchema } from "../../platform/storage/object-schema.ts";
import type { TopicAddress } from "../model/topic.ts";
import { healthy, type Health } from "./endpoint-health.ts";
import type { HandshakeError, PushOpening } from "./types.ts";

/** The state of a push subscription's object without its deliveries: one row, with a copy in memory. */
export class PushState {
  readonly id: string;
  readonly topic: TopicAddress;
  readonly openedAtMs: number;
  readonly #storage: DurableObjectStorage;
  #cursor: readonly number[];
  #eventsLost: number;
  #health: Health;
  #handshake: Handshake | undefined;
  readonly #seenResets = new Map<number, string>();

  private constructor(storage: DurableObjectStorage, row: StateRow) {
    this.#storage = storage;
    this.id = row.push_id;
    this.topic = JSON.parse(row.topic) as TopicAddress;
    this.openedAtMs = row.opened_at;
    this.#cursor = JSON.parse(row.cursor) as number[];
    this.#eventsLost = row.events_lost;
    this.#health = JSON.parse(row.health) as Health;
    this.#handshake = row.handshake === null ? undefined : (JSON.parse(row.handshake) as Handshake);
    if (!hasTable(storage.sql, "seen_reset")) return;
    const seen = storage.sql.exec<{ shard: number; id: string }>(`SELECT shard, reset_id AS id FROM seen_reset`);
    for (const { shard, id } of seen) this.#seenResets.set(shard, id);
  }

  /** Undefined if nothing is stored. */
  static load(storage: DurableObjectStorage): PushState | undefined {
    const { sql } = storage;
    if (!hasTable(sql, "subscription")) return undefined;
    return new PushState(storage, sql.exec<StateRow>(`SELECT ${COLUMNS} FROM subscription WHERE id = 1`).one());
  }

  /** Creates the tables. The subscription starts after the positions in `cursor`, one for each shard. */
  static create(
    storage: DurableObjectStorage,
    { id, topic }: PushOpening,
    cursor: readonly number[],
    nowMs: number,
  ): PushState {
    const row: StateRow = {
      push_id: id,
      topic: JSON.stringify(topic),
      opened_at: nowMs,
      cursor: JSON.stringify(cursor),
      events_lost: 0,
      health: JSON.stringify(healthy(0)),
      handshake: null,
    };
    storage.transactionSync(() => {
      PushState.createDeliveries(storage.sql);
      PushState.store(storage.sql, row);
    });
    return new PushState(storage, row);
  }

  static createDeliveries(sql: SqlStorage): void {
    for (const statement of DELIVERY_TABLE) sql.exec(statement);
  }

  /** Creates the table of the state, with its row: the object exists from here on. */
  static store(sql: SqlStorage, row: StateRow): void {
    sql.exec(STATE_TABLE);
    sql.exec(
      `INSERT INTO subscription (id, schema_version, ${COLUMNS}) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)`,
      PUSH_SCHEMA.version,
      row.push_id,
      row.topic,
      row.opened_at,
      row.cursor,
      row.events_lost,
      row.health,
      row.handshake,
    );
  }

  /** The state as it is stored. */
  toRow(): StateRow {
    return this.#storage.sql.exec<StateRow>(`SELECT ${COLUMNS} FROM subscription WHERE id = 1`).one();
  }

  /** Position of each shard up to which events are packed or have a row. */
  get cursor(): readonly number[] {
    return this.#cursor;
  }

  /** Events that retention removed before they were taken or tried. */
  get eventsLost(): number {
    return this.#eventsLost;
  }

  get health(): Health {
    return this.#health;
  }

  /** Undefined if no endpoint was pinged yet. */
  get handshake(): Handshake | undefined {
    return this.#handshake;
  }

  /** Moves the cursor in one transaction with `write`. */
  moveCursor(cursor: readonly number[], lost: number, write: () => void): void {
    const eventsLost = this.#eventsLost + lost;
    this.#storage.transactionSync(() => {
      write();
      this.#storage.sql.exec(`UPDATE subscription SET cursor = ?, events_lost = ?`, JSON.stringify(cursor), eventsLost);
    });
    this.#cursor = cursor;
    this.#eventsLost = eventsLost;
  }

  /** The last reset seen of a shard's log (log/resets.ts). */
  seenReset(shard: number): string | undefined {
    return this.#seenResets.get(shard);
  }

  /** Moves the cursor back in shards whose logs were reset, and stores the resets as seen. */
  rewind(cursor: readonly number[], seen: ReadonlyMap<number, string>): void {
    const { sql } = this.#storage;
    this.#storage.transactionSync(() => {
      PushState.storeSeen(sql, seen);
      sql.exec(`UPDATE subscription SET cursor = ?`, JSON.stringify(cursor));
    });
    this.#cursor = cursor;
    for (const [shard, id] of seen) this.#seenResets.set(shard, id);
  }

  /** All resets seen, by shard. */
  get seenResets(): ReadonlyMap<number, string> {
    return this.#seenResets;
  }

  static storeSeen(sql: SqlStorage, seen: ReadonlyMap<number, string>): void {
    if (seen.size === 0) return;
    sql.exec(SEEN_TABLE);
    for (const [shard, id] of seen)
      sql.exec(`INSERT OR REPLACE INTO seen_reset (shard, reset_id) VALUES (?, ?)`, shard, id);
  }

  inTransaction(write: () => void): void {
    this.#storage.transactionSync(write);
  }

  /** Counts one lost event in one transaction with `write`. */
  lose(write: () => void): void {
    this.moveCursor(this.#cursor, 1, write);
  }

  set health(health: Health) {
    if (health === this.#health) return;
    this.#storage.sql.exec(`UPDATE subscription SET health = ?`, JSON.stringify(health));
    this.#health = health;
  }

  set handshake(handshake: Handshake) {
    this.#storage.sql.exec(`UPDATE subscription SET handshake = ?`, JSON.stringify(handshake));
    this.#handshake = handshake;
  }
}

const COLUMNS = `push_id, topic, opened_at, cursor, events_lost, health, handshake`;

/** Progress of the handshake with one version's endpoint, as stored. */
export interface Handshake {
  readonly version: number;
  readonly tries: number;
  readonly dueAtMs: number;
  readonly lastError?: HandshakeError | undefined;
  /** The outcome, kept until it is in D1. */
  readonly outcome?: "done" | "failed";
}

export interface StateRow extends Record<string, SqlStorageValue> {
  push_id: string;
  topic: string;
  opened_at: number;
  cursor: string;
  events_lost: number;
  health: string;
  handshake: string | null;
}

/**
 * The tables of a push subscription's object.
 *
 * - `subscription`: one row, the state without `seen_reset`.
 * - `delivery`: see delivery-table.ts.
 * - `delivered`: see delivered-packs.ts. Its first row creates it.
 * - `seen_reset`: the last reset of each shard's log that the subscription saw. Most objects have no such table.
 */
export const PUSH_SCHEMA: ObjectSchema = { object: "PushSubscription", table: "subscription", version: 1 };
const STATE_TABLE = `CREATE TABLE subscription (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  schema_version INTEGER NOT NULL,
  push_id TEXT NOT NULL,
  topic TEXT NOT NULL,
  opened_at INTEGER NOT NULL,
  cursor TEXT NOT NULL,
  events_lost INTEGER NOT NULL,
  health TEXT NOT NULL,
  handshake TEXT
) STRICT`;
const SEEN_TABLE = `CREATE TABLE IF NOT EXISTS seen_reset (
  shard INTEGER PRIMARY KEY,
  reset_id TEXT NOT NULL
) STRICT`;
const DELIVERY_TABLE = [
  `CREATE TABLE delivery (
    place INTEGER PRIMARY KEY,
    event_id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'dead')),
    at INTEGER NOT NULL,
    step INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    attempt_count INTEGER NOT NULL,
    attempts TEXT NOT NULL,
    text TEXT
  ) STRICT`,
  `CREATE INDEX delivery_by_time ON delivery (state, at)`,
  `CREATE INDEX delivery_by_state ON delivery (state)`,
];
