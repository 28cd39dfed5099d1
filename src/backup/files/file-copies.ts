import { err, ok, type Result } from "../../platform/model/result.ts";
import { SOURCE_ETAG, sourceEtagOf } from "../../platform/storage/source-etag.ts";
import type { FindingKind } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";

/**
 * The bytes of files: masters, variants and copies of the audit log. An object is written once under its key and never
 * changes, so one copy of it serves every backup. Uploads under way (`incoming/`) are left out: the uploader begins
 * again.
 */
export const BYTES_PREFIXES = ["audit/", "blob/", "variant/"] as const;
export const COPY_PREFIX = "media/";

/** A line of the list of files. `copy`: the ETag of the copy, which is the MD5 of its bytes; null: not copied. */
export interface FileLine {
  readonly key: string;
  readonly size: number;
  readonly etag: string;
  readonly copy: string | null;
}

type Unwanted = (keys: readonly string[]) => readonly string[];

export type FileCopies = ReturnType<typeof createFileCopies>;

export function createFileCopies(media: R2Bucket, backup: R2Bucket) {
  async function list(bucket: R2Bucket, prefix: string, after: string): Promise<R2Objects> {
    const startAfter = after === "" ? {} : { startAfter: after };
    return bucket.list({ prefix, limit: LIMITS.listedObjects, include: ["customMetadata"], ...startAfter });
  }

  /** Copies an object. Undefined: the source is gone. */
  async function copy(from: R2Bucket, to: R2Bucket, source: string, target: string): Promise<R2Object | undefined> {
    const object = await from.get(source);
    if (object === null) return undefined;
    const { httpMetadata } = object;
    const customMetadata = { ...object.customMetadata, [SOURCE_ETAG]: sourceEtagOf(object) };
    return to.put(target, object.body, { ...(httpMetadata && { httpMetadata }), customMetadata });
  }

  /** A page of the copies in the backup bucket after a key, by the keys of the files. */
  async function copiesFrom(prefix: string, after: string): Promise<ReadonlyMap<string, R2Object>> {
    const { objects } = await list(backup, `${COPY_PREFIX}${prefix}`, after === "" ? "" : `${COPY_PREFIX}${after}`);
    return new Map(objects.map((object) => [object.key.slice(COPY_PREFIX.length), object]));
  }

  return {
    /**
     * Lists files after a key. With `copies`, it copies them too, up to the limits of a step. `next`: the last key;
     * undefined if no file follows.
     */
    async step(prefix: string, after: string, copies: boolean) {
      const page = await list(media, prefix, after);
      const there = copies ? await copiesFrom(prefix, after) : new Map<string, R2Object>();
      const lines: FileLine[] = [];
      let [copied, copiedBytes, end] = [0, 0, after];
      for (const object of page.objects) {
        const { key, size, etag } = object;
        if (copied >= LIMITS.copiesAStep || copiedBytes >= LIMITS.copyBytesAStep)
          return { lines, copied, copiedBytes, next: end };
        end = key;
        if (!copies) {
          lines.push({ key, size, etag, copy: null });
          continue;
        }
        const earlier = there.get(key) ?? (await backup.head(COPY_PREFIX + key));
        const isThere = earlier?.size === size && sourceEtagOf(earlier) === sourceEtagOf(object);
        const done = isThere ? earlier : await copy(media, backup, key, COPY_PREFIX + key);
        // The file was deleted after it was listed.
        if (done === undefined) continue;
        if (!isThere) [copied, copiedBytes] = [copied + 1, copiedBytes + size];
        lines.push({ key, size, etag, copy: done.etag });
      }
      return { lines, copied, copiedBytes, next: page.truncated ? end : undefined };
    },

    /** Reads and compares the copy of a file. In a backup by reference, compares size and ETag of the file itself. */
    async check({ key, size, etag, copy: digest }: FileLine): Promise<Result<undefined, FindingKind>> {
      if (digest === null) {
        const object = await media.head(key);
        if (object === null) return err("file_missing");
        return object.size === size && object.etag === etag ? ok(undefined) : err("file_changed");
      }
      const object = await backup.get(COPY_PREFIX + key);
      if (object === null) return err("file_missing");
      const md5 = new crypto.DigestStream("MD5");
      await object.body.pipeTo(md5);
      const found = new Uint8Array(await md5.digest).toHex();
      return object.size === size && found === digest ? ok(undefined) : err("file_changed");
    },

    /** Puts the bytes of a file back. In a backup by reference there is no copy, so they must still be there. */
    async putBack({ key, size, copy: digest }: FileLine): Promise<"there" | "copied" | "missing"> {
      const there = await media.head(key);
      if (there?.size === size) return "there";
      if (digest === null) return "missing";
      return (await copy(backup, media, COPY_PREFIX + key, key)) === undefined ? "missing" : "copied";
    },

    /** Returns true if the bucket of files has no objects that a backup contains. */
    async isEmpty(): Promise<boolean> {
      const pages = await Promise.all(BYTES_PREFIXES.map((prefix) => media.list({ prefix, limit: 1 })));
      return pages.every(({ objects }) => objects.length === 0);
    },

    /**
     * Deletes the unwanted objects of a page below a prefix. Returns the last key; undefined at the end.
     * `unwantedOf` is asked in the turn in which they are deleted.
     */
    async sweep(prefix: string, after: string, unwantedOf: Unwanted): Promise<string | undefined> {
      const page = await backup.list({ prefix, ...(after === "" ? {} : { startAfter: after }) });
      const unwanted = unwantedOf(page.objects.map(({ key }) => key));
      if (unwanted.length > 0) await backup.delete([...unwanted]);
      return page.truncated ? page.objects.at(-1)?.key : undefined;
    },
  };
}

/** The key of a committed file's bytes, from its row. Empty for other files. */
export function pinnedOrMaster(row: readonly unknown[], columns: readonly string[]): readonly string[] {
  const value = (name: string): unknown => row[columns.indexOf(name)];
  if (value("state") !== "committed") return [];
  const key = value("blob_key");
  return [typeof key === "string" ? key : `blob/${String(value("id"))}`];
}
