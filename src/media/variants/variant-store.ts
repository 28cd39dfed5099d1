import { MASTER_KEY } from "../files/file-store.ts";
import { jobsOf, removeFromLane, sendInLane, sendInLaneOf } from "../lanes/lane-store.ts";
import type { VariantRow, FileCaller } from "../model/file.ts";
import type { VariantJob } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import { IS_COMING } from "../shards/moved-store.ts";
import type { VariantName, VariantType } from "../model/sizes.ts";

/** Rows of variants. Each is one rendition, named by its nonce. */
export type VariantStore = ReturnType<typeof createVariantStore>;

export interface DueVariant extends VariantJob {
  readonly state: "pending" | "removed";
}

export interface NewVariant extends VariantName {
  readonly nonce: string;
}

export interface VariantList {
  readonly contentType: string;
  readonly variants: readonly VariantRow[];
}

/** `list` undefined: the caller has no such file. */
export interface AddedVariants {
  readonly list: VariantList | undefined;
  /** The renditions to make now, of this file or of others that wait, whether or not there is such a file. */
  readonly sent: readonly VariantJob[];
  /** Nonces of failed renditions that new ones replace. They are removed now. */
  readonly replaced: readonly string[];
}

export interface JobRow {
  readonly type: VariantType;
  readonly size: string;
  readonly state: VariantRow["state"];
  readonly createdAt: number;
  /** `moved`: the file is in another shard, with its tenant. */
  readonly fileState: "pending" | "committed" | "removed" | "moved";
  readonly masterKey: string;
  readonly masterEtag: string;
  readonly masterSizeBytes: number;
  readonly tenant: string;
  /** 1: the tenant is just changing its shard, so this row cannot change (moves/mover.ts). */
  readonly isHeld: 0 | 1;
}

export interface MadeVariant {
  readonly contentType: string;
  readonly width: number;
  readonly height: number;
  readonly sizeBytes: number;
  readonly etag: string;
}

/** `isMarked` false: the row is not pending any more. `sent`: the renditions of the tenant to make now. */
export interface Ended {
  readonly isMarked: boolean;
  readonly sent: readonly VariantJob[];
}

/** SQL: the committed file of a caller. ?1 is the file, ?2 to ?4 the caller. */
const OWNED_FILE = `SELECT file.content_type AS contentType FROM file JOIN owner ON owner.id = file.owner_id
  WHERE file.id = ?1 AND file.state = 'committed' AND owner.client = ?2 AND owner.visibility = ?3
  AND owner.tenant = ?4 AND owner.erasure_id IS NULL`;

/** SQL: the wanted variants (?5) and the other variants of the file are together at most ?8. */
const IS_WITHIN_LIMIT = `?8 >= json_array_length(?5) + (
  SELECT count(*) FROM variant AS other WHERE other.file_id = ?1 AND other.state <> 'removed'
  AND other.type || other.size NOT IN (SELECT value ->> 'type' || (value ->> 'size') FROM json_each(?5)))`;

/** SQL: the tenant of the owner is just changing its shard, so nothing of its files can change (moves/mover.ts). */
const OWNER_IS_HELD = `EXISTS (SELECT 1 FROM moving_tenant WHERE moving_tenant.tenant = owner.tenant
  AND owner.erasure_id IS NULL AND moving_tenant.state IN ('closed', 'arrived'))`;

/** SQL: the rendition cannot change, so a message about it would wait. */
const IS_HELD = `EXISTS (SELECT 1 FROM file JOIN owner ON owner.id = file.owner_id
  WHERE file.id = variant.file_id AND ${OWNER_IS_HELD})`;

const SQL = {
  ownedFile: OWNED_FILE,
  list: `SELECT nonce, type, size, state, content_type AS contentType, width, height, size_bytes AS sizeBytes, etag,
    reason
    FROM variant WHERE file_id = ?1 AND state <> 'removed' AND EXISTS (${OWNED_FILE}) ORDER BY type, size`,
  removeFailed: `UPDATE variant SET state = 'removed', due_at = ?6 WHERE file_id = ?1 AND state = 'failed'
    AND type || size IN (SELECT value ->> 'type' || (value ->> 'size') FROM json_each(?5))
    AND EXISTS (${OWNED_FILE}) AND ${IS_WITHIN_LIMIT} RETURNING nonce`,
  add: `INSERT INTO variant (file_id, nonce, type, size, state, created_at, due_at, lane, waits)
    SELECT ?1, value ->> 'nonce', value ->> 'type', value ->> 'size', 'pending', ?6, ?7, ?4, 1 FROM json_each(?5)
    WHERE EXISTS (${OWNED_FILE}) AND ${IS_WITHIN_LIMIT}
    ON CONFLICT (file_id, type, size) WHERE state <> 'removed' DO NOTHING`,
  remove: `UPDATE variant SET ${removeFromLane("?6")} WHERE file_id = ?1 AND state <> 'removed'
    AND EXISTS (${OWNED_FILE})
    AND (?5 IS NULL OR type || size IN (SELECT value ->> 'type' || (value ->> 'size') FROM json_each(?5)))
    RETURNING nonce`,
  delete: `DELETE FROM variant WHERE state = 'removed' AND (lane IS NULL OR coalesce(due_at, 0) <= ?2) AND (file_id, nonce) IN
    (SELECT value ->> 'fileId', value ->> 'nonce' FROM json_each(?1))`,
  // A late job may write such a rendition again when no row names it any more.
  forgetPlaces: `UPDATE file SET known_places = NULL WHERE known_places = 1 AND id IN (
    SELECT gone.file_id FROM json_each(?1) AS given CROSS JOIN variant AS gone ON gone.file_id = given.value ->> 'fileId'
      AND gone.nonce = given.value ->> 'nonce' AND gone.state = 'removed')`,
  // Only those that the commit itself sent: from then on, their due time is another one.
  sendOnceMore: `UPDATE variant SET due_at = max(?2, due_at + 1) WHERE file_id = ?1 AND state = 'pending' AND waits = 0
    AND due_at = (SELECT committed_at FROM file WHERE file.id = ?1) + ${LIMITS.variantResendMs} AND NOT ${IS_HELD}
    RETURNING file_id AS fileId, nonce`,
  findJob: `SELECT variant.type, variant.size, variant.state, variant.created_at AS createdAt, ${MASTER_KEY} AS masterKey,
    coalesce(file.etag, '') AS masterEtag, coalesce(file.size_bytes, 0) AS masterSizeBytes,
    CASE WHEN owner.erasure_id IS NULL THEN file.state WHEN owner.erasure_id LIKE 'moved %' THEN 'moved'
      ELSE 'removed' END AS fileState, owner.tenant,
    ${OWNER_IS_HELD} AS isHeld
    FROM variant JOIN file ON file.id = variant.file_id JOIN owner ON owner.id = file.owner_id
    WHERE variant.file_id = ?1 AND variant.nonce = ?2`,
  markReady: `UPDATE variant SET state = 'ready', due_at = NULL, lane = NULL, waits = 0, content_type = ?3, width = ?4, height = ?5,
    size_bytes = ?6, etag = ?7 WHERE file_id = ?1 AND nonce = ?2 AND state = 'pending'
    AND EXISTS (SELECT 1 FROM file JOIN owner ON owner.id = file.owner_id
      WHERE file.id = ?1 AND file.state = 'committed' AND owner.erasure_id IS NULL)`,
  markFailed: `UPDATE variant SET state = 'failed', due_at = NULL, lane = NULL, waits = 0, reason = ?3
    WHERE file_id = ?1 AND nonce = ?2 AND state = 'pending'`,
  // Files of a retired owner are removed page by page. Without a due time, nothing more is sent, and it has no place.
  leaveLane: `UPDATE variant SET waits = 0, due_at = NULL WHERE file_id = ?1 AND nonce = ?2 AND (state = 'removed'
    OR state = 'pending' AND EXISTS (SELECT 1 FROM file LEFT JOIN owner ON owner.id = file.owner_id
      WHERE file.id = ?1 AND (file.state = 'removed' OR owner.erasure_id IS NOT NULL AND NOT ${IS_COMING})))`,
  forgetLane: `UPDATE variant SET lane = NULL WHERE file_id = ?1 AND nonce = ?2 AND state = 'pending' AND due_at IS NULL`,
  due: `SELECT file_id AS fileId, nonce, state FROM variant WHERE due_at <= ?1
    AND NOT (state = 'pending' AND (waits = 1 OR ${IS_HELD})) ORDER BY due_at LIMIT ?2`,
  postponeWaiting: `UPDATE variant SET due_at = ?2 WHERE state = 'pending' AND waits = 1 AND (file_id, nonce) IN
    (SELECT file_id, nonce FROM variant WHERE due_at <= ?1 ORDER BY due_at LIMIT ?3) RETURNING 1`,
  postpone: `UPDATE variant SET due_at = ?2 WHERE state = 'pending' AND (file_id, nonce) IN
    (SELECT value ->> 'fileId', value ->> 'nonce' FROM json_each(?1))`,
} as const;

export function createVariantStore(db: D1Database) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  const owned = (fileId: string, caller: FileCaller) => [fileId, caller.client, caller.visibility, caller.tenant];
  const contentTypeOf = (found: D1Result | undefined): string | undefined =>
    (found?.results[0] as { contentType: string } | undefined)?.contentType;
  const variantsOf = (found: D1Result | undefined) => (found?.results ?? []) as VariantRow[];
  const noncesOf = (found: D1Result | undefined): string[] =>
    ((found?.results ?? []) as { nonce: string }[]).map((row) => row.nonce);
  const deleting = (renditions: readonly VariantJob[], nowMs: number): D1PreparedStatement[] => {
    const given = JSON.stringify(renditions);
    return [prepared(SQL.forgetPlaces, given), prepared(SQL.delete, given, nowMs)];
  };
  const end = async (
    sql: string,
    { fileId, nonce }: VariantJob,
    nowMs: number,
    ...values: unknown[]
  ): Promise<Ended> => {
    const [ended, sent] = await db.batch([
      prepared(sql, fileId, nonce, ...values),
      sendInLaneOf(db, fileId, nowMs, nonce),
    ]);
    // D1 also counts the rows that triggers changed.
    return { isMarked: ended!.meta.changes > 0, sent: jobsOf(sent) };
  };

  return {
    /** Lists the variants of a committed file by type and size; undefined: the caller has no such file. */
    async list(fileId: string, caller: FileCaller): Promise<VariantList | undefined> {
      const [file, variants] = await db.batch([
        prepared(SQL.ownedFile, ...owned(fileId, caller)),
        prepared(SQL.list, ...owned(fileId, caller)),
      ]);
      const contentType = contentTypeOf(file);
      return contentType === undefined ? undefined : { contentType, variants: variantsOf(variants) };
    },

    /**
     * Adds all of these variants or, beyond `maxPerFile`, none. It replaces failed variants and leaves others alone.
     */
    async add(
      fileId: string,
      caller: FileCaller,
      wanted: readonly NewVariant[],
      nowMs: number,
      maxPerFile: number,
    ): Promise<AddedVariants> {
      const values = [JSON.stringify(wanted), nowMs, nowMs + LIMITS.variantWaitMs, maxPerFile];
      const [file, replaced, , sent, variants] = await db.batch([
        prepared(SQL.ownedFile, ...owned(fileId, caller)),
        prepared(SQL.removeFailed, ...owned(fileId, caller), ...values),
        prepared(SQL.add, ...owned(fileId, caller), ...values),
        sendInLane(db, caller.tenant, nowMs),
        prepared(SQL.list, ...owned(fileId, caller)),
      ]);
      const contentType = contentTypeOf(file);
      const list = contentType === undefined ? undefined : { contentType, variants: variantsOf(variants) };
      return { list, sent: jobsOf(sent), replaced: noncesOf(replaced) };
    },

    /** Any state → removed. Undefined: the caller has no such file. */
    async remove(
      fileId: string,
      caller: FileCaller,
      which: readonly VariantName[] | "all",
      nowMs: number,
    ): Promise<readonly string[] | undefined> {
      const names = which === "all" ? null : JSON.stringify(which);
      const [file, removed] = await db.batch([
        prepared(SQL.ownedFile, ...owned(fileId, caller)),
        prepared(SQL.remove, ...owned(fileId, caller), names, nowMs),
      ]);
      return contentTypeOf(file) === undefined ? undefined : noncesOf(removed);
    },

    /** Deletes the rows of removed renditions whose bytes are deleted, without those that wait for their message. */
    async delete(renditions: readonly VariantJob[], nowMs: number): Promise<void> {
      await db.batch(deleting(renditions, nowMs));
    },

    /**
     * Takes the renditions that the commit of a file sent and that are still pending, once: the answer of a commit may
     * be lost before their messages are sent. None while its tenant is held.
     */
    async sendOnceMore(fileId: string, nowMs: number): Promise<readonly VariantJob[]> {
      return jobsOf(await prepared(SQL.sendOnceMore, fileId, nowMs + LIMITS.variantResendMs).all());
    },

    /** Returns the row of a job's rendition. */
    async findJob(fileId: string, nonce: string): Promise<JobRow | undefined> {
      return (await prepared(SQL.findJob, fileId, nonce).first<JobRow>()) ?? undefined;
    },

    /** Pending → ready, unless the file is removed. */
    markReady: (job: VariantJob, made: MadeVariant, nowMs: number): Promise<Ended> =>
      end(SQL.markReady, job, nowMs, made.contentType, made.width, made.height, made.sizeBytes, made.etag),

    /** Pending → failed. */
    markFailed: (job: VariantJob, reason: string, nowMs: number): Promise<Ended> =>
      end(SQL.markFailed, job, nowMs, reason),

    /**
     * The file is removed, its owner, or the rendition, whose row is deleted now: it takes no place from others. It may
     * have no row.
     */
    async leaveLane({ fileId, nonce }: VariantJob, nowMs: number): Promise<readonly VariantJob[]> {
      const [, sent] = await db.batch([
        prepared(SQL.leaveLane, fileId, nonce),
        sendInLaneOf(db, fileId, nowMs, nonce),
        prepared(SQL.forgetLane, fileId, nonce),
        ...deleting([{ fileId, nonce }], nowMs),
      ]);
      return jobsOf(sent);
    },

    /** Returns the rows that are due, without renditions that are held: their messages wait, or are sent after it. */
    async due(nowMs: number, maxRows: number): Promise<readonly DueVariant[]> {
      return (await prepared(SQL.due, nowMs, maxRows).all<DueVariant>()).results;
    },

    /**
     * Postpones renditions that still wait for their turn, which comes without the sweep: the due time is for a release
     * that knows no turns. Returns their number.
     */
    async postponeWaiting(nowMs: number, maxRows: number): Promise<number> {
      const postponing = prepared(SQL.postponeWaiting, nowMs, nowMs + LIMITS.variantWaitMs, maxRows);
      return (await postponing.all()).results.length;
    },

    /** Sets the due time of pending renditions. */
    async postpone(renditions: readonly VariantJob[], dueAt: number): Promise<void> {
      await prepared(SQL.postpone, JSON.stringify(renditions), dueAt).run();
    },
  };
}
