/**
 * Media service (specification: media.md; contract section 4).
 *
 * States of a file, in its row:
 *
 *   create → pending ── commit ──→ committed ── delete ──→ removed → (no row)
 *               └────── delete, or a day without commit ──────↑ (bytes deleted → listed again)
 *
 * - A pending file has an owner without a tenant: its client. Where that ends or changes its tenant the row of this owner
 *   goes with it, by trigger, and the file is nobody's until its day is over.
 * - Bytes come by `PUT` to the signed link and go to R2 under the condition that nothing is there (uploads/upload.ts).
 *   The row does not change then: what was uploaded is what R2 says at the commit. Where the deployment has credentials
 *   of S3, bytes come by a presigned link instead, to a place of their own, from which a commit copies them
 *   (uploads/r2.ts).
 * - Commit, delete and sweep each change the row in one write that is conditional on its state, so exactly one of them
 *   wins. The commit pins ETag and size; no link writes over them.
 * - The operator's comparison of R2 with D1 removes a committed file whose bytes are gone (consistency/run.ts).
 * - `removed` ends every read at once; so does an owner that is retired, for all its files, which become `removed` page
 *   by page. Bytes are deleted after that (erasure/erase.ts), by the operation, by messages of the queue or by the sweep:
 *   `purged_at` says that they were. The row goes last: a day after the file was made and an hour after it was removed,
 *   when nobody can bring bytes any more, and a listing has shown that none are there.
 * - Each deletion has a row of its own, made in the same write, that counts its files through these steps
 *   (erasure/reports.ts).
 *
 * States of a variant, one row for each rendition, named by a nonce; many files at once (bulk) go the same ways:
 *
 *   create with clip/crop → declared ── commit of the file ──→ pending ──→ ready
 *   POST variants → pending                                       └─────→ failed (with a reason)
 *   any of them ── delete ──→ removed → (no row)
 *   failed ── POST variants for it ──→ removed, and a new rendition of the same is pending
 *   any of them ── the bytes of its removed file are deleted ──→ (no row)
 *   ready without bytes ── repair by the operator ──→ pending, under a new nonce (consistency/run.ts)
 *
 * - The row comes before the message; a message that is lost is sent again by the sweep, one that comes twice finds
 *   nothing to do. Only the consumer writes `ready` and `failed`, from `pending` alone, and `ready` only while the file
 *   is committed; else it deletes what it wrote (variants/make.ts).
 *
 * The metadata index is no state of its own: `file.attributes` says which rows of `attribute` a file has, and the batch
 * that writes the one makes the others so (metadata/index-sql.ts). Listings and deletions by query go by it
 * (search/filter-store.ts, search/listing-store.ts).
 *
 * `due_at` of both says when the sweep has to look at a row: at a committed file only where it came by a presigned link,
 * once that has ended, since it could bring bytes to `incoming/` until then.
 */
import type { ClientAccess } from "../http/auth.ts";
import type { Route } from "../http/route.ts";
import type { AuditTrail } from "../platform/audit.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Names } from "../platform/names.ts";
import type { Random } from "../platform/random.ts";
import type { Sealer } from "../platform/seal.ts";
import { createBlobStore, type BlobStore } from "./blobs/blob-store.ts";
import { createS3, type Fetch, type S3Access } from "./blobs/s3.ts";
import { createExpectedStore } from "./consistency/expected-store.ts";
import { createRunStore } from "./consistency/run-store.ts";
import { createConsistency, type Consistency } from "./consistency/run.ts";
import { createEdgeCache, noEdgeCache } from "./content/edge-cache.ts";
import { contentRoutes } from "./content/routes.ts";
import { deleteFile, deleteFiles } from "./erasure/delete.ts";
import { eraseStep } from "./erasure/erase.ts";
import { createErasureStore } from "./erasure/erasure-store.ts";
import { createRemovedFileStore } from "./erasure/removed-store.ts";
import { erasureRoutes } from "./erasure/reports.ts";
import { commitFile } from "./files/commit.ts";
import { createFile } from "./files/create.ts";
import { fetchPrivateFile, fetchPublicFile } from "./files/fetch.ts";
import { createFileStore } from "./files/file-store.ts";
import { createLinks, type Links } from "./files/links.ts";
import { readMetadata, replaceMetadata } from "./files/metadata.ts";
import { createPendingStore } from "./files/pending-store.ts";
import { createUsageStore, type Usage, type UsageStore } from "./files/usage-store.ts";
import { createTransformer } from "./images/transformer.ts";
import { createJobQueue, type MediaJob } from "./model/job.ts";
import { LIMITS } from "./model/limits.ts";
import type { Uploads } from "./model/uploads.ts";
import { createFilterStore } from "./search/filter-store.ts";
import { listFiles } from "./search/list.ts";
import { createListingStore } from "./search/listing-store.ts";
import { sweepMedia } from "./sweep.ts";
import { createPinnedUploadStore, type PinnedUploadStore } from "./uploads/pinned-upload-store.ts";
import { createR2Uploads } from "./uploads/r2.ts";
import { uploadFile, createWorkerUploads } from "./uploads/worker.ts";
import { createBulkVariantStore } from "./variants/bulk-store.ts";
import { createBulkVariants, deleteBulkVariants } from "./variants/bulk.ts";
import { consumeJobs } from "./variants/consumer.ts";
import { createVariantStore } from "./variants/variant-store.ts";
import { createVariants, deleteVariants, listVariants } from "./variants/variants.ts";

export interface MediaDeps {
  readonly names: Names;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  readonly sealer: Sealer;
  readonly audit: AuditTrail;
  readonly db: D1Database;
  readonly bucket: R2Bucket;
  readonly images: ImagesBinding;
  readonly jobs: Queue<MediaJob>;
  readonly access: ClientAccess;
  /** Origin of content addresses; empty: the origin of the service. */
  readonly contentUrl: string;
  readonly maxUploadBytes: number;
  /** Rows of D1 that one query over metadata may read. */
  readonly queryRowBudget: number;
  /** Where public content is copied to, if the runtime has it, and an origin that the Worker is at: part of the keys. */
  readonly edgeCache: { readonly cache: Cache; readonly origin: string } | undefined;
  /** The S3 API of the bucket, and how it is reached; undefined: uploads go through the Worker. */
  readonly s3: (S3Access & { readonly fetch: Fetch }) | undefined;
}

export interface Media {
  readonly routes: readonly Route[];
  /** May have an origin of their own. */
  readonly contentRoutes: readonly Route[];
  /** Takes the batches of the media queue and of its dead-letter queue. */
  consume(batch: MessageBatch): Promise<void>;
  /** Removes what was never committed and what was deleted, and sends lost jobs again. */
  sweep(nowMs: number): Promise<void>;
  /** What a tenant stores, private and public, of all its clients. */
  usage(tenant: string): Promise<Usage>;
  /** Committed files that a client, by its name, has (of one tenant, if given), as rows `{kind, id}`. */
  filesOfClient: UsageStore["filesOfClient"];
  filesOfTenant: UsageStore["filesOfTenant"];
  /** The operator's comparison of R2 with D1. */
  readonly consistency: Consistency;
}

export function createMedia(deps: MediaDeps): Media {
  const pinned = createPinnedUploadStore(deps.db);
  const blobs = createBlobStore(deps.bucket, deps.random);
  const links = createLinks(deps.sealer, deps.contentUrl);
  const usage = createUsageStore(deps.db);
  const filters = createFilterStore(deps.db, deps.queryRowBudget);
  const media = {
    log: deps.log,
    clock: deps.clock,
    random: deps.random,
    access: deps.access,
    files: createFileStore(deps.db),
    variants: createVariantStore(deps.db),
    bulk: createBulkVariantStore(deps.db),
    filters,
    listing: createListingStore(deps.db, filters, deps.queryRowBudget),
    erasures: createErasureStore(deps.db),
    removed: createRemovedFileStore(deps.db),
    pinned,
    blobs,
    edge: deps.edgeCache === undefined ? noEdgeCache : createEdgeCache({ ...deps, ...deps.edgeCache }),
    links,
    uploads: createUploads(deps, { pinned, blobs, links }),
    pending: createPendingStore(deps.db),
    queue: createJobQueue(deps.jobs),
    transformer: createTransformer(deps.images),
    maxUploadBytes: deps.maxUploadBytes,
  };
  const consistency = createConsistency({
    ...media,
    expected: createExpectedStore(deps.db),
    runs: createRunStore(deps.db),
    audit: deps.audit,
    limits: LIMITS.consistency,
  });
  const steps = { erase: (id: string, nowMs: number) => eraseStep(media, id, nowMs), compare: consistency.step };
  return {
    routes: [
      ...(["private", "public"] as const).flatMap((visibility) => [
        createFile(media, visibility),
        listFiles(media, visibility),
        commitFile(media, visibility),
        deleteFile(media, visibility),
        deleteFiles(media, visibility),
        readMetadata(media, visibility),
        replaceMetadata(media, visibility),
        listVariants(media, visibility),
        createVariants(media, visibility),
        deleteVariants(media, visibility),
        createBulkVariants(media, visibility),
        deleteBulkVariants(media, visibility),
      ]),
      fetchPrivateFile(media),
      fetchPublicFile(media),
      uploadFile(media),
      ...erasureRoutes(media),
    ],
    contentRoutes: contentRoutes(media),
    consume: (batch) => consumeJobs(media, steps, batch),
    sweep: (nowMs) => sweepMedia(media, consistency, nowMs),
    usage: usage.usageOf,
    filesOfClient: usage.filesOfClient,
    filesOfTenant: usage.filesOfTenant,
    consistency,
  };
}

/** The way of uploads that the deployment has credentials for. */
function createUploads(
  { s3, clock, maxUploadBytes: maxBytes }: MediaDeps,
  { pinned, blobs, links }: { readonly pinned: PinnedUploadStore; readonly blobs: BlobStore; readonly links: Links },
): Uploads {
  const before = createWorkerUploads(links, blobs);
  if (s3 === undefined) return before;
  return createR2Uploads({ s3: createS3(s3, s3.fetch), blobs, pinned, clock, maxBytes, before });
}
