import type { FileOwner } from "./operated-store.ts";

/**
 * Finds files of all clients by the beginning of their name, which is the member `name` of their metadata.
 *
 * The metadata index has each name below its owner, so a search visits each owner of each shard, once for each spelling
 * of the text. Uploads write no extra row for it. Whole names come before names that only begin with the text. The
 * index has names as they were sent, so a search also tries the text in lower case, in upper case and with a capital
 * first.
 */
export interface FoundFile extends FileOwner {
  readonly id: string;
  readonly name: string;
}

export interface FoundFiles {
  readonly files: readonly FoundFile[];
  /** True if there may be others: more names begin with the text, or a shard has more owners than a search visits. */
  readonly more: boolean;
}

export type FindStore = ReturnType<typeof createFindStore>;

/** Our choice. For a shard with more owners, the search must name a tenant. */
export const FIND_LIMITS = { owners: 10_000, files: 20 } as const;

/** A file may have several rows: for a whole name, for the beginning of a name, and for each further name. */
const ROWS = 4 * FIND_LIMITS.files;

const OWNERS = `FROM owner WHERE erasure_id IS NULL AND`;
const everywhere = `${OWNERS} tenant > ''`;
const ofTenants = `${OWNERS} tenant IN (SELECT value FROM json_each(?2))`;

/** ?1: ranges of names, the most exact first. */
const filesOf = (owners: string): string => `
  SELECT file.id, page.tenant, page.client, page.visibility, has.value AS name
  FROM json_each(?1) AS wanted
  CROSS JOIN (SELECT id, tenant, client, visibility ${owners} LIMIT ${FIND_LIMITS.owners}) AS page
  CROSS JOIN attribute AS has ON has.owner_id = page.id AND has.key = '.name'
    AND has.value BETWEEN wanted.value ->> 0 AND wanted.value ->> 1
  CROSS JOIN file ON file.id = has.file_id AND file.owner_id = has.owner_id AND file.state = 'committed'
  LIMIT ${ROWS}`;
const ownersOf = (owners: string): string =>
  `SELECT count(*) AS n FROM (SELECT 1 ${owners} LIMIT ${FIND_LIMITS.owners + 1})`;

const FIND_SQL = {
  files: { everywhere: filesOf(everywhere), ofTenants: filesOf(ofTenants) },
  owners: { everywhere: ownersOf(everywhere), ofTenants: ownersOf(ofTenants) },
} as const;

/** Searches one database. `tenants` undefined: the files of all tenants. */
export const createFindStore = (db: D1Database) => ({
  async byName(text: string, tenants: readonly string[] | undefined): Promise<FoundFiles> {
    const where = tenants === undefined ? "everywhere" : "ofTenants";
    const values = tenants === undefined ? [] : [JSON.stringify(tenants)];
    const [files, owners] = await db.batch([
      db.prepare(FIND_SQL.files[where]).bind(JSON.stringify(rangesOf(text)), ...values),
      db.prepare(FIND_SQL.owners[where]).bind(...(tenants === undefined ? [] : [null, ...values])),
    ]);
    const found = uniqueById(files!.results as unknown as FoundFile[]);
    const [{ n }] = owners!.results as unknown as [{ n: number }];
    return { files: found, more: files!.results.length === ROWS || n > FIND_LIMITS.owners };
  },
});

/** Returns the first and last name of each range: each spelling itself, then the names that begin with it. Pure. */
function rangesOf(text: string): readonly (readonly [from: string, to: string])[] {
  const small = text.toLowerCase();
  const [first = "", ...rest] = small;
  const spelled = [...new Set([text, small, text.toUpperCase(), first.toUpperCase() + rest.join("")])];
  return [...spelled.map((one) => [one, one] as const), ...spelled.map((one) => [one, `${one}\u{10FFFF}`] as const)];
}

/** Keeps the first row of each file. A file may have several names, and two shards have it while it moves. */
export const uniqueById = (files: readonly FoundFile[]): readonly FoundFile[] =>
  [...new Map(files.toReversed().map((file) => [file.id, file])).values()].toReversed();
