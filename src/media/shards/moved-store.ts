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

const ROW = `json_object('client', owner.client, 'visibility', owner.visibility, 'contentType', content_type,
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
      (SELECT ${ROW} FROM owner WHERE owner.id = file.owner_id)
    FROM file WHERE ${OWNED} AND state = 'pending' AND (?8 IS NULL OR owner_user = ?8)
    ON CONFLICT (id) DO UPDATE SET shard = excluded.shard, hop = excluded.hop, moved_at = excluded.moved_at,
      row = excluded.row`,
  deleteVariants: `DELETE FROM variant WHERE file_id = ?1 AND ${LEAVES}
    AND EXISTS (SELECT 1 FROM file WHERE file.id = ?1 AND file.state = 'pending')`,
  deleteFile: `DELETE FROM file WHERE id = ?1 AND state = 'pending' AND ${LEAVES}`,
  find: `${FOUND} WHERE id = ?1`,
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
        prepared(SQL.find, fileId),
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

    /** The place of a file that is elsewhere; undefined: it is here or nowhere. */
    find: async (fileId: string): Promise<Moved | undefined> =>
      elsewhere(await prepared(SQL.find, fileId).first<Moved>()),

    /** Files that left, and of which nobody noted the arrival. */
    underWay: async (limit: number): Promise<readonly Moved[]> =>
      (await prepared(SQL.underWay, limit).all<Moved>()).results,

    /** Before the last row of these files is deleted, in another shard: so none of them can arrive once more. */
    forget: async (fileIds: readonly string[]): Promise<void> =>
      void (await prepared(SQL.forget, JSON.stringify(fileIds)).run()),
  };
}
