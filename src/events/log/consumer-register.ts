/**
 * The consumers of a topic by their names (access/reader.ts), so that deleting it finds them all: the log of the first shard
 * keeps them. In the column's name they are clients, as they once were.
 */
export class ConsumerRegister {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** One that is there stays. */
  add(name: string): void {
    this.#sql.exec(`INSERT OR IGNORE INTO consumer (client_id) VALUES (?)`, name);
  }

  /** Some of them. */
  list(limit: number): string[] {
    return this.#sql
      .exec<{ client_id: string }>(`SELECT client_id FROM consumer ORDER BY client_id LIMIT ?`, limit)
      .toArray()
      .map((row) => row.client_id);
  }

  remove(name: string): void {
    this.#sql.exec(`DELETE FROM consumer WHERE client_id = ?`, name);
  }
}
