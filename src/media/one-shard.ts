import type { Route } from "../http/route.ts";
import { type Shard } from "../platform/storage/shards.ts";
import { OBJECT_SWEEP } from "../platform/storage/tenant-objects.ts";
import { createS3 } from "./blobs/s3.ts";
import type { Consistency } from "./consistency/run.ts";
import { contentRoutes } from "./content/routes.ts";
import { createDeadWorkStore } from "./dead/dead-work-store.ts";
import { deleteFile, deleteFiles } from "./erasure/delete.ts";
import { createErasureStore } from "./erasure/erasure-store.ts";
import { createRemovedFileStore } from "./erasure/removed-store.ts";
import { erasureRoutes } from "./erasure/reports.ts";
import { commitFile } from "./files/commit.ts";
import { createFile } from "./files/create.ts";
import { fetchPrivateFile, fetchPublicFile } from "./files/fetch.ts";
import { createFileStore } from "./files/file-store.ts";
import { readMetadata, replaceMetadata } from "./files/metadata.ts";
import { createPendingStore } from "./files/pending-store.ts";
import { createUsageStore, type Usage, type UsageStore } from "./files/usage-store.ts";
import { createLaneStore } from "./lanes/lane-store.ts";
import type { SharedDeps } from "./media-deps.ts";
import { createJobQueue, type VariantJob } from "./model/job.ts";
import type { Uploads } from "./model/uploads.ts";
import { sureBulk, sureErasures, sureFilters, sureListing, sureOperated, sureUsage } from "./moves/sure-stores.ts";
import { operatedFiles, type OperatedFiles } from "./operated/operated-files.ts";
import { createOperatedStore } from "./operated/operated-store.ts";
import { createFilterStore } from "./search/filter-store.ts";
import { listFiles } from "./search/list.ts";
import { createListingStore } from "./search/listing-store.ts";
import { createForgetMoves } from "./shards/forget-moves.ts";
import { look } from "./shards/look.ts";
import { sweepMedia, sweepOrErase } from "./sweep.ts";
import { createPinnedUploadStore, type PinnedUploadStore } from "./uploads/pinned-upload-store.ts";
import { createPresignedUploads } from "./uploads/presigned-upload.ts";
import { createStoreAtOnce } from "./uploads/store-at-once.ts";
import { createWorkerUploads, uploadFile } from "./uploads/worker.ts";
import { createBulkVariantStore } from "./variants/bulk-store.ts";
import { createBulkVariants, deleteBulkVariants } from "./variants/bulk.ts";
import { createJobDoer, type JobDoer } from "./variants/consumer.ts";
import { createVariantStore } from "./variants/variant-store.ts";
import { createVariants, deleteVariants, listVariants } from "./variants/variants.ts";

/** Work of the whole service. */
interface WholeService {
  readonly consistency: Consistency;
  /** Sweeps a tenant object. */
  sweepObject(shard: number, nowMs: number): Promise<undefined>;
}

/** The service over one database. It asks other shards only about files that moved between them. */
export interface OneShard {
  readonly routes: readonly Route[];
  readonly contentRoutes: readonly Route[];
  readonly operated: OperatedFiles;
  readonly operatedDeps: Parameters<typeof operatedFiles>[0];
  readonly doJob: JobDoer;
  sweep(nowMs: number): Promise<void>;
  /** Files, their bytes, and the size of the database. */
  report: UsageStore["report"];
  usage(tenant: string): Promise<Usage>;
  stored: UsageStore["total"];
}

/** The first shard is the directory: it also sweeps consistency runs, and its database has the time of a restore. */
export function createOneShard(
  shared: SharedDeps,
  { db, number: shard }: Shard,
  { consistency, sweepObject }: WholeService,
): OneShard {
  const { where, blobs, links, access, placement: _placement, ...rest } = shared;
  const isDirectory = shard === 0;
  const { isOne } = where;
  const moved = where.moved.at(shard);
  const pinned = createPinnedUploadStore(db);
  const usage = createUsageStore(db);
  const counts = createFilterStore(db, shared.queryRowBudget);
  const media = {
    ...rest,
    access,
    blobs,
    links,
    shard,
    files: createFileStore(db),
    variants: createVariantStore(db),
    lanes: createLaneStore(db),
    bulk: sureBulk(createBulkVariantStore(db), moved, isOne),
    filters: sureFilters(counts, moved, isOne),
    listing: sureListing(createListingStore(db, counts, shared.queryRowBudget), moved, isOne),
    erasures: sureErasures(createErasureStore(db), moved, isOne, (other) => createErasureStore(shared.dbs.at(other))),
    isElsewhere: (job: VariantJob) => isElsewhere(shared, job),
    removed: createRemovedFileStore(db, createForgetMoves({ ...where, log: shared.log, clock: shared.clock }, shard)),
    pinned,
    uploads: createUploads(shared, pinned),
    pending: createPendingStore(db),
    queue: createJobQueue(shared.jobs, shared.tracing, shard),
    deadWork: createDeadWorkStore(db),
    heldFrom: isDirectory ? async () => undefined : shared.heldFrom,
  };
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
  const operatedDeps = { ...media, operated: sureOperated(createOperatedStore(db), moved, isOne) };
  return {
    routes,
    contentRoutes: contentRoutes(media),
    operated: operatedFiles(operatedDeps, routes),
    operatedDeps,
    doJob: createJobDoer(media, {
      erase: (id, nowMs) => (id === OBJECT_SWEEP.id ? sweepObject(shard, nowMs) : sweepOrErase(media, id, nowMs)),
      compare: consistency.step,
    }),
    sweep: (nowMs) => sweepMedia(media, isDirectory ? consistency : undefined, nowMs),
    usage: sureUsage(usage, moved, isOne),
    report: usage.report,
    stored: usage.total,
  };
}

/** Uploads by presigned links if the deployment has S3 credentials, else through the Worker. */
function createUploads(
  { s3, clock, maxUploadBytes: maxBytes, links, blobs, lastRestoreAt }: SharedDeps,
  pinned: PinnedUploadStore,
): Uploads {
  const fallback = createWorkerUploads(links, blobs);
  if (s3 === undefined) return fallback;
  const client = createS3(s3, s3.fetch);
  return createPresignedUploads({ s3: client, blobs, pinned, clock, maxBytes, lastRestoreAt, fallback });
}

/** True if a shard has the rendition, and may use its bytes. It may have moved with its tenant, and more than once. */
async function isElsewhere({ where, dbs, clock }: SharedDeps, { fileId, nonce }: VariantJob): Promise<boolean> {
  if (where.isOne) return false;
  const found = await look(where, {
    fileId,
    nowMs: clock.nowMs(),
    run: (shard) => createVariantStore(dbs.at(shard)).findJob(fileId, nonce),
    isMissing: (row) => row === undefined,
  });
  return found?.state === "pending" || found?.state === "ready";
}
