import { MASTER_KEY, OWNED, ownedBy } from "../files/file-store.ts";
import type { FileCaller } from "../model/file.ts";
import type { PendingFile } from "../model/uploads.ts";

/** Uploads by presigned links: the upload that a commit pinned, and the copy that the file keeps. */
export type PinnedUploadStore = ReturnType<typeof createPinnedUploadStore>;

/** A committed file whose link has ended. */
interface EndedLink {
  readonly id: string;
  /** The master's key. */
  readonly key: string;
  /** 1: its commits pinned several uploads, so there may be copies of the others. */
  readonly hasSeveral: 0 | 1;
}

const SQL = {
  // After a second pin `known_places` is 0.
  pin: `UPDATE file SET pinned_etag = ?6, known_places = known_places * (?7 IS NULL)
    WHERE ${OWNED} AND state = 'pending' AND pinned_etag IS ?7 RETURNING id`,
  masterKey: `SELECT state, ${MASTER_KEY} AS key FROM file WHERE id = ?1`,
  endedLinks: `SELECT id, ${MASTER_KEY} AS key, known_places IS 0 AS hasSeveral FROM file
    WHERE due_at <= ?1 AND state = 'committed' ORDER BY due_at LIMIT ?2`,
  markLinksEnded: `UPDATE file SET due_at = NULL WHERE id IN (SELECT value FROM json_each(?1)) AND state = 'committed'`,
} as const;

export function createPinnedUploadStore(db: D1Database) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  return {
    /** Pins the upload with this ETag. False: the file is not pending, or another commit has changed the pin. */
    async pin(file: PendingFile, caller: FileCaller, etag: string): Promise<boolean> {
      return (await prepared(SQL.pin, ...ownedBy(file.id, caller), etag, file.pinnedEtag).first()) !== null;
    },

    /** Returns the master's final key; `key` is undefined if the file is removed. `open`: it may get one yet. */
    async masterKey(fileId: string): Promise<"open" | { readonly key: string | undefined }> {
      const row = await prepared(SQL.masterKey, fileId).first<{ state: string; key: string }>();
      // A file without a row here may have moved to another shard, with its upload and its pin.
      if (row === null || row.state === "pending") return "open";
      return { key: row.state === "committed" ? row.key : undefined };
    },

    /** Returns committed files whose presigned link has ended and that `markLinksEnded` has not marked. */
    async endedLinks(nowMs: number, maxRows: number): Promise<readonly EndedLink[]> {
      return (await prepared(SQL.endedLinks, nowMs, maxRows).all<EndedLink>()).results;
    },

    async markLinksEnded(fileIds: readonly string[]): Promise<void> {
      await prepared(SQL.markLinksEnded, JSON.stringify(fileIds)).run();
    },
  };
}
