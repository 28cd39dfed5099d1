/**
 * Media service: files, their variants, search and deletion.
 *
 * States of a file, in its row:
 *
 *   create → pending ── commit ──→ committed ── delete ──→ removed → (no row)
 *              └────── delete, or a day without commit ──────↑ (bytes deleted → proven gone)
 *
 * - A pending file belongs to its client, not yet to a tenant. If the client is deleted or moved, a trigger removes the
 *   owner row, and the sweep deletes the file within a day.
 * - Bytes arrive by `PUT` to the signed link. They go to R2 on condition that the key is free; the row does not change
 *   (uploads/worker.ts). With S3 credentials the link is presigned: bytes go to a key of their own, and the commit
 *   copies them (uploads/presigned-upload.ts).
 * - Commit, delete and sweep each change the row in one write on condition of its state, so exactly one of them wins.
 *   The commit pins ETag and size; no link can overwrite the bytes then.
 * - A consistency run by the operator removes committed files whose bytes are missing (consistency/run.ts).
 * - A removed file is unreadable at once. So are all files of a retired owner, which become removed page by page. The
 *   request, the queue or the sweep then deletes the bytes and sets `purged_at` (erasure/erase.ts). The row is deleted
 *   a day after creation and an hour after removal, when nobody can write bytes any more and a look has found none.
 * - Each deletion has a report, written with it, that counts its files through these steps (erasure/reports.ts).
 *
 * States of a variant, one row for each rendition, named by a nonce; bulk operations use the same:
 *
 *   create with clip/crop → declared ── commit of the file ──→ pending ──→ ready
 *   POST variants → pending                                       └─────→ failed (with a reason)
 *   any of them ── delete ──→ removed → (no row)
 *   failed ── POST variants for it ──→ removed, and a new rendition of the same is pending
 *   any of them ── the bytes of its removed file are deleted ──→ (no row)
 *   ready without bytes ── repair by the operator ──→ pending, under a new nonce (consistency/run.ts)
 *
 * - The row is written before its message is sent. The sweep sends lost messages again; a repeated message finds
 *   nothing to do. Only the consumer writes `ready` and `failed`, both from `pending`, and `ready` only while the file
 *   is committed; otherwise it deletes the bytes that it wrote (variants/make.ts).
 *
 * The metadata index has no state of its own: `file.attributes` says which rows of `attribute` a file has, and the
 * batch that writes one writes the other (metadata/index-sql.ts). Listings and deletions by query read it
 * (search/filter-store.ts, search/listing-store.ts).
 *
 * `due_at` is the time at which the sweep looks at a row. A committed file has one only after an upload by a presigned
 * link: until the link ends, it can still bring bytes to `incoming/`.
 */
import type { ClientAccess } from "../http/callers/auth.ts";
import type { Route } from "../http/route.ts";
import type { AuditTrail } from "../platform/ports/audit.ts";
import type { Clock } from "../platform/runtime/clock.ts";
import type { Log } from "../platform/runtime/log.ts";
import type { Meter, WaitUntil } from "../platform/ports/metrics.ts";
import type { Tracing } from "../platform/ports/tracing.ts";
import type { Names } from "../platform/model/names.ts";
import type { Random } from "../platform/runtime/random.ts";
import type { Sealer } from "../platform/secrets/seal.ts";
import { createBlobStore, type BlobStore } from "./blobs/blob-store.ts";
import { createS3, type Fetch, type S3Access } from "./blobs/s3.ts";
import { createExpectedStore } from "./consistency/expected-store.ts";
import { createRunStore } from "./consistency/run-store.ts";
import { createConsistency, type Consistency } from "./consistency/run.ts";
import { createEdgeCache, noEdgeCache } from "./content/edge-cache.ts";
import { contentRoutes } from "./content/routes.ts";
import { deleteFile, deleteFiles } from "./erasure/delete.ts";
import { createDeadWorkStore } from "./dead/dead-work-store.ts";
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
import { createBacklogStore, type BacklogStore } from "./backlog-store.ts";
import { createUsageStore, type Usage, type UsageStore } from "./files/usage-store.ts";
import { createTransformer } from "./images/transformer.ts";
import { createJobQueue, type MediaJob } from "./model/job.ts";
import { createReindexStore } from "./metadata/reindex-store.ts";
import { operatedFiles, type OperatedFiles } from "./operated/operated-files.ts";
import { createOperatedStore } from "./operated/operated-store.ts";
import { LIMITS } from "./model/limits.ts";
import type { Uploads } from "./model/uploads.ts";
import { createFilterStore } from "./search/filter-store.ts";
import { listFiles } from "./search/list.ts";
import { createListingStore } from "./search/listing-store.ts";
import { sweepMedia, sweepOrErase } from "./sweep.ts";
import { createPinnedUploadStore, type PinnedUploadStore } from "./uploads/pinned-upload-store.ts";
import { createPresignedUploads } from "./uploads/presigned-upload.ts";
import { createStoreAtOnce } from "./uploads/store-at-once.ts";
import { uploadFile, createWorkerUploads } from "./uploads/worker.ts";
import { createBulkVariantStore } from "./variants/bulk-store.ts";
import { createBulkVariants, deleteBulkVariants } from "./variants/bulk.ts";
import { consumeJobs } from "./variants/consumer.ts";
import { createVariantStore } from "./variants/variant-store.ts";
import { createVariants, deleteVariants, listVariants } from "./variants/variants.ts";

export interface MediaDeps {
  readonly names: Names;
  readonly log: Log;
  readonly meter: Meter;
  readonly tracing: Tracing;
  readonly clock: Clock;
  readonly random: Random;
  readonly sealer: Sealer;
  readonly audit: AuditTrail;
  /** The time from which on repairs delete no object; undefined: they delete any. */
  readonly heldFrom: () => Promise<number | undefined>;
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
  /** The cache for public content, and the origin in its keys; undefined: the runtime has no cache. */
  readonly edgeCache: { readonly cache: Cache; readonly origin: string } | undefined;
  /** Access to the bucket's S3 API; undefined: uploads go through the Worker. */
  readonly s3: (S3Access & { readonly fetch: Fetch }) | undefined;
}

export interface Media {
  readonly routes: readonly Route[];
  /** Content may have an origin of its own. */
  readonly contentRoutes: readonly Route[];
  /** Consumes batches of the media queue and of its dead-letter queue. */
  consume(batch: MessageBatch, waitUntil: WaitUntil): Promise<void>;
  /** Deletes expired and removed files, and sends lost jobs again. */
  sweep(nowMs: number): Promise<void>;
  /** Files and bytes that a tenant stores, private and public, of all its clients. */
  usage(tenant: string): Promise<Usage>;
  /** Files and bytes of each tenant whose name lies between the two. */
  storedByTenant: UsageStore["byTenant"];
  nearQuota: UsageStore["nearQuota"];
  /** Rows `{kind, id}` for the committed files of a client, by its name, in one tenant if given. */
  filesOfClient: UsageStore["filesOfClient"];
  filesOfTenant: UsageStore["filesOfTenant"];
  /** Work that is due and not done, for the check of the platform's health. */
  readonly backlog: BacklogStore;
  /** Compares R2 with D1 for the operator. */
  readonly consistency: Consistency;
  /** Files of all clients, for the operator service. */
  readonly operatedFiles: OperatedFiles;
  /** Makes the index of their metadata anew. */
  reindexFiles(ids: readonly string[]): Promise<void>;
}

export function createMedia(deps: MediaDeps): Media {
  const pinned = createPinnedUploadStore(deps.db);
  const blobs = createBlobStore(deps.bucket);
  const links = createLinks(deps.sealer, deps.contentUrl);
  const usage = createUsageStore(deps.db);
  const filters = createFilterStore(deps.db, deps.queryRowBudget);
  const media = {
    names: deps.names,
    log: deps.log,
    meter: deps.meter,
    tracing: deps.tracing,
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
    queue: createJobQueue(deps.jobs, deps.tracing),
    deadWork: createDeadWorkStore(deps.db),
    transformer: createTransformer(deps.images),
    maxUploadBytes: deps.maxUploadBytes,
  };
  const consistency = createConsistency({
    ...media,
    expected: createExpectedStore(deps.db),
    runs: createRunStore(deps.db),
    audit: deps.audit,
    heldFrom: deps.heldFrom,
    limits: LIMITS.consistency,
  });
  const steps = { erase: (id: string, nowMs: number) => sweepOrErase(media, id, nowMs), compare: consistency.step };
  const routes = [
    ...(["private", "public"] as const).flatMap((visibility) => [
      createFile(media, createStoreAtOnce(media), visibility),
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
  ];
  return {
    routes,
    contentRoutes: contentRoutes(media),
    consume: (batch, waitUntil) => consumeJobs(media, steps, batch, waitUntil),
    sweep: (nowMs) => sweepMedia(media, consistency, nowMs),
    usage: usage.usageOf,
    storedByTenant: usage.byTenant,
    nearQuota: usage.nearQuota,
    filesOfClient: usage.filesOfClient,
    filesOfTenant: usage.filesOfTenant,
    backlog: createBacklogStore(deps.db),
    consistency,
    operatedFiles: operatedFiles({ ...media, operated: createOperatedStore(deps.db) }, routes),
    reindexFiles: createReindexStore(deps.db),
  };
}

/** Uploads by presigned links if the deployment has S3 credentials, else through the Worker. */
function createUploads(
  { s3, clock, maxUploadBytes: maxBytes }: MediaDeps,
  { pinned, blobs, links }: { readonly pinned: PinnedUploadStore; readonly blobs: BlobStore; readonly links: Links },
): Uploads {
  const fallback = createWorkerUploads(links, blobs);
  if (s3 === undefined) return fallback;
  return createPresignedUploads({ s3: createS3(s3, s3.fetch), blobs, pinned, clock, maxBytes, fallback });
}
