/** Whether an object has this table. One that holds nothing has none: its tables come with the first write. */
export const hasTable = (sql: SqlStorage, name: string): boolean =>
  sql.exec(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?`, name).toArray().length > 0;
