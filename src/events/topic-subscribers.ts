/**
 * The push subscriptions that a log wakes when it has new events, and up to which event each was told.
 *
 * A subscription registers at every shard's log before anything else of it is stored, so whoever deletes the topic finds
 * it here, also one that was never finished.
 */
export class TopicSubscribers {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** One that is there stays as it is. `seq`: the end of the log, which it need not be told of. */
  add(name: string, seq: number): void {
    this.#sql.exec(`INSERT OR IGNORE INTO subscriber (name, woken_seq) VALUES (?, ?)`, name, seq);
  }

  remove(name: string): void {
    this.#sql.exec(`DELETE FROM subscriber WHERE name = ?`, name);
  }

  /** Some of them. */
  list(limit: number): string[] {
    return this.#sql
      .exec<{ name: string }>(`SELECT name FROM subscriber ORDER BY name LIMIT ?`, limit)
      .toArray()
      .map((row) => row.name);
  }
}
