/**
 * The names of a topic's consumers (access/reader.ts), so that deleting the topic finds their objects. Only the first
 * shard's log has them. The column is called `client_id`, though a reader can also be a person.
 */
export class ConsumerTable {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  add(name: string): void {
    this.#sql.exec(`INSERT OR IGNORE INTO consumer (client_id) VALUES (?)`, name);
  }

  remove(name: string): void {
    this.#sql.exec(`DELETE FROM consumer WHERE client_id = ?`, name);
  }

  /** Some of the names, in order. */
  list(limit: number): string[] {
    return this.#names(`SELECT client_id FROM consumer ORDER BY client_id LIMIT ?`, limit);
  }

  /** Some of the names after `name`, in order. */
  listAfter(name: string, limit: number): string[] {
    return this.#names(`SELECT client_id FROM consumer WHERE client_id > ? ORDER BY client_id LIMIT ?`, name, limit);
  }

  /** Some of the names with this prefix, in order. */
  listNamed(beginning: string, limit: number): string[] {
    return this.#names(
      `SELECT client_id FROM consumer WHERE client_id >= ?1 AND client_id < ?1 || char(0x10ffff) ORDER BY client_id LIMIT ?2`,
      beginning,
      limit,
    );
  }

  #names(query: string, ...values: (string | number)[]): string[] {
    return [...this.#sql.exec<{ client_id: string }>(query, ...values)].map((row) => row.client_id);
  }
}
