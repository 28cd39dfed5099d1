/** Adds nothing if the assertion was used. */
export const USE_ASSERTION = `INSERT INTO used_assertion (digest, expires_at) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING`;
const DELETE_EXPIRED = `
  DELETE FROM used_assertion WHERE digest IN (
    SELECT digest FROM used_assertion WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)`;

export type AssertionStore = ReturnType<typeof createAssertionStore>;

/** The assertions of clients that were used and have not expired. */
export const createAssertionStore = (db: D1Database) => ({
  /** Returns true to one caller only. */
  async use(digest: string, expiresAtMs: number): Promise<boolean> {
    return (await db.prepare(USE_ASSERTION).bind(digest, expiresAtMs).run()).meta.changes > 0;
  },
  /** Deletes at most `limit` assertions that expired and returns how many. */
  async deleteExpired(nowMs: number, limit: number): Promise<number> {
    return (await db.prepare(DELETE_EXPIRED).bind(nowMs, limit).run()).meta.changes;
  },
});
