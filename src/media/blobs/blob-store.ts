import { randomId, type Random } from "../../platform/random.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import { LIMITS } from "../model/limits.ts";
import type { UploadDigest } from "../model/upload-digest.ts";
import { inParallel } from "./parallel.ts";
import { PartReader } from "./part-reader.ts";
import { watchStream } from "./watched-stream.ts";

/**
 * Bytes in R2. Kinds of keys:
 * - `blob/{file}`: the master, written once, under the condition that nothing is there.
 * - `blob/{file}.{etag}`: the master of a file that was uploaded by a presigned link, copied from `incoming/{file}`.
 * - `incoming/{file}`: where a presigned link writes, as often as its holder likes (uploads/r2.ts).
 * - `variant/{file}/{nonce}`: one rendition of a variant. Only jobs with this nonce write there, and they write the same.
 * - `incoming/{file}/{random}`: where an upload of unknown length is collected before it becomes the master. What a
 *   crash leaves there goes with the file, or by the bucket's lifecycle rule.
 */
export interface BlobStore {
  head(key: string): Promise<R2Object | null>;
  get(key: string, range?: ByteRange): Promise<R2ObjectBody | null>;
  /** Stores all of the upload or nothing. Storage that fails throws. */
  putMaster(upload: MasterUpload): Promise<Result<R2Object, UploadFault>>;
  /** Stores a stream of unknown length; its size in bytes, undefined when it broke off. */
  putVariant(key: string, first: Uint8Array, more: PartReader, contentType: string): Promise<number | undefined>;
  delete(keys: readonly string[]): Promise<void>;
  /** Objects in the order of their keys, those behind `after`; `end` is the last one's, if more follow. */
  listPage(prefix: string, after: string, limit: number): Promise<ObjectPage>;
  /** Keys of what is or was collected for them; of each file a thousand at most. */
  listIncoming(fileIds: readonly string[]): Promise<readonly string[]>;
  /** What a listing shows of each file, whatever rows say; of each kind a thousand keys at most. */
  listAll(fileIds: readonly string[]): Promise<readonly FileKeys[]>;
}

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
  /** Undefined when the upload came without a length. */
  readonly lengthBytes: number | undefined;
  readonly maxBytes: number;
  /** Has taken the bytes of a known length; those of an upload without one are taken as they come. */
  readonly quota: { take(bytes: number): Promise<ReservationFault | undefined> };
  /** What the bytes have to be; undefined when the upload does not say. */
  readonly digest: UploadDigest | undefined;
  readonly contentType: string;
  readonly fileName: string | undefined;
}

export type UploadFault = "exists" | "too_large" | "interrupted" | "other_digest" | ReservationFault;

/** `not_pending`: the file was committed. `gone`: it was removed, or there never was one. */
export type ReservationFault = "over_quota" | "not_pending" | "gone";

export const masterKey = (fileId: string): string => `blob/${fileId}`;
export const variantKey = (fileId: string, nonce: string): string => `variant/${fileId}/${nonce}`;
export const incomingKey = (fileId: string): string => `incoming/${fileId}`;
export const pinnedKey = (fileId: string, etag: string): string => `${masterKey(fileId)}.${etag}`;

/** The name that came with an upload. Percent-encoded: metadata travels in headers. */
export const fileNameOf = (object: R2Object): string | undefined => {
  const encoded = object.customMetadata?.["fileName"];
  return encoded === undefined ? undefined : decodeURIComponent(encoded);
};

export function createBlobStore(bucket: R2Bucket, random: Random): BlobStore {
  return {
    head: (key) => bucket.head(key),
    get: (key, range) => bucket.get(key, range === undefined ? {} : { range }),
    putMaster: (upload) =>
      upload.lengthBytes === undefined && upload.body !== null
        ? putUnknownLength(bucket, random, upload, new PartReader(upload.body, LIMITS.partBytes))
        : putKnownLength(bucket, upload, upload.body, upload.lengthBytes ?? 0),
    putVariant: async (key, first, more, contentType) => {
      const httpMetadata = { contentType };
      if (more.ended) return (await bucket.put(key, first, { httpMetadata })).size;
      const stored = await putParts(bucket, key, first, more, takeAll, { httpMetadata });
      return stored.ok ? stored.value.size : undefined;
    },
    delete: (keys) => deleteKeys(bucket, keys),
    async listPage(prefix, after, limit) {
      const from = after === "" ? {} : { startAfter: after };
      const { objects, truncated } = await bucket.list({ prefix, limit, ...from });
      const end = truncated ? objects.at(-1)?.key : undefined;
      if (truncated && end === undefined) throw new Error("R2 lists nothing, and says that more follows");
      return { objects, end };
    },
    async listIncoming(fileIds) {
      return (await listEach(bucket, fileIds, [incomingKey])).flatMap(({ keys }) => keys);
    },
    listAll: (fileIds) => listEach(bucket, fileIds, [masterKey, (fileId) => variantKey(fileId, ""), incomingKey]),
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

async function deleteKeys(bucket: R2Bucket, keys: readonly string[]): Promise<void> {
  for (let at = 0; at < keys.length; at += LIMITS.keysPerDelete)
    await bucket.delete(keys.slice(at, at + LIMITS.keysPerDelete));
}

/** Writes the master where none is. R2 keeps nothing of bytes that are not what the upload's digest says. */
async function putMaster(
  bucket: R2Bucket,
  upload: MasterUpload,
  bytes: ReadableStream<Uint8Array> | Uint8Array,
): Promise<Result<R2Object, UploadFault>> {
  try {
    const object = await bucket.put(masterKey(upload.fileId), bytes, masterOptions(upload));
    return object === null ? err("exists") : ok(object);
  } catch (thrown) {
    if (isBadDigest(thrown)) return err("other_digest");
    throw thrown;
  }
}

/** R2 ends the text of an error with its code: https://developers.cloudflare.com/r2/api/error-codes/ */
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
  const fixed = new FixedLengthStream(lengthBytes);
  const stop = new AbortController();
  // The source is watched, not the pipe: that one also fails when R2 gives up.
  const source = watchStream(body);
  const piped = source.stream.pipeTo(fixed.writable, { signal: stop.signal }).catch(() => undefined);
  try {
    return await putMaster(bucket, upload, fixed.readable);
  } catch (thrown) {
    // A FixedLengthStream says with a TypeError that more or fewer bytes came than were announced.
    if (source.brokeOff() || thrown instanceof TypeError) return err("interrupted");
    throw thrown;
  } finally {
    // A refused put leaves the rest of the body unread.
    stop.abort();
    await piped;
  }
}

/** R2 must know a length before it takes a stream, so a longer upload is collected first and then moved. */
async function putUnknownLength(
  bucket: R2Bucket,
  random: Random,
  upload: MasterUpload,
  parts: PartReader,
): Promise<Result<R2Object, UploadFault>> {
  const first = await parts.next();
  if (!first.ok) return first;
  const take = taking(upload);
  if (parts.ended) {
    const fault = await take(first.value.byteLength);
    return fault === undefined ? putMaster(bucket, upload, first.value) : err(fault);
  }
  const key = `${incomingKey(upload.fileId)}/${randomId(random)}`;
  const collected = await putParts(bucket, key, first.value, parts, take, {});
  if (!collected.ok) return collected;
  try {
    const object = await bucket.get(key);
    if (object === null) throw new Error("a collected upload is gone");
    const moved = await putKnownLength(bucket, upload, object.body, object.size);
    if (!moved.ok && moved.error === "interrupted") throw new Error("a collected upload could not be read");
    return moved;
  } finally {
    // What stays here goes with the file: the outcome of the upload does not depend on it.
    await bucket.delete(key).catch(() => undefined);
  }
}

/** Why a part of so many bytes is not taken; undefined where it is. */
type Take<Fault> = (bytes: number) => Promise<Fault | undefined>;

const takeAll = async (): Promise<undefined> => undefined;

/** Counts the bytes of an upload against its limit and against the quota. */
function taking({ maxBytes, quota }: MasterUpload): Take<"too_large" | ReservationFault> {
  let sizeBytes = 0;
  return async (bytes) => {
    sizeBytes += bytes;
    return sizeBytes > maxBytes ? "too_large" : quota.take(bytes);
  };
}

/** One multipart upload: complete, or nothing of it stays. */
async function putParts<Fault>(
  bucket: R2Bucket,
  key: string,
  first: Uint8Array,
  more: PartReader,
  take: Take<Fault>,
  options: R2MultipartOptions,
): Promise<Result<R2Object, Fault | "interrupted">> {
  const multipart = await bucket.createMultipartUpload(key, options);
  try {
    const done: R2UploadedPart[] = [];
    for (let part = first; part.byteLength > 0;) {
      const fault = await take(part.byteLength);
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

/** Parts that cannot be taken back now are dropped by the bucket's lifecycle rule. */
async function abandon<E>(multipart: R2MultipartUpload, more: PartReader, fault: E): Promise<Result<never, E>> {
  await more.cancel();
  await multipart.abort().catch(() => undefined);
  return err(fault);
}
