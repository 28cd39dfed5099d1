import type { AuditTrail } from "../platform/audit.ts";
import type { MediaContext } from "./context.ts";
import type { LIMITS } from "./limits.ts";
import type { ClaimStore } from "./store/claims.ts";
import type { ConsistencyStore } from "./store/consistency.ts";

/** What a run of the consistency report works with. */
export interface ConsistencyContext extends Pick<MediaContext, "log" | "random" | "blobs" | "queue"> {
  readonly claims: ClaimStore;
  readonly runs: ConsistencyStore;
  readonly audit: AuditTrail;
  readonly limits: ConsistencyLimits;
}

export type ConsistencyLimits = { readonly [name in keyof typeof LIMITS.consistency]: number };
