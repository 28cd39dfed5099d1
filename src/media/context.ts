import type { ClientAccess, Principal } from "../http/auth.ts";
import type { Log } from "../platform/log.ts";
import type { Random } from "../platform/random.ts";
import { err, ok, type Result } from "../platform/result.ts";
import type { BlobStore } from "./blob-store.ts";
import type { MediaFailure } from "./failure.ts";
import type { ImageTransformer } from "./image-transformer.ts";
import type { Links, Visibility } from "./links.ts";
import type { DueStore } from "./store/due.ts";
import type { FileCaller, FileStore } from "./store/files.ts";
import type { VariantStore } from "./store/variants.ts";
import type { VariantQueue } from "./variant-queue.ts";

/** What the operations of this room work with. */
export interface MediaContext {
  readonly log: Log;
  readonly random: Random;
  readonly access: ClientAccess;
  readonly files: FileStore;
  readonly variants: VariantStore;
  readonly due: DueStore;
  readonly blobs: BlobStore;
  readonly links: Links;
  readonly queue: VariantQueue;
  readonly transformer: ImageTransformer;
  readonly maxUploadBytes: number;
}

/** Whose files a token reaches (contract 4.4): its client's and, when it names a tenant, that tenant's alone. */
export function fileCaller(principal: Principal, visibility: Visibility): Result<FileCaller, MediaFailure> {
  if (principal.clientName === "") return err({ kind: "no_client_name" });
  const tenant = principal.tenantExplicit ? principal.tenant : undefined;
  return ok({ client: principal.clientName, visibility, tenant });
}
