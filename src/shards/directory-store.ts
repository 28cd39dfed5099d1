const CLIENT = `SELECT name, tenant FROM client WHERE id = ?1`;
const IS_NAMED = `SELECT 1 FROM client WHERE name = ?1`;
const IS_CLOSED = `EXISTS (SELECT 1 FROM closing WHERE kind = 'client' AND closing.name = given.value)`;
const NOTE = `INSERT INTO client_object (client, number) SELECT value, ?2 FROM json_each(?1) AS given`;
const NOTED = `SELECT client FROM json_each(?1) AS given CROSS JOIN client_object ON client = given.value AND number = ?2`;
const OBJECTS = `SELECT number FROM client_object WHERE client = ?1 ORDER BY number`;

/** Reads the current records of clients in the directory. They decide whether a change of a client happened. */
export const createDirectoryOwners = (db: D1Database) => ({
  client: async (id: string): Promise<{ readonly name: string; readonly tenant: string } | undefined> =>
    (await db.prepare(CLIENT).bind(id).first<{ name: string; tenant: string }>()) ?? undefined,
  isNamed: async (name: string): Promise<boolean> => (await db.prepare(IS_NAMED).bind(name).first()) !== null,

  /** The tenant objects that are noted for a client (src/media/shards/client-objects.ts). */
  objectsOf: async (client: string): Promise<readonly number[]> =>
    (await db.prepare(OBJECTS).bind(client).all<{ number: number }>()).results.map(({ number }) => number),
  async note(clients: readonly string[], object: number): Promise<readonly string[]> {
    const given = JSON.stringify(clients);
    const [, noted] = await db.batch<{ client: string }>([
      db.prepare(`${NOTE} WHERE NOT ${IS_CLOSED} ON CONFLICT DO NOTHING`).bind(given, object),
      db.prepare(NOTED).bind(given, object),
    ]);
    return (noted?.results ?? []).map(({ client }) => client);
  },
  /** Notes for a client all objects that are noted for another name: the name that it had. */
  async inherit(client: string, from: string): Promise<void> {
    const sql = `INSERT INTO client_object (client, number) SELECT ?1, number FROM client_object WHERE client = ?2
      ON CONFLICT DO NOTHING`;
    await db.prepare(sql).bind(client, from).run();
  },
});
