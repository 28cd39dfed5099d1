/** True if a Durable Object has this table. An empty object has none: the first write creates its tables. */
export const hasTable = (sql: SqlStorage, name: string): boolean =>
  sql.exec(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?`, name).toArray().length > 0;
