import { OWNER_LIVES } from "../files/file-store.ts";

/** Changes of files and variants by a repair. */
export interface RepairWork {
  readonly nowMs: number;
  /** The time at which the repair of this run began. */
  readonly sinceMs: number;
  /** The time at which a job that makes a variant again counts as lost. */
  readonly variantsDueAt: number;
  /** Files that had no bytes. `isToRemove`: they still have none. */
  readonly files: readonly { readonly seq: number; readonly fileId: string; readonly isToRemove: boolean }[];
  /**
   * Variants that had no bytes, with the nonce of the rendition that replaces each. `isToRemake`: they still have none.
   */
  readonly variants: readonly {
    readonly seq: number;
    readonly fileId: string;
    readonly nonce: string;
    readonly newNonce: string;
    readonly isToRemake: boolean;
  }[];
}

/** Repairs the rows of a shard. */
export type RepairStore = ReturnType<typeof createRepairStore>;

/** A committed file that is removed without the id of a deletion was removed by a repair. */
const SQL = {
  removeFiles: `UPDATE file SET state = 'removed', removed_at = ?2, due_at = ?2
    WHERE id IN (SELECT value ->> 'fileId' FROM json_each(?1) WHERE value ->> 'isToRemove') AND state = 'committed'
    AND ${OWNER_LIVES}`,
  remakeVariants: `UPDATE variant SET nonce = wanted.newNonce, state = 'pending', created_at = ?3, due_at = ?2, content_type = NULL,
    width = NULL, height = NULL, size_bytes = NULL, etag = NULL
    FROM (SELECT value ->> 'fileId' AS fileId, value ->> 'nonce' AS nonce, value ->> 'newNonce' AS newNonce
      FROM json_each(?1) WHERE value ->> 'isToRemake') AS wanted
    WHERE variant.file_id = wanted.fileId AND variant.nonce = wanted.nonce AND variant.state = 'ready'
    AND EXISTS (SELECT 1 FROM file WHERE file.id = variant.file_id AND file.state = 'committed' AND ${OWNER_LIVES})`,
  repairedFiles: `SELECT listed.value ->> 'seq' AS seq FROM json_each(?1) AS listed
    CROSS JOIN file ON file.id = listed.value ->> 'fileId'
    WHERE file.state = 'removed' AND file.removed_at >= ?2 AND coalesce(file.erasure_id, file.erased_by) IS NULL`,
  repairedVariants: `SELECT listed.value ->> 'seq' AS seq FROM json_each(?1) AS listed
    CROSS JOIN variant ON variant.file_id = listed.value ->> 'fileId' AND variant.nonce = listed.value ->> 'newNonce'`,
} as const;

/** `shard`: the number of the database. */
export function createRepairStore(db: D1Database, shard = 0) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  return {
    /**
     * Removes files and replaces renditions, each only if its state is unchanged. Returns the repaired findings, each
     * with its shard. They include repairs of an earlier attempt of this step that broke off before the run recorded
     * it.
     */
    async repair({ nowMs, sinceMs, variantsDueAt, files, variants }: RepairWork): Promise<ReadonlyMap<number, number>> {
      if (files.length === 0 && variants.length === 0) return new Map();
      const [ofFiles, ofVariants] = [JSON.stringify(files), JSON.stringify(variants)];
      const [, , removed, remade] = await db.batch<{ seq: number }>([
        prepared(SQL.removeFiles, ofFiles, nowMs),
        prepared(SQL.remakeVariants, ofVariants, variantsDueAt, nowMs),
        prepared(SQL.repairedFiles, ofFiles, sinceMs),
        prepared(SQL.repairedVariants, ofVariants),
      ]);
      return new Map([...(removed?.results ?? []), ...(remade?.results ?? [])].map(({ seq }) => [seq, shard]));
    },
  };
}
