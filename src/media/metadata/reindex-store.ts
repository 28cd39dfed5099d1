import { ATTRIBUTE_SQL } from "./index-sql.ts";

/** Rebuilds the metadata index of files from their own columns, as after a restore. A repeat adds nothing. */
export const createReindexStore =
  (db: D1Database) =>
  async (fileIds: readonly string[]): Promise<void> => {
    const ids = JSON.stringify(fileIds);
    await db.batch([ATTRIBUTE_SQL.add, ATTRIBUTE_SQL.addKeySet].map((sql) => db.prepare(sql).bind(ids)));
  };
