import { sha256Hex } from "../../platform/secrets/hash.ts";
import type { Clock } from "../../platform/runtime/clock.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import type { Meter } from "../../platform/ports/metrics.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { withTimeout } from "../../platform/runtime/with-timeout.ts";
import { variantKey, type BlobStore } from "../blobs/blob-store.ts";
import { PartReader } from "../blobs/part-reader.ts";
import { watchStream } from "../blobs/watched-stream.ts";
import { isSideways } from "../images/exif.ts";
import { readImageHeader } from "../images/header.ts";
import type { ImageFormat, ImageHeader, ImageTransformers, TransformedImage } from "../model/image-transformer.ts";
import type { JobQueue, VariantJob } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import { dimensionsOf, variantDimensions, type Dimensions } from "../model/sizes.ts";
import type { Patience } from "./patience.ts";
import type { Ended, JobRow, MadeVariant, VariantStore } from "./variant-store.ts";

export interface MakeVariantDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly variants: VariantStore;
  /** True if another shard has this rendition, because the file moved there with its tenant. */
  readonly isElsewhere: (job: VariantJob) => Promise<boolean>;
  readonly blobs: BlobStore;
  readonly transformer: ImageTransformers;
  readonly patience: Patience;
  readonly queue: JobQueue;
}

/** Our choice: a move of a tenant refuses changes for less than a second, or until the cron continues it. */
const HELD_SEC = 10;

/** After a permanent fault the variant is failed; after a temporary one in every attempt, too. */
type Fault =
  | { readonly kind: "permanent"; readonly reason: string }
  | { readonly kind: "temporary"; readonly fault: string };

const permanent = (reason: string): Result<never, Fault> => err({ kind: "permanent", reason });
const temporary = (fault: string): Result<never, Fault> => err({ kind: "temporary", fault });

const BROKEN = "The file is not a readable image.";

/**
 * Makes one rendition. Returns the fault if another attempt may succeed. Throws if it is none of the image: the bucket,
 * the database or the transformer does not work. For a late or repeated message the row is no longer pending, and
 * nothing is made. Bytes are written before the row becomes ready. If the row cannot become ready any more, the bytes
 * are deleted. While the tenant changes its shard, a new message takes the place of this one, so that the wait does not
 * count as failed attempts; meanwhile neither the sweep nor a repeated commit sends another.
 */
export async function makeVariant(deps: MakeVariantDeps, job: VariantJob): Promise<string | undefined> {
  const row = await deps.variants.findJob(job.fileId, job.nonce);
  if (row === undefined && (await deps.isElsewhere(job))) return undefined;
  // The copy of this row in another shard uses the bytes.
  if (row?.fileState === "moved" && row.state === "ready") return undefined;
  // An attempt that was still running when the rendition was given up may have written bytes.
  if (row === undefined || row.state === "removed" || row.state === "failed" || row.fileState !== "committed")
    return discard(deps, job, row);
  if (row.state !== "pending") return undefined;
  if (row.isHeld === 1) return wait(deps, job);
  try {
    return await deps.patience.attempt(() => makeInto(deps, job, row));
  } catch (thrown) {
    if ((await deps.variants.findJob(job.fileId, job.nonce))?.isHeld === 1) return wait(deps, job);
    if (deps.clock.nowMs() >= row.createdAt + LIMITS.variantOutageMs) return describeError(thrown);
    throw thrown;
  }
}

async function wait(deps: MakeVariantDeps, { fileId, nonce }: VariantJob): Promise<undefined> {
  await deps.queue.send([{ fileId, nonce }], HELD_SEC);
  return undefined;
}

async function makeInto(deps: MakeVariantDeps, job: VariantJob, row: JobRow): Promise<string | undefined> {
  const made = await make(deps, job, row);
  if (made.ok) deps.patience.noteMade();
  let ended: Ended;
  if (made.ok) ended = await deps.variants.markReady(job, made.value, deps.clock.nowMs());
  else if (made.error.kind === "temporary") return made.error.fault;
  else {
    const { reason } = made.error;
    ended = await deps.variants.markFailed(job, reason, deps.clock.nowMs());
    deps.log.info("variant failed", { fileId: job.fileId, nonce: job.nonce, reason });
  }
  deps.meter.add("variants_made", { service: "media", tenant: row.tenant, label: made.ok ? "made" : "failed" });
  await deps.queue.send(ended.sent);
  return ended.isMarked ? undefined : endLate(deps, job);
}

/** After the last attempt: marks the variant failed, and deletes its bytes unless it is ready after all. */
export async function giveUp(deps: MakeVariantDeps, job: VariantJob): Promise<string | undefined> {
  const reason = "The variant could not be made in several attempts.";
  const { isMarked, sent } = await deps.variants.markFailed(job, reason, deps.clock.nowMs());
  await deps.queue.send(sent);
  if (isMarked) deps.log.error("gave up a variant", { fileId: job.fileId, nonce: job.nonce });
  return endLate(deps, job);
}

/** Ends the job of a rendition that another attempt or a deletion may have ended first. */
async function endLate(deps: MakeVariantDeps, job: VariantJob): Promise<string | undefined> {
  const row = await deps.variants.findJob(job.fileId, job.nonce);
  if (row === undefined && (await deps.isElsewhere(job))) return undefined;
  const isReady = row?.state === "ready" && (row.fileState === "committed" || row.fileState === "moved");
  return isReady ? undefined : discard(deps, job, row);
}

/** A failure is a fault here: a rendition that is gone does not wait for the end of an outage. */
async function discard(deps: MakeVariantDeps, job: VariantJob, row: JobRow | undefined): Promise<string | undefined> {
  try {
    await withTimeout(LIMITS.attemptMs, deps.blobs.delete([variantKey(job.fileId, job.nonce)]));
    // This message has kept its place, so it brings the next one.
    if (row?.state !== "failed") await deps.queue.send(await deps.variants.leaveLane(job, deps.clock.nowMs()));
    return undefined;
  } catch (thrown) {
    return describeError(thrown);
  }
}

async function make(deps: MakeVariantDeps, job: VariantJob, row: JobRow): Promise<Result<MadeVariant, Fault>> {
  const header = await readMasterHeader(deps, row);
  if (!header.ok) return header;
  const { format, width, height, orientation } = header.value;
  if (width * height > LIMITS.masterMaxPixels)
    return permanent(
      `The image has ${width} x ${height} pixels, more than ${LIMITS.masterMaxPixels / 1e6} megapixels.`,
    );
  if (Math.max(width, height) > LIMITS.masterMaxSide)
    return permanent(`The image has ${width} x ${height} pixels, more than ${LIMITS.masterMaxSide} on one side.`);
  const upright = isSideways(orientation) ? { width: height, height: width } : { width, height };
  const target = variantDimensions(row.type, dimensionsOf(row.size), upright);
  const image = await transform(deps, header.value, row, target);
  if (!image.ok) return image;
  const stored = await storeResult(deps, job, { ...target, format }, image.value.stream);
  if (!stored.ok) {
    const { error } = stored;
    if (error.kind === "temporary" && !(await deps.transformer.isUp(format))) throw new Error(error.fault);
    return stored;
  }
  return ok({ ...stored.value, etag: await variantEtag(row, image.value.encoder) });
}

/** Reads the beginning of the master, and more if much other data precedes the header. */
async function readMasterHeader(
  deps: MakeVariantDeps,
  { masterKey, masterSizeBytes: sizeBytes }: JobRow,
): Promise<Result<ImageHeader, Fault>> {
  if (sizeBytes === 0) return permanent(BROKEN);
  for (const maxBytes of LIMITS.headerReadBytes) {
    const length = Math.min(maxBytes, sizeBytes);
    const object = await deps.blobs.get(masterKey, { offset: 0, length });
    if (object === null) return permanent("The bytes of the file are missing.");
    const outcome = readImageHeader(new Uint8Array(await object.arrayBuffer()));
    switch (outcome.kind) {
      case "header":
        return ok(outcome.header);
      case "unknown":
        return permanent("The file is not a jpeg, png or gif image, though its content type says so.");
      case "broken":
        return permanent(BROKEN);
      case "incomplete":
        if (length === sizeBytes) return permanent(BROKEN);
    }
  }
  return permanent(BROKEN);
}

async function transform(
  deps: MakeVariantDeps,
  header: ImageHeader,
  row: JobRow,
  target: Dimensions,
  isRepeat = false,
): Promise<Result<TransformedImage, Fault>> {
  const { type, masterKey, masterSizeBytes: sizeBytes } = row;
  const object = await deps.blobs.get(masterKey);
  if (object === null) return permanent("The bytes of the file are missing.");
  const master = watchStream(object.body);
  const result = await deps.transformer.transform({ master: master.stream, sizeBytes, header, type, target });
  if (result.ok) return result;
  await master.cancel();
  switch (result.error.kind) {
    case "refused":
      return permanent(result.error.reason);
    case "unavailable":
      throw new Error("the image transformer does not answer");
    case "broken_image":
      // If the master was not read completely, its storage is at fault, not the image.
      if (master.brokeOff()) throw new Error("the master could not be read to its end");
      // One failure among many images can be the transformer's.
      return isRepeat ? permanent(BROKEN) : transform(deps, header, row, target, true);
  }
}

/** Transformers round differently. */
const ROUNDING_PIXELS = 1;

/**
 * Measures the result before it stores it, because Cloudflare returns animations of more than 50 megapixels unchanged.
 */
async function storeResult(
  deps: MakeVariantDeps,
  { fileId, nonce }: VariantJob,
  expected: Dimensions & { readonly format: ImageFormat },
  stream: ReadableStream<Uint8Array>,
): Promise<Result<Omit<MadeVariant, "etag">, Fault>> {
  const parts = new PartReader(stream, LIMITS.partBytes);
  const first = await parts.next();
  if (!first.ok) return temporary("the transformed image broke off");
  const outcome = readImageHeader(first.value);
  const { format } = expected;
  if (outcome.kind !== "header" || outcome.header.format !== format) {
    await parts.cancel();
    return temporary(`the transformer answered with no ${format} image`);
  }
  const { width, height } = outcome.header;
  if (Math.max(Math.abs(width - expected.width), Math.abs(height - expected.height)) > ROUNDING_PIXELS) {
    await parts.cancel();
    return permanent(`The image transformer returned ${width} x ${height} pixels: the image is too large for it.`);
  }
  clearOrientation(first.value, outcome.header);
  const contentType = `image/${format}`;
  try {
    const sizeBytes = await deps.blobs.putVariant(variantKey(fileId, nonce), first.value, parts, contentType);
    return sizeBytes === undefined
      ? temporary("the transformed image broke off")
      : ok({ contentType, width, height, sizeBytes });
  } finally {
    // After a failure, the transformer would wait until the rest is read.
    await parts.cancel();
  }
}

/**
 * Sets the orientation to 1, because the pixels are upright now and viewers would turn them again. It leaves a png
 * alone, where a checksum covers the orientation.
 */
function clearOrientation(bytes: Uint8Array, { format, orientationField: field }: ImageHeader): void {
  if (format === "jpeg" && field !== undefined)
    new DataView(bytes.buffer, bytes.byteOffset).setUint16(field.offset, 1, field.littleEndian);
}

/** Derives the ETag from master, operation, size and encoder version, so that no bytes must be read. */
async function variantEtag({ masterEtag, type, size }: JobRow, encoder: string): Promise<string> {
  return (await sha256Hex(JSON.stringify([masterEtag, type, size, encoder]))).slice(0, 32);
}
