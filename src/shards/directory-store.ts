const CLIENT = `SELECT name, tenant FROM client WHERE id = ?1`;
const IS_NAMED = `SELECT 1 FROM client WHERE name = ?1`;

/** Reads the current records of clients in the directory. They decide whether a change of a client happened. */
export const createDirectoryOwners = (db: D1Database) => ({
  client: async (id: string): Promise<{ readonly name: string; readonly tenant: string } | undefined> =>
    (await db.prepare(CLIENT).bind(id).first<{ name: string; tenant: string }>()) ?? undefined,
  isNamed: async (name: string): Promise<boolean> => (await db.prepare(IS_NAMED).bind(name).first()) !== null,
});
