const CLIENT = `SELECT name, tenant FROM client WHERE id = ?1`;

/** Clients as the directory has them now. This decides whether a change of a client happened. */
export const createDirectoryOwners = (db: D1Database) => ({
  client: async (id: string): Promise<{ readonly name: string; readonly tenant: string } | undefined> =>
    (await db.prepare(CLIENT).bind(id).first<{ name: string; tenant: string }>()) ?? undefined,
});
