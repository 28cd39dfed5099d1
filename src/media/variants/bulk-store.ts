import { jobsOf, removeFromLane, sendInLane } from "../lanes/lane-store.ts";
import type { FileCaller } from "../model/file.ts";
import type { SendTaken, VariantJob } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import type { VariantName } from "../model/sizes.ts";

/** Variants of several files in one write. Files that the caller no longer has are left out. */
export type BulkVariantStore = ReturnType<typeof createBulkVariantStore>;

export interface WantedVariant extends VariantName, VariantJob {}

/** SQL: the file is committed and the caller's (?1 to ?3). */
const OWNED = `file.state = 'committed' AND EXISTS (SELECT 1 FROM owner WHERE owner.id = file.owner_id
  AND owner.client = ?1 AND owner.tenant = ?2 AND owner.visibility = ?3 AND owner.erasure_id IS NULL)`;

/** ?4 are the wanted variants, ?5 is the limit for each file. A file that would exceed the limit gets no variant. */
const WANTED = `json_each(?4) AS wanted CROSS JOIN file ON file.id = wanted.value ->> 'fileId' AND ${OWNED}
  AND ?5 >= (SELECT count(*) FROM (
    SELECT type || size FROM variant WHERE variant.file_id = file.id AND variant.state <> 'removed'
    UNION SELECT value ->> 'type' || (value ->> 'size') FROM json_each(?4) WHERE value ->> 'fileId' = file.id))`;

/** ?4 are the files, ?5 the names of variants. */
const NAMED = `variant.state <> 'removed' AND (variant.file_id, variant.type, variant.size) IN
  (SELECT file.id, name.value ->> 'type', name.value ->> 'size'
    FROM json_each(?4) AS chosen CROSS JOIN file ON file.id = chosen.value AND ${OWNED} CROSS JOIN json_each(?5) AS name)`;

export const BULK_SQL = {
  removeFailed: `UPDATE variant SET state = 'removed', due_at = ?6 WHERE state = 'failed' AND (file_id, type, size) IN
    (SELECT file.id, wanted.value ->> 'type', wanted.value ->> 'size' FROM ${WANTED})
    RETURNING file_id AS fileId, nonce`,
  add: `INSERT INTO variant (file_id, nonce, type, size, state, created_at, due_at, lane, waits)
    SELECT file.id, wanted.value ->> 'nonce', wanted.value ->> 'type', wanted.value ->> 'size', 'pending', ?6, ?7, ?2, 1
    FROM ${WANTED} WHERE true
    ON CONFLICT (file_id, type, size) WHERE state <> 'removed' DO NOTHING RETURNING file_id AS fileId, nonce`,
  countMissing: `SELECT count(*) AS n FROM ${WANTED} WHERE NOT EXISTS (SELECT 1 FROM variant AS there
    WHERE there.file_id = file.id AND there.type = wanted.value ->> 'type' AND there.size = wanted.value ->> 'size'
    AND there.state NOT IN ('removed', 'failed'))`,
  remove: `UPDATE variant SET ${removeFromLane("?6")} WHERE ${NAMED} RETURNING file_id AS fileId, nonce`,
  count: `SELECT count(*) AS n FROM variant WHERE ${NAMED}`,
} as const;

export function createBulkVariantStore(db: D1Database) {
  const prepared = (sql: string, caller: FileCaller, ...values: unknown[]) =>
    db.prepare(sql).bind(caller.client, caller.tenant, caller.visibility, ...values);
  return {
    /**
     * Adds variants. It replaces failed variants, and leaves other existing ones as they are. `send` gets the
     * renditions of the tenant to make now.
     */
    async add(
      caller: FileCaller,
      wanted: readonly WantedVariant[],
      nowMs: number,
      maxPerFile: number,
      send: SendTaken,
    ): Promise<Readonly<Record<"started" | "replaced", readonly VariantJob[]>>> {
      const values = [JSON.stringify(wanted), maxPerFile, nowMs];
      const [replaced, started, sent] = await db.batch([
        prepared(BULK_SQL.removeFailed, caller, ...values),
        prepared(BULK_SQL.add, caller, ...values, nowMs + LIMITS.variantWaitMs),
        sendInLane(db, caller.tenant, nowMs),
      ]);
      send(jobsOf(sent));
      return { started: jobsOf(started), replaced: jobsOf(replaced) };
    },

    /** Counts the variants that `add` would start. */
    async countMissing(
      caller: FileCaller,
      fileIds: readonly string[],
      names: readonly VariantName[],
      maxPerFile: number,
    ): Promise<number> {
      const wanted = fileIds.flatMap((fileId) => names.map((name) => ({ fileId, ...name })));
      return countOf(prepared(BULK_SQL.countMissing, caller, JSON.stringify(wanted), maxPerFile));
    },

    /** Any state → removed. Returns what it removed. */
    async remove(
      caller: FileCaller,
      fileIds: readonly string[],
      names: readonly VariantName[],
      nowMs: number,
    ): Promise<readonly VariantJob[]> {
      const values = [JSON.stringify(fileIds), JSON.stringify(names), nowMs];
      return jobsOf(await prepared(BULK_SQL.remove, caller, ...values).all());
    },

    /** Counts the variants that `remove` would remove. */
    count: (caller: FileCaller, fileIds: readonly string[], names: readonly VariantName[]): Promise<number> =>
      countOf(prepared(BULK_SQL.count, caller, JSON.stringify(fileIds), JSON.stringify(names))),
  };
}

const countOf = async (counting: D1PreparedStatement): Promise<number> => (await counting.first<number>("n")) ?? 0;
