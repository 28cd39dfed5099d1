import type { ClientAccess, Principal } from "../http/auth.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Random } from "../platform/random.ts";
import { err, ok, type Result } from "../platform/result.ts";
import type { BlobStore } from "./blob-store.ts";
import type { EdgeCache } from "./edge-cache.ts";
import type { MediaFailure } from "./failure.ts";
import type { ImageTransformer } from "./image-transformer.ts";
import type { JobQueue } from "./job-queue.ts";
import type { Links, Visibility } from "./links.ts";
import type { DueStore } from "./store/due.ts";
import type { ErasureStore } from "./store/erasures.ts";
import type { FileCaller, FileStore } from "./store/files.ts";
import type { IndexStore } from "./store/attributes.ts";
import type { BulkVariantStore } from "./store/bulk-variants.ts";
import type { ListingStore } from "./store/listing.ts";
import type { MatchingStore } from "./store/matching.ts";
import type { PinStore } from "./store/pins.ts";
import type { RemovedFileStore } from "./store/removed-files.ts";
import type { VariantStore } from "./store/variants.ts";
import type { WaitingStore } from "./store/waiting.ts";
import type { Uploads } from "./uploads.ts";

/** What the operations of this room work with. */
export interface MediaContext {
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  readonly access: ClientAccess;
  readonly files: FileStore;
  readonly variants: VariantStore;
  readonly bulk: BulkVariantStore;
  readonly index: IndexStore;
  readonly listing: ListingStore;
  readonly due: DueStore;
  readonly erasures: ErasureStore;
  readonly removed: RemovedFileStore;
  readonly matching: MatchingStore;
  readonly pins: PinStore;
  readonly blobs: BlobStore;
  readonly edge: EdgeCache;
  readonly links: Links;
  readonly uploads: Uploads;
  readonly waiting: WaitingStore;
  readonly queue: JobQueue;
  readonly transformer: ImageTransformer;
  readonly maxUploadBytes: number;
}

/** Who is at work on files of a tenant. The table of rights lets in tokens of a client alone, and for a tenant. */
export const callerOf = (principal: Principal, visibility: Visibility, tenant: string): FileCaller => ({
  client: principal.clientName,
  visibility,
  tenant,
  isPerson: principal.user !== "",
});

/**
 * Whether a token reaches files of a tenant (contract 4.4): its own, and, unless it names one, those for which its
 * client could be granted a token now. A subscription that was cancelled ends it.
 */
export async function reachesTenant(
  media: MediaContext,
  principal: Principal,
  tenant: string,
  nowMs: number,
): Promise<boolean> {
  if (tenant === principal.tenant) return true;
  return !principal.tenantExplicit && (await media.access.mayActFor(principal, tenant, nowMs));
}

/**
 * The caller of an operation on one file: its client's files of one tenant. Which tenant is a question only for a
 * service's client whose token names none; then the file's own row answers it.
 */
export async function fileCaller(
  media: MediaContext,
  principal: Principal,
  visibility: Visibility,
  fileId: string,
  nowMs: number,
): Promise<Result<FileCaller, MediaFailure>> {
  const own = callerOf(principal, visibility, principal.tenant);
  if (principal.tenantExplicit || !(await media.access.servesOthers(principal.clientId, nowMs))) return ok(own);
  const tenant = await media.files.tenantOf(fileId, own.client, visibility);
  if (tenant === undefined || tenant === "") return ok(own);
  return (await reachesTenant(media, principal, tenant, nowMs)) ? ok({ ...own, tenant }) : err({ kind: "no_file" });
}

/**
 * Work on one file by its caller. A commit under way gives a file its tenant, so what was not found is looked for once
 * more where the row names another tenant by then.
 */
export async function asFileCaller<T>(
  media: MediaContext,
  principal: Principal,
  visibility: Visibility,
  fileId: string,
  nowMs: number,
  work: (caller: FileCaller) => Promise<Result<T, MediaFailure>>,
): Promise<Result<T, MediaFailure>> {
  const before = await fileCaller(media, principal, visibility, fileId, nowMs);
  if (!before.ok) return before;
  const done = await work(before.value);
  if (done.ok || done.error.kind !== "no_file") return done;
  const after = await fileCaller(media, principal, visibility, fileId, nowMs);
  return after.ok && after.value.tenant !== before.value.tenant ? work(after.value) : done;
}
