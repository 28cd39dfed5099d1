import { FIRST_TENANT_OBJECT, isTenantObject } from "../../platform/storage/tenant-objects.ts";
import { OWNED, ownedBy } from "../files/file-store.ts";
import type { FileCaller } from "../model/file.ts";

/** Notes about files that left a shard, and about files that came from another one (relocation.ts). */
export type MovedStore = ReturnType<typeof createMovedStore>;

/** The note about a file that left. With `row`, its arrival is not noted yet. */
export interface Moved {
  readonly id: string;
  readonly shard: number;
  /** Counts the moves of this file. */
  readonly hop: number;
  /** A pending file with its variants, as JSON. */
  readonly row: string | null;
}

/** A shard to which tenants moved from here, and the number of these moves. */
export interface Departure {
  readonly shard: number;
  readonly departures: number;
}

/**
 * SQL: the owner is being copied here with its tenant, by any move, and its files are still hidden (moves/mover.ts).
 */
export const IS_COMING = `(owner.erasure_id >= 'coming ' AND owner.erasure_id < 'coming!')`;

/** SQL: the tenant objects that have a note about the file once it leaves this shard, as JSON. */
const objectsFrom = (from: number): string => {
  const before = `(SELECT came.objects FROM moved_file AS came WHERE came.id = file.id)`;
  return isTenantObject(from) ? `json_insert(coalesce(${before}, '[]'), '$[#]', ${from})` : `json(${before})`;
};

/** SQL: a pending file that leaves a shard, with its declared variants, as JSON, from the rows `file` and `owner`. */
export const pendingRow = (shard: number): string => `json_object('objects', ${objectsFrom(shard)},
  'client', owner.client, 'visibility', owner.visibility, 'contentType', content_type,
  'createdAt', created_at, 'dueAt', due_at, 'pinnedEtag', pinned_etag, 'reservedFor', reserved_for,
  'reservedBytes', reserved_bytes, 'person', owner_user, 'knownPlaces', known_places, 'variants', json((SELECT json_group_array(json_object(
    'nonce', nonce, 'type', type, 'size', size, 'createdAt', created_at)) FROM variant
    WHERE variant.file_id = file.id AND variant.state = 'declared')))`;
const FOUND = `SELECT id, shard, hop, row FROM moved_file`;
/** SQL: the batch has noted the file as leaving. No other batch leaves such a note while the file is here. */
const LEAVES = `EXISTS (SELECT 1 FROM moved_file WHERE id = ?1 AND row IS NOT NULL)`;
/** SQL: files that arrive. ?1: their notes, as JSON with the row as an object. */
const GIVEN = `json_each(?1) AS given`;
const field = (path: string): string => `(given.value ->> '$.${path}')`;
const ROW_FIELDS = "contentType createdAt dueAt pinnedEtag reservedFor reservedBytes person knownPlaces"
  .split(" ")
  .map((name) => field(`row.${name}`))
  .join();
/** SQL: the last move of the file that is noted here is the one that brings it. ?2: this shard. */
const IS_HERE = `EXISTS (SELECT 1 FROM moved_file WHERE moved_file.id = ${field("id")} AND shard = ?2 AND hop = ${field("hop")})`;
/** SQL: the owner that a file has here. */
const ITS_OWNER = `owner.client = ${field("row.client")} AND owner.tenant = ''
  AND owner.visibility = ${field("row.visibility")} AND owner.erasure_id IS NULL`;

/** SQL: an operator is just changing the client of the file that left (owner-changes.ts), whose note this is. */
const IS_CHANGING = `row ->> 'client' IN (SELECT name FROM closing WHERE kind = 'client')`;

const SQL = {
  /** ?6: the shard, ?7: now, ?8: the person, where the client keeps people apart. */
  leave: (from: number) => `INSERT INTO moved_file (id, shard, hop, moved_at, row)
    SELECT file.id, ?6, 1 + coalesce((SELECT hop FROM moved_file AS before WHERE before.id = ?1), 0), ?7,
      (SELECT ${pendingRow(from)} FROM owner WHERE owner.id = file.owner_id)
    FROM file WHERE ${OWNED} AND state = 'pending' AND (?8 IS NULL OR owner_user = ?8)
    ON CONFLICT (id) DO UPDATE SET shard = excluded.shard, hop = excluded.hop, moved_at = excluded.moved_at,
      row = excluded.row`,
  deleteVariants: `DELETE FROM variant WHERE file_id = ?1 AND ${LEAVES}
    AND EXISTS (SELECT 1 FROM file WHERE file.id = ?1 AND file.state = 'pending')`,
  deleteFile: `DELETE FROM file WHERE id = ?1 AND state = 'pending' AND ${LEAVES}`,
  find: `${FOUND} WHERE id = ?1`,
  // A file that came back with its tenant is here, in spite of older notes.
  findLeft: `${FOUND} WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM file JOIN owner ON owner.id = file.owner_id
    AND owner.erasure_id IS NULL WHERE file.id = ?1)`,
  owners: `INSERT INTO owner (client, tenant, visibility)
    SELECT DISTINCT ${field("row.client")}, '', ${field("row.visibility")} FROM ${GIVEN}
    WHERE NOT EXISTS (SELECT 1 FROM owner WHERE ${ITS_OWNER})`,
  // The file arrived with the name that its client had before a rename.
  follow: `UPDATE file SET owner_id = owner.id
    FROM ${GIVEN} CROSS JOIN moved_file ON moved_file.id = ${field("id")} AND hop < ${field("hop")}
      CROSS JOIN owner ON ${ITS_OWNER}
    WHERE file.id = moved_file.id AND file.state = 'pending'`,
  note: `INSERT INTO moved_file (id, shard, hop, moved_at, objects)
    SELECT ${field("id")}, ?2, ${field("hop")}, ?3, ${field("row.objects")} FROM ${GIVEN} WHERE true
    ON CONFLICT (id) DO UPDATE SET shard = excluded.shard, hop = excluded.hop, moved_at = excluded.moved_at, row = NULL,
      objects = excluded.objects
      WHERE hop < excluded.hop`,
  arrive: `INSERT INTO file (id, owner_id, state, content_type, created_at, due_at, pinned_etag, reserved_for, reserved_bytes,
      owner_user, known_places)
    SELECT ${field("id")}, owner.id, 'pending', ${ROW_FIELDS} FROM ${GIVEN} CROSS JOIN owner ON ${ITS_OWNER} WHERE ${IS_HERE}
    ON CONFLICT DO NOTHING`,
  arriveVariants: `INSERT INTO variant (file_id, nonce, type, size, state, created_at)
    SELECT ${field("id")}, made.value ->> 'nonce', made.value ->> 'type', made.value ->> 'size', 'declared',
      made.value ->> 'createdAt'
    FROM ${GIVEN} CROSS JOIN json_each(given.value, '$.row.variants') AS made
    WHERE ${IS_HERE} AND EXISTS (SELECT 1 FROM file WHERE file.id = ${field("id")} AND file.state = 'pending')
    ON CONFLICT DO NOTHING`,
  arrived: `UPDATE moved_file SET row = NULL
    WHERE (id, hop) IN (SELECT value ->> 'id', value ->> 'hop' FROM json_each(?1)) AND NOT ${IS_CHANGING}`,
  changing: `SELECT client FROM closing WHERE kind = 'client' AND name IN (
    SELECT owner.client FROM file JOIN owner ON owner.id = file.owner_id WHERE file.id = ?1
    UNION ALL SELECT row ->> 'client' FROM moved_file WHERE id = ?1)`,
  edges: `SELECT shard, departures FROM departed_to`,
  hasCommitted: `SELECT 1 FROM file JOIN owner ON owner.id = file.owner_id AND owner.erasure_id IS NULL
    WHERE file.id = ?1 AND file.state = 'committed'`,
  hasLeft: `SELECT 1 FROM departed_tenant WHERE tenant = ?1`,
  stay: `SELECT move FROM ended_move WHERE tenant = ?1
    AND ?1 NOT IN (SELECT tenant FROM departed_tenant)
    UNION ALL SELECT NULL FROM departed_tenant WHERE tenant = ?1`,
  hasLeftFiles: `SELECT 1 FROM json_each(?1) AS named CROSS JOIN file ON file.id = named.value
    CROSS JOIN owner ON owner.id = file.owner_id AND owner.erasure_id LIKE 'moved %' LIMIT 1`,
  hasLeftOwner: `SELECT 1 FROM owner WHERE id = ?1 AND erasure_id LIKE 'moved %'`,
  past: `SELECT shard FROM past_place WHERE tenant = ?1`,
  underWay: `${FOUND} WHERE row IS NOT NULL AND moved_at >= 0 AND shard = coalesce(?2, shard)
    AND shard NOT IN (SELECT value FROM json_each(?3)) AND NOT ${IS_CHANGING}
    ORDER BY moved_at LIMIT ?1`,
  notedObjects: `SELECT id, shard FROM moved_file
    WHERE id IN (SELECT value FROM json_each(?1)) AND shard >= ${FIRST_TENANT_OBJECT}`,
  passedObjects: `SELECT DISTINCT passed.value AS shard FROM json_each(?1) AS named
    CROSS JOIN moved_file ON moved_file.id = named.value CROSS JOIN json_each(moved_file.objects) AS passed`,
  departedObjects: `SELECT shard FROM departed_to WHERE shard >= ${FIRST_TENANT_OBJECT}`,
  // A tenant that left and came back has left notes elsewhere.
  cameDirectly: `SELECT id FROM moved_file WHERE id IN (SELECT value FROM json_each(?1)) AND shard = ?2 AND hop = 1
    AND NOT EXISTS (SELECT 1 FROM departed_to)`,
  forget: `DELETE FROM moved_file WHERE id IN (SELECT value FROM json_each(?1))`,
} as const;

export function createMovedStore(db: D1Database, shard: number) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  const elsewhere = (found: Moved | null | undefined): Moved | undefined =>
    found?.shard === shard ? undefined : (found ?? undefined);
  return {
    /**
     * Takes a pending file of the caller out of this shard, in one transaction with the note about its new place.
     * Returns that note, or the one of a file that left before. Undefined: the caller has no such pending file here.
     */
    async leave(
      fileId: string,
      caller: FileCaller,
      person: string | undefined,
      to: number,
      nowMs: number,
    ): Promise<Moved | undefined> {
      const results = await db.batch<Moved>([
        prepared(SQL.leave(shard), ...ownedBy(fileId, caller), to, nowMs, person ?? null),
        prepared(SQL.deleteVariants, fileId),
        prepared(SQL.deleteFile, fileId),
        prepared(SQL.findLeft, fileId),
      ]);
      return elsewhere(results.at(-1)?.results[0]);
    },

    /** Takes in files that left another shard. May be repeated. */
    async arrive(files: readonly Moved[], nowMs: number): Promise<void> {
      const given = JSON.stringify(
        files.map(({ id, hop, row }) => ({ id, hop, row: JSON.parse(row ?? "{}") as object })),
      );
      await db.batch([
        prepared(SQL.owners, given),
        prepared(SQL.follow, given),
        prepared(SQL.note, given, shard, nowMs),
        prepared(SQL.arrive, given, shard),
        prepared(SQL.arriveVariants, given, shard),
      ]);
    },

    /**
     * Notes that files have arrived: their rows are not needed here any more. If their client is just being changed,
     * they follow it only here, and arrive once more after that.
     */
    async arrived(files: readonly Moved[]): Promise<void> {
      await prepared(SQL.arrived, JSON.stringify(files.map(({ id, hop }) => ({ id, hop })))).run();
    },

    /**
     * The place of a file that left or came by itself, which may be this shard, and the shards to which tenants moved
     * with their files. `changing`: the id of the file's client, if an operator is just renaming it (owner-changes.ts).
     */
    async whereabouts(fileId: string): Promise<{
      readonly place: Moved | undefined;
      readonly others: readonly Departure[];
      readonly changing: string | undefined;
    }> {
      const statements = [prepared(SQL.find, fileId), prepared(SQL.edges), prepared(SQL.changing, fileId)];
      const [found, others, changing] = await db.batch(statements);
      return {
        place: found?.results[0] as Moved | undefined,
        others: ((others?.results ?? []) as Departure[]).filter((to) => to.shard !== shard),
        changing: (changing?.results[0] as { client: string } | undefined)?.client,
      };
    },

    /** Tells whether the committed file is here, whoever owns it. */
    hasCommitted: async (fileId: string): Promise<boolean> =>
      (await prepared(SQL.hasCommitted, fileId).first()) !== null,

    /** Tells whether the files of the tenant were here and have moved to another shard. */
    hasLeft: async (tenant: string): Promise<boolean> => (await prepared(SQL.hasLeft, tenant).first()) !== null,

    /** The move that brought the files of a tenant here. Null: they have left; undefined: no move is noted. */
    stay: async (tenant: string): Promise<string | null | undefined> =>
      (await prepared(SQL.stay, tenant).first<{ move: string | null }>())?.move,

    /** Tells whether the owner has left with its tenant, as long as its rows are here. */
    hasLeftOwner: async (id: number): Promise<boolean> => (await prepared(SQL.hasLeftOwner, id).first()) !== null,

    /** Tells whether one of these files has left with its tenant, as long as its rows are here. */
    hasLeftFiles: async (fileIds: readonly string[]): Promise<boolean> =>
      (await prepared(SQL.hasLeftFiles, JSON.stringify(fileIds)).first()) !== null,

    /** The shards where a tenant was before, which still have its reports; and `stay` of the tenant. */
    async past(
      tenant: string,
    ): Promise<{ readonly shards: readonly number[]; readonly stay: string | null | undefined }> {
      const [shards, stay] = await db.batch([prepared(SQL.past, tenant), prepared(SQL.stay, tenant)]);
      return {
        shards: ((shards?.results ?? []) as { shard: number }[]).map((place) => place.shard),
        stay: (stay?.results[0] as { move: string | null } | undefined)?.move,
      };
    },

    /**
     * Files that left, and whose arrival is not confirmed. `to`: only to this shard. `without`: not to these shards.
     * It leaves out files of clients that are being changed.
     */
    underWay: async (
      limit: number,
      { to, without = [] }: { readonly to?: number; readonly without?: readonly number[] },
    ): Promise<readonly Moved[]> =>
      (await prepared(SQL.underWay, limit, to ?? null, JSON.stringify(without)).all<Moved>()).results,

    /** The tenant objects to which these files moved by themselves, and those to which tenants moved from here. */
    async objectsOf(fileIds: readonly string[]): Promise<{
      readonly notes: readonly { readonly id: string; readonly shard: number }[];
      readonly departures: readonly number[];
    }> {
      const [notes, departures] = await db.batch([
        prepared(SQL.notedObjects, JSON.stringify(fileIds)),
        prepared(SQL.departedObjects),
      ]);
      return {
        notes: (notes?.results ?? []) as { id: string; shard: number }[],
        departures: ((departures?.results ?? []) as { shard: number }[]).map((object) => object.shard),
      };
    },

    /** The tenant objects through which these files came here. */
    passed: async (fileIds: readonly string[]): Promise<readonly number[]> => {
      const { results } = await prepared(SQL.passedObjects, JSON.stringify(fileIds)).all<{ shard: number }>();
      return results.map((object) => object.shard).filter((object) => object !== shard);
    },

    /** Those of the files that came here from their first shard, so that no other one has a note about them. */
    cameDirectly: async (fileIds: readonly string[]): Promise<readonly string[]> => {
      const { results } = await prepared(SQL.cameDirectly, JSON.stringify(fileIds), shard).all<{ id: string }>();
      return results.map(({ id }) => id);
    },

    /**
     * Deletes the notes about files, so that none can arrive again. Runs before another shard deletes their last rows.
     */
    forget: async (fileIds: readonly string[]): Promise<void> =>
      void (await prepared(SQL.forget, JSON.stringify(fileIds)).run()),
  };
}
