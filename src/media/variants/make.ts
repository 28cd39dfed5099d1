import { sha256Hex } from "../../platform/hash.ts";
import type { Log } from "../../platform/log.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import { variantKey, type BlobStore } from "../blobs/blob-store.ts";
import { PartReader } from "../blobs/part-reader.ts";
import { watchStream } from "../blobs/watched-stream.ts";
import { liesOnSide } from "../images/exif.ts";
import { readImageHeader } from "../images/header.ts";
import type { ImageFormat, ImageHeader, TransformedImage, ImageTransformer } from "../model/image-transformer.ts";
import type { VariantJob } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import { dimensionsOf, variantDimensions, type Dimensions } from "../model/sizes.ts";
import type { JobRow, MadeVariant, VariantStore } from "./variant-store.ts";

export interface MakeVariantDeps {
  readonly log: Log;
  readonly variants: VariantStore;
  readonly blobs: BlobStore;
  readonly transformer: ImageTransformer;
}

/** What ends a rendition before it is ready: `lasting` faults mark the variant failed, `passing` ones are tried again. */
type Fault =
  | { readonly kind: "lasting"; readonly reason: string }
  | { readonly kind: "passing"; readonly fault: string };

const lasting = (reason: string): Result<never, Fault> => err({ kind: "lasting", reason });
const passing = (fault: string): Result<never, Fault> => err({ kind: "passing", fault });

const BROKEN = "The file is not a readable image.";

/**
 * Makes one rendition; the answer is the fault of an attempt that is worth repeating. A message that comes late or
 * twice finds that its row is not pending, and makes nothing. Bytes are written before the row says `ready`; when the row
 * does not take that any more, the bytes go again.
 */
export async function makeVariant(deps: MakeVariantDeps, job: VariantJob): Promise<string | undefined> {
  const row = await deps.variants.findJob(job.fileId, job.nonce);
  // A rendition that was given up while it ran may have left bytes, where their deletion failed.
  if (row === undefined || row.state === "removed" || row.state === "failed" || row.fileState !== "committed")
    return discard(deps, job);
  if (row.state !== "pending") return undefined;
  const made = await make(deps, job, row);
  if (made.ok) {
    if (await deps.variants.markReady(job.fileId, job.nonce, made.value)) return undefined;
    const now = await deps.variants.findJob(job.fileId, job.nonce);
    return now?.state === "ready" && now.fileState === "committed" ? undefined : discard(deps, job);
  }
  if (made.error.kind === "passing") return made.error.fault;
  await deps.variants.markFailed(job.fileId, job.nonce, made.error.reason);
  deps.log.info("variant failed", { fileId: job.fileId, nonce: job.nonce, reason: made.error.reason });
  return undefined;
}

async function discard(deps: MakeVariantDeps, { fileId, nonce }: VariantJob): Promise<undefined> {
  await deps.blobs.delete([variantKey(fileId, nonce)]);
  return undefined;
}

async function make(deps: MakeVariantDeps, job: VariantJob, row: JobRow): Promise<Result<MadeVariant, Fault>> {
  const header = await readMasterHeader(deps, row);
  if (!header.ok) return header;
  const { format, width, height, orientation } = header.value;
  if (width * height > LIMITS.masterMaxPixels)
    return lasting(`The image has ${width} x ${height} pixels, more than ${LIMITS.masterMaxPixels / 1e6} megapixels.`);
  if (Math.max(width, height) > LIMITS.masterMaxSide)
    return lasting(`The image has ${width} x ${height} pixels, more than ${LIMITS.masterMaxSide} on one side.`);
  const upright = liesOnSide(orientation) ? { width: height, height: width } : { width, height };
  const target = variantDimensions(row.type, dimensionsOf(row.size), upright);
  const image = await transform(deps, header.value, row, target);
  if (!image.ok) return image;
  const stored = await storeResult(deps, job, { ...target, format }, image.value.stream);
  if (!stored.ok) return stored;
  return ok({ ...stored.value, etag: await variantEtag(row, image.value.encoder) });
}

/** Reads the beginning of the master, and more of it only when its header lies behind a lot of other data. */
async function readMasterHeader(
  deps: MakeVariantDeps,
  { masterKey, masterSizeBytes: sizeBytes }: JobRow,
): Promise<Result<ImageHeader, Fault>> {
  if (sizeBytes === 0) return lasting(BROKEN);
  for (const maxBytes of LIMITS.headerReadBytes) {
    const length = Math.min(maxBytes, sizeBytes);
    const object = await deps.blobs.get(masterKey, { offset: 0, length });
    if (object === null) return lasting("The bytes of the file are missing.");
    const outcome = readImageHeader(new Uint8Array(await object.arrayBuffer()));
    switch (outcome.kind) {
      case "header":
        return ok(outcome.header);
      case "unknown":
        return lasting("The file is neither a jpeg nor a png nor a gif image, whatever its content type says.");
      case "broken":
        return lasting(BROKEN);
      case "incomplete":
        if (length === sizeBytes) return lasting(BROKEN);
    }
  }
  return lasting(BROKEN);
}

async function transform(
  deps: MakeVariantDeps,
  header: ImageHeader,
  { type, masterKey, masterSizeBytes: sizeBytes }: JobRow,
  target: Dimensions,
): Promise<Result<TransformedImage, Fault>> {
  const object = await deps.blobs.get(masterKey);
  if (object === null) return lasting("The bytes of the file are missing.");
  const master = watchStream(object.body);
  const result = await deps.transformer.transform({ master: master.stream, sizeBytes, header, type, target });
  if (result.ok) return result;
  await master.cancel();
  switch (result.error.kind) {
    case "refused":
      return lasting(result.error.reason);
    case "unavailable":
      return passing("the image transformer does not answer");
    case "broken_image":
      // An image whose bytes did not all arrive is no worse than its storage.
      return master.brokeOff() ? passing("the master could not be read to its end") : lasting(BROKEN);
  }
}

/** Transformers round differently. */
const ROUNDING_PIXELS = 1;

/** What came out is measured, not assumed: Cloudflare gives animations of more than 50 megapixels back as they are. */
async function storeResult(
  deps: MakeVariantDeps,
  { fileId, nonce }: VariantJob,
  expected: Dimensions & { readonly format: ImageFormat },
  stream: ReadableStream<Uint8Array>,
): Promise<Result<Omit<MadeVariant, "etag">, Fault>> {
  const parts = new PartReader(stream, LIMITS.partBytes);
  const first = await parts.next();
  if (!first.ok) return passing("the transformed image broke off");
  const outcome = readImageHeader(first.value);
  const { format } = expected;
  if (outcome.kind !== "header" || outcome.header.format !== format) {
    await parts.cancel();
    return passing(`the transformer answered with no ${format} image`);
  }
  const { width, height } = outcome.header;
  if (Math.max(Math.abs(width - expected.width), Math.abs(height - expected.height)) > ROUNDING_PIXELS) {
    await parts.cancel();
    return lasting(`The image came out at ${width} x ${height} pixels: it is too much for the image transformer.`);
  }
  clearOrientation(first.value, outcome.header);
  const contentType = `image/${format}`;
  try {
    const sizeBytes = await deps.blobs.putVariant(variantKey(fileId, nonce), first.value, parts, contentType);
    return sizeBytes === undefined
      ? passing("the transformed image broke off")
      : ok({ contentType, width, height, sizeBytes });
  } finally {
    // After a failure the transformer would wait for what is left to be read.
    await parts.cancel();
  }
}

/**
 * The pixels are upright: a transformer that leaves the mark would have viewers turn them once more. (Not in png, where
 * a checksum covers it.)
 */
function clearOrientation(bytes: Uint8Array, { format, orientationField: field }: ImageHeader): void {
  if (format === "jpeg" && field !== undefined)
    new DataView(bytes.buffer, bytes.byteOffset).setUint16(field.offset, 1, field.littleEndian);
}

/** Contract 4.6: derived from master, operation, size and encoder version, so known without reading the bytes. */
async function variantEtag({ masterEtag, type, size }: JobRow, encoder: string): Promise<string> {
  return (await sha256Hex(JSON.stringify([masterEtag, type, size, encoder]))).slice(0, 32);
}
