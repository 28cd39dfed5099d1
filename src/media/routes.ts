import type { ClientAccess } from "../http/auth.ts";
import type { Route } from "../http/route.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Names } from "../platform/names.ts";
import type { Random } from "../platform/random.ts";
import type { Sealer } from "../platform/seal.ts";
import type { VariantJob } from "./variant-job.ts";

export interface MediaDeps {
  readonly names: Names;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  readonly sealer: Sealer;
  readonly db: D1Database;
  readonly bucket: R2Bucket;
  readonly images: ImagesBinding;
  readonly jobs: Queue<VariantJob>;
  readonly access: ClientAccess;
  /** Origin of content addresses; empty: the origin of the service. */
  readonly contentUrl: string;
  readonly maxUploadBytes: number;
  readonly maxQueryRows: number;
}

export interface Media {
  readonly routes: readonly Route[];
  /** Consumers by queue name, without the deployment's prefix. */
  consume(batch: MessageBatch<unknown>): Promise<void>;
  /** Removes what was never committed and what was deleted. */
  sweep(nowMs: number): Promise<void>;
}

export function createMedia(_deps: MediaDeps): Media {
  return { routes: [], consume: async () => {}, sweep: async () => {} };
}
