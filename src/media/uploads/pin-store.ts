import { masterKey } from "../blobs/blob-store.ts";
import { OWNED, ownedBy } from "../files/file-store.ts";
import type { FileCaller } from "../model/file.ts";
import type { PendingFile } from "../model/uploads.ts";

/** Which upload of a pending file a commit is about to take, and what of its copies is kept. */
export interface PinStore {
  /** The row's pin becomes this ETag; false where the file is not pending, or another commit pinned something else. */
  pin(file: PendingFile, caller: FileCaller, etag: string): Promise<boolean>;
  /** `pending`, or where the master lies for good: nowhere, for a file that is removed or gone. */
  keptPlace(fileId: string): Promise<"pending" | { readonly key: string | undefined }>;
  /** Committed files to whose links no more uploads come. */
  endedLinks(nowMs: number, maxRows: number): Promise<readonly string[]>;
  /** They need not be looked at again. */
  markLinksEnded(fileIds: readonly string[]): Promise<void>;
}

const SQL = {
  pin: `UPDATE file SET pinned_etag = ?6 WHERE ${OWNED} AND state = 'pending' AND pinned_etag IS ?7 RETURNING id`,
  keptPlace: `SELECT state, blob_key FROM file WHERE id = ?1`,
  endedLinks: `SELECT id FROM file WHERE due_at <= ?1 AND state = 'committed' ORDER BY due_at LIMIT ?2`,
  markLinksEnded: `UPDATE file SET due_at = NULL WHERE id IN (SELECT value FROM json_each(?1)) AND state = 'committed'`,
} as const;

export function createPinStore(db: D1Database): PinStore {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  return {
    async pin(file, caller, etag) {
      const values = [...ownedBy(file.id, caller), etag, file.pinnedEtag ?? null];
      return (await prepared(SQL.pin, ...values).first()) !== null;
    },

    async keptPlace(fileId) {
      const row = await prepared(SQL.keptPlace, fileId).first<{ state: string; blob_key: string | null }>();
      if (row?.state === "pending") return "pending";
      return { key: row?.state === "committed" ? (row.blob_key ?? masterKey(fileId)) : undefined };
    },

    async endedLinks(nowMs, maxRows) {
      return (await prepared(SQL.endedLinks, nowMs, maxRows).all<{ id: string }>()).results.map(({ id }) => id);
    },

    async markLinksEnded(fileIds) {
      await prepared(SQL.markLinksEnded, JSON.stringify(fileIds)).run();
    },
  };
}
