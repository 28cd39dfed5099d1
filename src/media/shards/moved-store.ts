import { ENSURE_OWNER, OWNED, ownedBy } from "../files/file-store.ts";
import type { FileCaller, Visibility } from "../model/file.ts";

/** Files of a shard that are elsewhere, and files that came from elsewhere (relocation.ts). */
export type MovedStore = ReturnType<typeof createMovedStore>;

/** Where a file is. `row`: it has left, and perhaps not arrived. */
export interface Moved {
  readonly id: string;
  readonly shard: number;
  /** Counts the moves of this file. */
  readonly hop: number;
  /** A pending file with its variants, as JSON. */
  readonly row: string | null;
}

/** A shard to which tenants went, and how often one did. */
export interface Departure {
  readonly shard: number;
  readonly departures: number;
}

/** SQL: the owner comes with its tenant, by whatever move, and nobody finds its files yet (../moves/mover.ts). */
export const IS_COMING = `(owner.erasure_id >= 'coming ' AND owner.erasure_id < 'coming!')`;

/** A pending file with its declared variants, of `file` and `owner`. */
export const PENDING_ROW = `json_object('client', owner.client, 'visibility', owner.visibility, 'contentType', content_type,
  'createdAt', created_at, 'dueAt', due_at, 'pinnedEtag', pinned_etag, 'reservedFor', reserved_for,
  'person', owner_user, 'knownPlaces', known_places, 'variants', json((SELECT json_group_array(json_object(
    'nonce', nonce, 'type', type, 'size', size, 'createdAt', created_at)) FROM variant
    WHERE variant.file_id = file.id AND variant.state = 'declared')))`;
const FOUND = `SELECT id, shard, hop, row FROM moved_file`;
/** Only this batch can have left a row beside the file. */
const LEAVES = `EXISTS (SELECT 1 FROM moved_file WHERE id = ?1 AND row IS NOT NULL)`;
/** The file is in this shard by this move, and made no other since. */
const IS_HERE = `EXISTS (SELECT 1 FROM moved_file WHERE id = ?1 AND shard = ?2 AND hop = ?3)`;

const SQL = {
  /** ?6: the shard, ?7: now, ?8: the person, where the client keeps people apart. */
  leave: `INSERT INTO moved_file (id, shard, hop, moved_at, row)
    SELECT file.id, ?6, 1 + coalesce((SELECT hop FROM moved_file AS before WHERE before.id = ?1), 0), ?7,
      (SELECT ${PENDING_ROW} FROM owner WHERE owner.id = file.owner_id)
    FROM file WHERE ${OWNED} AND state = 'pending' AND (?8 IS NULL OR owner_user = ?8)
    ON CONFLICT (id) DO UPDATE SET shard = excluded.shard, hop = excluded.hop, moved_at = excluded.moved_at,
      row = excluded.row`,
  deleteVariants: `DELETE FROM variant WHERE file_id = ?1 AND ${LEAVES}
    AND EXISTS (SELECT 1 FROM file WHERE file.id = ?1 AND file.state = 'pending')`,
  deleteFile: `DELETE FROM file WHERE id = ?1 AND state = 'pending' AND ${LEAVES}`,
  find: `${FOUND} WHERE id = ?1`,
  // A file that came back with its tenant is here, whatever was noted before.
  findLeft: `${FOUND} WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM file JOIN owner ON owner.id = file.owner_id
    AND owner.erasure_id IS NULL WHERE file.id = ?1)`,
  note: `INSERT INTO moved_file (id, shard, hop, moved_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT (id) DO UPDATE SET shard = excluded.shard, hop = excluded.hop, moved_at = excluded.moved_at, row = NULL
      WHERE hop < excluded.hop`,
  arrive: `INSERT INTO file (id, owner_id, state, content_type, created_at, due_at, pinned_etag, reserved_for, owner_user,
      known_places)
    SELECT ?1, owner.id, 'pending', ?4 ->> 'contentType', ?4 ->> 'createdAt', ?4 ->> 'dueAt', ?4 ->> 'pinnedEtag',
      ?4 ->> 'reservedFor', ?4 ->> 'person', ?4 ->> 'knownPlaces'
    FROM owner WHERE owner.client = ?4 ->> 'client' AND owner.tenant = '' AND owner.visibility = ?4 ->> 'visibility'
      AND owner.erasure_id IS NULL AND ${IS_HERE}
    ON CONFLICT DO NOTHING`,
  arriveVariants: `INSERT INTO variant (file_id, nonce, type, size, state, created_at)
    SELECT ?1, value ->> 'nonce', value ->> 'type', value ->> 'size', 'declared', value ->> 'createdAt'
    FROM json_each(?4, '$.variants')
    WHERE ${IS_HERE} AND EXISTS (SELECT 1 FROM file WHERE file.id = ?1 AND file.state = 'pending')
    ON CONFLICT DO NOTHING`,
  arrived: `UPDATE moved_file SET row = NULL WHERE id = ?1 AND hop = ?2`,
  edges: `SELECT shard, departures FROM departed_to`,
  hasLeft: `SELECT 1 FROM departed_tenant WHERE tenant = ?1`,
  stay: `SELECT move FROM ended_move WHERE tenant = ?1
    AND NOT EXISTS (SELECT 1 FROM departed_tenant WHERE departed_tenant.tenant = ended_move.tenant)
    UNION ALL SELECT NULL FROM departed_tenant WHERE tenant = ?1`,
  hasLeftFiles: `SELECT 1 FROM json_each(?1) AS named CROSS JOIN file ON file.id = named.value
    CROSS JOIN owner ON owner.id = file.owner_id AND owner.erasure_id LIKE 'moved %' LIMIT 1`,
  hasLeftOwner: `SELECT 1 FROM owner WHERE id = ?1 AND erasure_id LIKE 'moved %'`,
  past: `SELECT shard FROM past_place WHERE tenant = ?1`,
  underWay: `${FOUND} WHERE row IS NOT NULL AND moved_at >= 0 ORDER BY moved_at LIMIT ?1`,
  forget: `DELETE FROM moved_file WHERE id IN (SELECT value FROM json_each(?1))`,
} as const;

export function createMovedStore(db: D1Database, shard: number) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  const elsewhere = (found: Moved | null | undefined): Moved | undefined =>
    found === null || found === undefined || found.shard === shard ? undefined : found;
  return {
    /**
     * Takes a pending file of the caller out of this shard, in one transaction with the note where it goes. The place
     * of a file that is elsewhere already, or undefined: the caller has no such pending file here.
     */
    async leave(
      fileId: string,
      caller: FileCaller,
      person: string | undefined,
      to: number,
      nowMs: number,
    ): Promise<Moved | undefined> {
      const results = await db.batch<Moved>([
        prepared(SQL.leave, ...ownedBy(fileId, caller), to, nowMs, person ?? null),
        prepared(SQL.deleteVariants, fileId),
        prepared(SQL.deleteFile, fileId),
        prepared(SQL.findLeft, fileId),
      ]);
      return elsewhere(results.at(-1)?.results[0]);
    },

    /** Takes in a file that left another shard. A repeat changes nothing. */
    async arrive({ id, hop, row }: Moved, nowMs: number): Promise<void> {
      const { client, visibility } = JSON.parse(row ?? "{}") as {
        readonly client: string;
        readonly visibility: Visibility;
      };
      await db.batch([
        prepared(ENSURE_OWNER, client, "", visibility),
        prepared(SQL.note, id, shard, hop, nowMs),
        prepared(SQL.arrive, id, shard, hop, row),
        prepared(SQL.arriveVariants, id, shard, hop, row),
      ]);
    },

    /** Forgets the row of a file that has arrived. */
    arrived: async ({ id, hop }: Moved): Promise<void> => void (await prepared(SQL.arrived, id, hop).run()),

    /** The place of a file that is not here, if it left by itself, and the shards to which tenants went with theirs. */
    async whereabouts(
      fileId: string,
    ): Promise<{ readonly place: Moved | undefined; readonly others: readonly Departure[] }> {
      const [found, others] = await db.batch([prepared(SQL.find, fileId), prepared(SQL.edges)]);
      return {
        place: elsewhere(found?.results[0] as Moved | undefined),
        others: ((others?.results ?? []) as Departure[]).filter((to) => to.shard !== shard),
      };
    },

    /** The shards to which tenants went. */
    departures: async (): Promise<readonly number[]> =>
      (await prepared(SQL.edges).all<{ shard: number }>()).results.map((to) => to.shard).filter((to) => to !== shard),

    /** The files of the tenant were here, and are in another shard now. */
    hasLeft: async (tenant: string): Promise<boolean> => (await prepared(SQL.hasLeft, tenant).first()) !== null,

    /** The move by which the files of a tenant came; null: they are elsewhere; undefined: they always were here. */
    async stay(tenant: string): Promise<string | null | undefined> {
      const found = await prepared(SQL.stay, tenant).first<{ move: string | null }>();
      return found === null ? undefined : found.move;
    },

    /** The owner of files left with its tenant, not long ago. */
    hasLeftOwner: async (id: number): Promise<boolean> => (await prepared(SQL.hasLeftOwner, id).first()) !== null,

    /** One of these files left with its tenant, not long ago. */
    hasLeftFiles: async (fileIds: readonly string[]): Promise<boolean> =>
      (await prepared(SQL.hasLeftFiles, JSON.stringify(fileIds)).first()) !== null,

    /** Where a tenant was before, whose reports stay there, and its stay here. */
    async past(
      tenant: string,
    ): Promise<{ readonly shards: readonly number[]; readonly stay: string | null | undefined }> {
      const [shards, stay] = await db.batch([prepared(SQL.past, tenant), prepared(SQL.stay, tenant)]);
      const [found] = (stay?.results ?? []) as { move: string | null }[];
      return {
        shards: ((shards?.results ?? []) as { shard: number }[]).map((place) => place.shard),
        stay: found?.move,
      };
    },

    /** Files that left, and of which nobody noted the arrival. */
    underWay: async (limit: number): Promise<readonly Moved[]> =>
      (await prepared(SQL.underWay, limit).all<Moved>()).results,

    /** Before the last row of these files is deleted, in another shard: so none of them can arrive once more. */
    forget: async (fileIds: readonly string[]): Promise<void> =>
      void (await prepared(SQL.forget, JSON.stringify(fileIds)).run()),
  };
}
