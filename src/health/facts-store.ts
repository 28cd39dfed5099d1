/**
 * Sizes of the database. Rows are counted by the first and last number of a table, so removed ones count too.
 * Revocations have times as numbers, so the living ones are counted one by one.
 */
export interface Sizes {
  readonly databaseBytes: number;
  readonly auditRows: number;
  readonly revocationRows: number;
  readonly outboxRows: number;
}

const READ = `SELECT 1 AS one`;
const SIZES = `
  SELECT coalesce((SELECT max(seq) FROM audit_entry) - (SELECT min(seq) FROM audit_entry) + 1, 0) AS auditRows,
    (SELECT count(*) FROM revocation WHERE expires_sec > unixepoch()) AS revocationRows,
    coalesce((SELECT max(seq) FROM outbox) - (SELECT min(seq) FROM outbox) + 1, 0) AS outboxRows`;
/** The table of `wrangler d1 migrations`. */
const MIGRATIONS = `SELECT name FROM d1_migrations WHERE id > 0 ORDER BY id DESC LIMIT 100`;

/** The platform is as old as the first migration of its database. */
const BORN = `SELECT unixepoch(applied_at) * 1000 AS bornMs FROM d1_migrations WHERE id > 0 ORDER BY id LIMIT 1`;

/** Facts about the database as a whole. */
export function createFactsStore(db: D1Database) {
  return {
    read: async (): Promise<void> => void (await db.prepare(READ).run()),
    async sizes(): Promise<Sizes> {
      const { results, meta } = await db.prepare(SIZES).all<Omit<Sizes, "databaseBytes">>();
      return { databaseBytes: meta.size_after, ...results[0]! };
    },
    /** The time at which the database was made; null if it is not known. */
    bornMs: (): Promise<number | null> => db.prepare(BORN).first<number>("bornMs"),
    /** Applied migrations, the newest first. */
    migrations: async (): Promise<readonly string[]> =>
      (await db.prepare(MIGRATIONS).all<{ name: string }>()).results.map(({ name }) => name),
  };
}

export type FactsStore = ReturnType<typeof createFactsStore>;
