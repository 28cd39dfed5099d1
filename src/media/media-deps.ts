import type { ClientAccess } from "../http/callers/auth.ts";
import type { AuditTrail } from "../platform/ports/audit.ts";
import type { Clock } from "../platform/runtime/clock.ts";
import type { Log } from "../platform/runtime/log.ts";
import type { Meter } from "../platform/ports/metrics.ts";
import type { Names } from "../platform/model/names.ts";
import type { Random } from "../platform/runtime/random.ts";
import type { Sealer } from "../platform/secrets/seal.ts";
import type { Placement, Shards } from "../platform/storage/shards.ts";
import type { OfShards, TenantObjects } from "../platform/storage/tenant-objects.ts";
import type { Tracing } from "../platform/ports/tracing.ts";
import type { BlobStore } from "./blobs/blob-store.ts";
import type { Fetch, S3Access } from "./blobs/s3.ts";
import type { EdgeCache } from "./content/edge-cache.ts";
import type { Links } from "./files/links.ts";
import type { ImageTransformers } from "./model/image-transformer.ts";
import type { MediaJob } from "./model/job.ts";
import type { ClientObjectTable } from "./shards/client-objects.ts";
import type { ObjectReports } from "./shards/object-reports.ts";
import type { DirectoryOwners } from "./shards/owner-changes.ts";
import type { DispatchDeps } from "./shards/dispatch.ts";
import type { Patience } from "./variants/patience.ts";

export interface MediaDeps {
  readonly names: Names;
  readonly log: Log;
  readonly meter: Meter;
  readonly tracing: Tracing;
  readonly clock: Clock;
  readonly random: Random;
  readonly sealer: Sealer;
  readonly audit: AuditTrail;
  /** Repairs delete no object that was written at this time or later; undefined: they delete any. */
  readonly heldFrom: () => Promise<number | undefined>;
  /** When the database was restored last; undefined: it never was. */
  readonly lastRestoreAt: () => Promise<number | undefined>;
  readonly shards: Shards;
  /** Undefined: the platform has no tenant objects. */
  readonly objects: TenantObjects | undefined;
  readonly objectReports: ObjectReports;
  readonly placement: Placement;
  /** Clients and tenants in the directory. */
  readonly owners: DirectoryOwners & ClientObjectTable;
  readonly bucket: R2Bucket;
  readonly images: ImagesBinding;
  readonly jobs: Queue<MediaJob>;
  readonly access: ClientAccess;
  /** Origin of content addresses; empty: the origin of the service. */
  readonly contentUrl: string;
  readonly maxUploadBytes: number;
  /** The number of D1 rows that one query over metadata may read. */
  readonly queryRowBudget: number;
  /** The cache for public content, and the origin in its keys; undefined: the runtime has no cache. */
  readonly edgeCache: { readonly cache: Cache; readonly origin: string } | undefined;
  /** Access to the bucket's S3 API; undefined: uploads go through the Worker. */
  readonly s3: (S3Access & { readonly fetch: Fetch }) | undefined;
}

/** Dependencies that all shards share: the bucket, the edge cache, the queue and everything without state. */
export interface SharedDeps extends Omit<MediaDeps, "images" | "bucket"> {
  readonly blobs: BlobStore;
  readonly links: Links;
  readonly edge: EdgeCache;
  readonly transformer: ImageTransformers;
  readonly patience: Patience;
  readonly where: DispatchDeps;
  readonly dbs: OfShards<D1Database>;
}
