const IDS = `SELECT id FROM refresh_grant WHERE email = ?1 AND +client = ?2 LIMIT ?3`;
const BELONGS_TO_USER = `SELECT 1 FROM refresh_grant WHERE id = ?3 AND email = ?1 AND client = ?2`;
const END = ["authorization_code", "refresh_grant"].map(
  (table) => `DELETE FROM ${table} WHERE email = ?1 AND +client = ?2`,
);

/** The access that a client has to a person's account, as one database has it. */
export const createAccessStore = (db: D1Database) => ({
  /** At most `limit` grant ids. */
  async grantIds(email: string, clientId: string, limit: number): Promise<readonly string[]> {
    const { results } = await db.prepare(IDS).bind(email, clientId, limit).all<{ id: string }>();
    return results.map(({ id }) => id);
  },
  belongsToUser: async (email: string, clientId: string, grantId: string): Promise<boolean> =>
    (await db.prepare(BELONGS_TO_USER).bind(email, clientId, grantId).first()) !== null,
  /** Removes the codes and grants. */
  endStatements: (email: string, clientId: string): readonly D1PreparedStatement[] =>
    END.map((sql) => db.prepare(sql).bind(email, clientId)),
});
