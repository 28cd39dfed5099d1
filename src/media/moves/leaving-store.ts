import { pendingRow } from "../shards/moved-store.ts";

/** The shard that a tenant leaves (mover.ts). */
export type LeavingStore = ReturnType<typeof createLeavingStore>;

/** One run of a move. Each run has a higher turn than the one before; a run with a lower turn changes nothing. */
export interface Run {
  readonly tenant: string;
  readonly move: string;
  readonly turn: number;
}

/** A committed file of the tenant with its renditions, as their rows are. */
export interface MovingFile {
  readonly id: string;
  readonly ownerId: number;
  /** The columns of the row, and `variants`, as JSON. */
  readonly row: string;
  /** How often the file has changed its shard before its commit; null: never. */
  readonly hop: number | null;
  /** The tenant objects through which it came, as JSON; null: none. */
  readonly objects: string | null;
}

/** An owner of the closed tenant, with its counts. */
export interface LeavingOwner {
  readonly id: number;
  readonly client: string;
  readonly visibility: string;
  readonly files: number;
  readonly bytes: number;
}

/** How many files are read at once, and how many characters their rows may have. */
interface Most {
  readonly files: number;
  readonly rowChars: number;
}

export interface Change {
  readonly fileId: string;
  readonly version: number;
}

/** Marks an owner whose files have moved to another shard; here they are hidden. */
export const movedMark = (move: string): string => `moved ${move}`;

/** Columns of a committed file. */
export const FILE_COLUMNS = [
  "content_type",
  "created_at",
  "due_at",
  "committed_at",
  "size_bytes",
  "etag",
  "file_name",
  "commit_digest",
  "blob_key",
  "pinned_etag",
  "reserved_for",
  "reserved_bytes",
  "unindexed_pairs",
  "metadata",
  "attributes",
  "shared_in",
  "owner_user",
  "known_places",
] as const;
export const VARIANT_COLUMNS = [
  "nonce",
  "type",
  "size",
  "state",
  "created_at",
  "due_at",
  "lane",
  "waits",
  "content_type",
  "width",
  "height",
  "size_bytes",
  "etag",
  "reason",
] as const;

const pairs = (table: string, columns: readonly string[]): string =>
  columns.map((column) => `'${column}', ${table}.${column}`).join(", ");
const MOVING_FILE = `SELECT file.id, file.owner_id AS ownerId,
  json_object(${pairs("file", FILE_COLUMNS)}, 'client', owner.client, 'visibility', owner.visibility,
    'variants', json((SELECT json_group_array(json_object(${pairs("variant", VARIANT_COLUMNS)}))
      FROM variant WHERE variant.file_id = file.id))) AS row,
  (SELECT hop FROM moved_file WHERE moved_file.id = file.id) AS hop,
  (SELECT objects FROM moved_file WHERE moved_file.id = file.id) AS objects`;
const LIVE = `owner.erasure_id IS NULL AND file.state = 'committed'`;
/**
 * SQL: the first of these files: at least one, and as many as have `most` characters together. An object answers with
 * 16 MiB at most, which a hundred files with long metadata exceed. `found`: the number of these files.
 */
const firstOf = (files: string, order: string, most: string): string => `
  SELECT id, ownerId, row, hop, objects, found
  FROM (SELECT *, count(*) OVER () AS found, sum(length(row)) OVER (ORDER BY ${order}) AS total FROM (${files}))
  WHERE total <= ${most} OR total = length(row) ORDER BY ${order}`;
/** ?1 to ?3: the run. */
const isState = (states: string): string =>
  `EXISTS (SELECT 1 FROM moving_tenant WHERE tenant = ?1 AND move = ?2 AND turn = ?3 AND state IN (${states}))`;
const OF_PENDING = `owner.tenant = '' AND owner.erasure_id IS NULL`;

const SQL = {
  begin: `INSERT INTO moving_tenant (tenant, move, turn, state)
    SELECT ?1, ?2, ?3, 'leaving' WHERE NOT EXISTS (SELECT 1 FROM ended_move WHERE tenant = ?1 AND move >= ?2)
    ON CONFLICT DO UPDATE SET turn = excluded.turn WHERE move = excluded.move AND turn < excluded.turn`,
  state: `SELECT state FROM moving_tenant WHERE tenant = ?1 AND move = ?2 AND turn = ?3`,
  /** ?2, ?3: the last file that was copied. */
  page: firstOf(
    `${MOVING_FILE} FROM owner CROSS JOIN file ON file.owner_id = owner.id AND ${LIVE}
      AND (file.owner_id > ?2 OR file.id > ?3)
      WHERE owner.tenant = ?1 AND owner.id >= ?2 AND owner.erasure_id IS NULL ORDER BY owner.id, file.id LIMIT ?4`,
    "ownerId, id",
    "?5",
  ),
  changes: `SELECT file_id AS fileId, version FROM moving_change WHERE tenant = ?1 ORDER BY file_id LIMIT ?2`,
  named: firstOf(
    `${MOVING_FILE} FROM json_each(?2) AS named CROSS JOIN file ON file.id = named.value
      CROSS JOIN owner ON owner.id = file.owner_id AND owner.tenant = ?1 AND ${LIVE}`,
    "id",
    "?3",
  ),
  followed: `DELETE FROM moving_change WHERE tenant = ?1 AND (file_id, version) IN
    (SELECT value ->> 'fileId', value ->> 'version' FROM json_each(?4)) AND ${isState("'leaving', 'closed'")}`,
  /** The removal of a tenant (shards/owner-changes.ts) and this exclude each other. */
  close: `UPDATE moving_tenant SET state = 'closed' WHERE tenant = ?1 AND move = ?2 AND turn = ?3 AND state = 'leaving'
    AND NOT EXISTS (SELECT 1 FROM closing WHERE kind = 'tenant' AND name = ?1)`,
  leave: (from: number) => `INSERT INTO moved_file (id, shard, hop, moved_at, row)
    SELECT file.id, ?4, 1 + coalesce((SELECT hop FROM moved_file AS before WHERE before.id = file.id), 0), ?5,
      ${pendingRow(from)}
    FROM file CROSS JOIN owner ON owner.id = file.owner_id AND ${OF_PENDING}
    WHERE file.reserved_for = ?1 AND file.state = 'pending' AND ${isState("'closed'")}
    ON CONFLICT (id) DO UPDATE SET shard = excluded.shard, hop = excluded.hop, moved_at = excluded.moved_at,
      row = excluded.row`,
  leftVariants: `DELETE FROM variant WHERE file_id IN (SELECT file.id FROM file JOIN owner ON owner.id = file.owner_id
      AND ${OF_PENDING} WHERE file.reserved_for = ?1 AND file.state = 'pending') AND ${isState("'closed'")}`,
  left: `DELETE FROM file WHERE reserved_for = ?1 AND state = 'pending' AND owner_id IN (
      SELECT owner.id FROM owner WHERE ${OF_PENDING}) AND ${isState("'closed'")}`,
  owners: `SELECT id, client, visibility, files, bytes FROM owner WHERE tenant = ?1 AND erasure_id IS NULL`,
  past: `SELECT shard FROM past_place WHERE tenant = ?1`,
  hide: `UPDATE owner SET erasure_id = ?4 WHERE tenant = ?1 AND erasure_id IS NULL AND ${isState("'closed'")}`,
  depart: `INSERT INTO departed_tenant (tenant, shard) SELECT ?1, ?4 WHERE ${isState("'closed'")}
    ON CONFLICT DO UPDATE SET shard = excluded.shard`,
  // Nobody looks for committed files of a tenant without any, and notes lead to pending ones.
  departTo: `INSERT INTO departed_to (shard) SELECT ?4 WHERE ${isState("'closed'")} AND EXISTS (
      SELECT 1 FROM owner WHERE tenant = ?1 AND erasure_id = ?5 AND files > 0)
    ON CONFLICT DO UPDATE SET departures = departures + 1`,
  hasFiles: `SELECT 1 FROM owner WHERE tenant = ?1 AND erasure_id IS NULL AND files > 0 LIMIT 1`,
  departedTo: `SELECT shard FROM departed_to`,
  forgetPast: `DELETE FROM past_place WHERE tenant = ?1 AND ${isState("'closed'")}`,
  forgetChanges: `DELETE FROM moving_change WHERE tenant = ?1 AND ${isState("'closed'")}`,
  note: `INSERT INTO ended_move (tenant, move) SELECT ?1, ?2 WHERE ${isState("'closed'")}
    ON CONFLICT DO UPDATE SET move = excluded.move`,
  end: `DELETE FROM moving_tenant WHERE tenant = ?1 AND move = ?2 AND turn = ?3 AND state = 'closed'`,
  endedAfter: `SELECT tenant, move FROM ended_move WHERE move > ?1 ORDER BY move DESC LIMIT ?2`,
  isGone: `SELECT 1 FROM ended_move WHERE tenant = ?1 AND move >= ?2`,
  // Committed files of hidden owners.
  toClean: `SELECT file.id FROM owner CROSS JOIN file ON file.owner_id = owner.id AND file.state = 'committed'
    WHERE owner.erasure_id = ?1 LIMIT ?2`,
  cleanAttributes: `DELETE FROM attribute WHERE (owner_id, key, value, file_id) IN (
    SELECT attribute.owner_id, attribute.key, attribute.value, attribute.file_id
    FROM owner CROSS JOIN attribute ON attribute.owner_id = owner.id WHERE owner.erasure_id = ?1 LIMIT ?2)`,
  cleanKeySets: `DELETE FROM key_set WHERE id IN (SELECT key_set.id
    FROM owner CROSS JOIN key_set ON key_set.owner_id = owner.id WHERE owner.erasure_id = ?1 LIMIT ?2)`,
  hiddenFiles: `SELECT file.id FROM json_each(?1) AS named CROSS JOIN file ON file.id = named.value
    AND file.state = 'committed' CROSS JOIN owner ON owner.id = file.owner_id AND owner.erasure_id = ?2`,
  cleanOwners: `DELETE FROM owner WHERE erasure_id = ?1
    AND NOT EXISTS (SELECT 1 FROM file WHERE file.owner_id = owner.id AND file.state = 'committed')
    AND NOT EXISTS (SELECT 1 FROM attribute WHERE attribute.owner_id = owner.id)
    AND NOT EXISTS (SELECT 1 FROM key_set WHERE key_set.owner_id = owner.id)`,
  isLeft: `SELECT 1 FROM owner WHERE erasure_id = ?1`,
} as const;

interface FoundFile extends MovingFile {
  readonly found: number;
}

function some({ results }: D1Result<FoundFile>): { readonly files: readonly MovingFile[]; readonly isAll: boolean } {
  const files = results.map(({ found: _found, ...file }) => file);
  return { files, isAll: files.length === (results[0]?.found ?? 0) };
}

export function createLeavingStore(db: D1Database, shard: number) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  const of = ({ tenant, move, turn }: Run) => [tenant, move, turn];
  const changesIn = (result: D1Result | undefined): boolean => (result?.results.length ?? 0) > 0;
  return {
    hasFiles: async (tenant: string): Promise<boolean> => (await prepared(SQL.hasFiles, tenant).first()) !== null,

    /** The shards and tenant objects to which tenants with files moved from here. */
    departedTo: async (): Promise<readonly number[]> =>
      (await prepared(SQL.departedTo).all<{ shard: number }>()).results.map((to) => to.shard),

    /** The last of the moves that ended here, to this shard or from it, with greater ids than this. */
    endedAfter: async (move: string, limit: number): Promise<readonly Pick<Run, "tenant" | "move">[]> =>
      (await prepared(SQL.endedAfter, move, limit).all<Pick<Run, "tenant" | "move">>()).results,

    /** Notes changes from now on. Returns the state of the run. Undefined: it is overtaken, or the move ended. */
    async begin(run: Run): Promise<"leaving" | "closed" | undefined> {
      const [, found] = await db.batch<{ state: "leaving" | "closed" }>([
        prepared(SQL.begin, ...of(run)),
        prepared(SQL.state, ...of(run)),
      ]);
      return found?.results[0]?.state;
    },

    /** Files after this one, in the order of owners and ids. `isAll`: they are all that follow, up to the limit. */
    async page(
      tenant: string,
      atOwner: number,
      atFile: string,
      most: Most,
    ): Promise<{ readonly files: readonly MovingFile[]; readonly isAll: boolean }> {
      return some(await prepared(SQL.page, tenant, atOwner, atFile, most.files, most.rowChars).all<FoundFile>());
    },

    /** Files that changed, and the rows of those that are still committed. */
    async changes(
      tenant: string,
      most: Most,
    ): Promise<{
      readonly changes: readonly Change[];
      readonly files: readonly MovingFile[];
    }> {
      const changes = (await prepared(SQL.changes, tenant, most.files).all<Change>()).results;
      if (changes.length === 0) return { changes, files: [] };
      const ids = JSON.stringify(changes.map(({ fileId }) => fileId));
      const { files, isAll } = some(await prepared(SQL.named, tenant, ids, most.rowChars).all<FoundFile>());
      const last = files.at(-1)?.id ?? "";
      return { changes: isAll ? changes : changes.filter(({ fileId }) => fileId <= last), files };
    },

    /** Removes notes of changes that were copied. A file that changed again has a new version, so its note stays. */
    followed: async (run: Run, changes: readonly Change[]): Promise<void> =>
      void (await prepared(SQL.followed, ...of(run), JSON.stringify(changes)).run()),

    /**
     * Forbids all changes of the tenant here. Pending files leave in the same transaction. False: the tenant is being
     * removed, or another run has overtaken this one.
     */
    async close(run: Run, to: number, nowMs: number): Promise<boolean> {
      const results = await db.batch<{ state: string }>([
        prepared(SQL.close, ...of(run)),
        prepared(SQL.leave(shard), ...of(run), to, nowMs),
        prepared(SQL.leftVariants, ...of(run)),
        prepared(SQL.left, ...of(run)),
        prepared(SQL.state, ...of(run)),
      ]);
      return results.at(-1)?.results[0]?.state === "closed";
    },

    /** The owners of a closed tenant, and the shards where the tenant was before. */
    async closed(
      tenant: string,
    ): Promise<{ readonly owners: readonly LeavingOwner[]; readonly past: readonly number[] }> {
      const [owners, past] = await db.batch([prepared(SQL.owners, tenant), prepared(SQL.past, tenant)]);
      const shards = (past?.results ?? []) as { shard: number }[];
      return { owners: (owners?.results ?? []) as LeavingOwner[], past: shards.map((place) => place.shard) };
    },

    /** Hides the tenant here. False: another run has overtaken this one. May be repeated. */
    async depart(run: Run, to: number): Promise<boolean> {
      const results = await db.batch([
        prepared(SQL.hide, ...of(run), movedMark(run.move)),
        prepared(SQL.depart, ...of(run), to),
        prepared(SQL.departTo, ...of(run), to, movedMark(run.move)),
        prepared(SQL.forgetPast, ...of(run)),
        prepared(SQL.forgetChanges, ...of(run)),
        prepared(SQL.note, ...of(run)),
        prepared(SQL.end, ...of(run)),
        prepared(SQL.isGone, run.tenant, run.move),
      ]);
      return changesIn(results.at(-1));
    },

    /** Deletes a page of the rows that a move hid. True: there are more. */
    async clean(mark: string, files: number, rows: number): Promise<boolean> {
      const found = (await prepared(SQL.toClean, mark, files).all<{ id: string }>()).results.map(({ id }) => id);
      const ids = JSON.stringify(found);
      const results = await db.batch([
        prepared(SQL.cleanAttributes, mark, rows),
        prepared(SQL.cleanKeySets, mark, rows),
        prepared(`DELETE FROM variant WHERE file_id IN (${SQL.hiddenFiles})`, ids, mark),
        prepared(`DELETE FROM file WHERE id IN (${SQL.hiddenFiles})`, ids, mark),
        prepared(SQL.cleanOwners, mark),
        prepared(SQL.isLeft, mark),
      ]);
      return changesIn(results.at(-1));
    },
  };
}
