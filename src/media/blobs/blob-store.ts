import { err, ok, type Result } from "../../platform/model/result.ts";
import { LIMITS } from "../model/limits.ts";
import type { UploadDigest } from "../model/upload-digest.ts";
import { inParallel } from "../../platform/runtime/parallel.ts";
import { PartReader } from "./part-reader.ts";
import { watchStream } from "./watched-stream.ts";

/**
 * Bytes in R2. Kinds of keys:
 * - `blob/{file}`: the master, written once, on condition that the key is free.
 * - `blob/{file}.{etag}`: the master of a file uploaded by a presigned link, copied from `incoming/{file}`.
 * - `incoming/{file}`: written by a presigned link, any number of times (uploads/presigned-upload.ts).
 * - `incoming/{file}/collected`: an upload of unknown length before it becomes the master. If a crash leaves the object
 *   behind, it is deleted with the file or by the bucket's lifecycle rule. Concurrent uploads of one file share the
 *   key: one becomes the master, unless it fails, and the others fail. Older releases wrote `incoming/{file}/{random}`.
 * - `variant/{file}/{nonce}`: one rendition of a variant. Only jobs with this nonce write it, and all write the same
 *   bytes.
 */
export type BlobStore = ReturnType<typeof createBlobStore>;

/** A part of an object. */
export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

export interface ObjectPage {
  readonly objects: readonly R2Object[];
  readonly end: string | undefined;
}

export interface FileKeys {
  readonly fileId: string;
  readonly keys: readonly string[];
}

export interface MasterUpload {
  readonly fileId: string;
  readonly body: ReadableStream<Uint8Array> | null;
  /** Undefined: the upload has no Content-Length. */
  readonly lengthBytes: number | undefined;
  readonly maxBytes: number;
  /** Reserves bytes as they arrive. The caller has already reserved the bytes of an upload of known length. */
  readonly quota: { reserve(bytes: number): Promise<ReservationFault | undefined> };
  /** The digest that the bytes must have; undefined if the upload names none. */
  readonly digest: UploadDigest | undefined;
  readonly contentType: string;
  readonly fileName: string | undefined;
}

/** `replaced`: another upload of the same file took the place of these bytes before they became the master. */
export type UploadFault = "exists" | "replaced" | "too_large" | "interrupted" | "other_digest" | ReservationFault;

/** `not_pending`: the file is committed. `gone`: it is removed, or never existed. */
export type ReservationFault = "over_quota" | "not_pending" | "gone";

/** A short upload is held in memory. */
export const isShort = (lengthBytes: number | undefined): boolean =>
  lengthBytes !== undefined && lengthBytes <= LIMITS.shortUploadBytes;

export const masterKey = (fileId: string): string => `blob/${fileId}`;
export const variantKey = (fileId: string, nonce: string): string => `variant/${fileId}/${nonce}`;
export const incomingKey = (fileId: string): string => `incoming/${fileId}`;
export const collectedKey = (fileId: string): string => `${incomingKey(fileId)}/collected`;
export const pinnedKey = (fileId: string, etag: string): string => `${masterKey(fileId)}.${etag}`;

/** The name from an upload. Percent-encoded, because R2 sends metadata in headers. */
export const fileNameOf = (object: R2Object): string | undefined => {
  const encoded = object.customMetadata?.["fileName"];
  return encoded === undefined ? undefined : decodeURIComponent(encoded);
};

export function createBlobStore(bucket: R2Bucket) {
  return {
    head: (key: string): Promise<R2Object | null> => bucket.head(key),

    get: (key: string, range?: ByteRange): Promise<R2ObjectBody | null> =>
      bucket.get(key, range === undefined ? {} : { range }),

    /** Stores all of the upload or nothing. Throws if the storage fails. */
    putMaster: (upload: MasterUpload): Promise<Result<R2Object, UploadFault>> =>
      upload.lengthBytes === undefined && upload.body !== null
        ? putUnknownLength(bucket, upload, new PartReader(upload.body, LIMITS.partBytes))
        : putKnownLength(bucket, upload, upload.body, upload.lengthBytes ?? 0),

    /** Stores a stream of unknown length. Returns its size in bytes, or undefined if the stream broke off. */
    async putVariant(
      key: string,
      first: Uint8Array,
      more: PartReader,
      contentType: string,
    ): Promise<number | undefined> {
      const httpMetadata = { contentType };
      if (more.ended) return (await bucket.put(key, first, { httpMetadata })).size;
      const stored = await putParts(bucket, key, first, more, reserveNothing, { httpMetadata });
      return stored.ok ? stored.value.size : undefined;
    },

    async delete(keys: readonly string[]): Promise<void> {
      for (let at = 0; at < keys.length; at += LIMITS.keysPerDelete)
        await bucket.delete(keys.slice(at, at + LIMITS.keysPerDelete));
    },

    /** Returns objects after the key `after`, in key order. `end` is the key of the last one if more follow. */
    async listPage(prefix: string, after: string, limit: number): Promise<ObjectPage> {
      const from = after === "" ? {} : { startAfter: after };
      const { objects, truncated } = await bucket.list({ prefix, limit, ...from });
      const end = truncated ? objects.at(-1)?.key : undefined;
      if (truncated && end === undefined) throw new Error("R2 listed no object but says that more follow");
      return { objects, end };
    },

    /** Returns the keys of unfinished uploads, at most a thousand for each file. */
    async listIncoming(fileIds: readonly string[]): Promise<readonly string[]> {
      return (await listEach(bucket, fileIds, [incomingKey])).flatMap(({ keys }) => keys);
    },

    /** Returns the keys of masters, and of copies that no commit took. */
    async listMasters(fileIds: readonly string[]): Promise<readonly string[]> {
      return (await listEach(bucket, fileIds, [masterKey])).flatMap(({ keys }) => keys);
    },

    /** Returns all keys of each file, at most a thousand of each kind. */
    listAll: (fileIds: readonly string[]): Promise<readonly FileKeys[]> =>
      listEach(bucket, fileIds, [masterKey, (fileId) => variantKey(fileId, ""), incomingKey]),

    /** Returns the keys that have an object, by file. */
    async present(places: readonly FileKeys[]): Promise<readonly FileKeys[]> {
      const found = places.map(({ fileId }) => ({ fileId, keys: [] as string[] }));
      const asked = places.flatMap(({ keys }, at) => keys.map((key) => ({ key, present: found[at]!.keys })));
      await inParallel(asked, LIMITS.parallelLists, async ({ key, present }) => {
        if ((await bucket.head(key)) !== null) present.push(key);
      });
      return found;
    },
  };
}

async function listEach(
  bucket: R2Bucket,
  fileIds: readonly string[],
  prefixes: readonly ((fileId: string) => string)[],
): Promise<readonly FileKeys[]> {
  const found = fileIds.map((fileId) => ({ fileId, keys: [] as string[] }));
  const lists = found.flatMap(({ fileId, keys }) => prefixes.map((prefixOf) => ({ prefix: prefixOf(fileId), keys })));
  await inParallel(lists, LIMITS.parallelLists, async ({ prefix, keys }) => {
    const listed = await bucket.list({ prefix });
    keys.push(...listed.objects.map((object) => object.key));
  });
  return found;
}

/** Writes the master if there is none. R2 discards bytes that do not have the upload's digest. */
async function putMaster(
  bucket: R2Bucket,
  upload: MasterUpload,
  bytes: ReadableStream<Uint8Array> | Uint8Array | ArrayBuffer,
): Promise<Result<R2Object, UploadFault>> {
  try {
    const object = await bucket.put(masterKey(upload.fileId), bytes, masterOptions(upload));
    return object === null ? err("exists") : ok(object);
  } catch (thrown) {
    if (isBadDigest(thrown)) return err("other_digest");
    throw thrown;
  }
}

/** R2 appends the code to the text of an error: https://developers.cloudflare.com/r2/api/error-codes/ */
const isBadDigest = (thrown: unknown): boolean => thrown instanceof Error && thrown.message.endsWith("(10037)");

const masterOptions = ({ contentType, fileName, digest }: MasterUpload): R2PutOptions & { onlyIf: R2Conditional } => ({
  onlyIf: { etagDoesNotMatch: "*" },
  httpMetadata: { contentType },
  ...(fileName === undefined ? {} : { customMetadata: { fileName: encodeURIComponent(fileName) } }),
  ...(digest === undefined ? {} : { [digest.algorithm]: digest.bytes }),
});

async function putKnownLength(
  bucket: R2Bucket,
  upload: MasterUpload,
  body: ReadableStream<Uint8Array> | null,
  lengthBytes: number,
): Promise<Result<R2Object, UploadFault>> {
  if (lengthBytes > upload.maxBytes) return err("too_large");
  if (body === null) return lengthBytes === 0 ? putMaster(bucket, upload, new Uint8Array(0)) : err("interrupted");
  if (isShort(lengthBytes)) {
    const bytes = await readShort(body);
    return bytes?.byteLength === lengthBytes ? putMaster(bucket, upload, bytes) : err("interrupted");
  }
  const fixed = new FixedLengthStream(lengthBytes);
  const stop = new AbortController();
  // The source is watched, not the pipe, because the pipe also fails if R2 gives up.
  const source = watchStream(body);
  const piped = source.stream.pipeTo(fixed.writable, { signal: stop.signal }).catch(() => undefined);
  try {
    return await putMaster(bucket, upload, fixed.readable);
  } catch (thrown) {
    // A FixedLengthStream throws a TypeError if the body is longer or shorter than announced.
    if (source.brokeOff() || thrown instanceof TypeError) return err("interrupted");
    throw thrown;
  } finally {
    // If R2 refuses a body, it leaves the rest unread, and the pipe would wait forever.
    stop.abort();
    await piped;
  }
}

/** The whole stream; undefined if it broke off. A piped stream costs a short upload more than its bytes do. */
const readShort = (body: ReadableStream<Uint8Array>): Promise<ArrayBuffer | undefined> =>
  new Response(body).arrayBuffer().catch(() => undefined);

/** R2 needs the length of a stream in advance, so a long upload is collected in parts first and then moved. */
async function putUnknownLength(
  bucket: R2Bucket,
  upload: MasterUpload,
  parts: PartReader,
): Promise<Result<R2Object, UploadFault>> {
  const first = await parts.next();
  if (!first.ok) return first;
  const reserve = reserveWithinLimits(upload);
  if (parts.ended) {
    const fault = await reserve(first.value.byteLength);
    return fault === undefined ? putMaster(bucket, upload, first.value) : err(fault);
  }
  const key = collectedKey(upload.fileId);
  const collected = await putParts(bucket, key, first.value, parts, reserve, {});
  if (!collected.ok) return collected;
  const object = await bucket.get(key, { onlyIf: { etagMatches: collected.value.etag } });
  // Another upload of the same file replaced the object, so it belongs to that one, or deleted it after its own move.
  if (object === null || !("body" in object))
    return err((await bucket.head(masterKey(upload.fileId))) === null ? "replaced" : "exists");
  try {
    const moved = await putKnownLength(bucket, upload, object.body, object.size);
    if (!moved.ok && moved.error === "interrupted") throw new Error("a collected upload could not be read");
    return moved;
  } finally {
    // A failure does not matter here: the object is deleted with the file.
    await bucket.delete(key).catch(() => undefined);
  }
}

/** Reserves the bytes of a part. Returns the fault that ends the upload, if there is one. */
type Reserve<Fault> = (bytes: number) => Promise<Fault | undefined>;

const reserveNothing = async (): Promise<undefined> => undefined;

/** Counts the bytes of an upload towards its limit and the quota. */
function reserveWithinLimits({ maxBytes, quota }: MasterUpload): Reserve<"too_large" | ReservationFault> {
  let sizeBytes = 0;
  return async (bytes) => {
    sizeBytes += bytes;
    return sizeBytes > maxBytes ? "too_large" : quota.reserve(bytes);
  };
}

/** Stores one multipart upload as a whole or not at all. */
async function putParts<Fault>(
  bucket: R2Bucket,
  key: string,
  first: Uint8Array,
  more: PartReader,
  reserve: Reserve<Fault>,
  options: R2MultipartOptions,
): Promise<Result<R2Object, Fault | "interrupted">> {
  const multipart = await bucket.createMultipartUpload(key, options);
  try {
    const done: R2UploadedPart[] = [];
    for (let part = first; part.byteLength > 0;) {
      const fault = await reserve(part.byteLength);
      if (fault !== undefined) return await abandon(multipart, more, fault);
      done.push(await multipart.uploadPart(done.length + 1, part));
      const next = await more.next();
      if (!next.ok) return await abandon(multipart, more, next.error);
      part = next.value;
    }
    return ok(await multipart.complete(done));
  } catch (thrown) {
    await abandon(multipart, more, "interrupted");
    throw thrown;
  }
}

/** Ends an upload without a result. If the abort fails, the bucket's lifecycle rule deletes the parts. */
async function abandon<E>(multipart: R2MultipartUpload, more: PartReader, fault: E): Promise<Result<never, E>> {
  await more.cancel();
  await multipart.abort().catch(() => undefined);
  return err(fault);
}
