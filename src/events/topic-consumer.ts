import type { NotLocked } from "./lock.ts";
import type { TopicAddress } from "./topic.ts";
import type { Gone } from "./topic-log.ts";

export interface ReadRequest {
  readonly topic: TopicAddress;
  readonly clientId: string;
  readonly numEvents: number;
  readonly ttlMs: number;
  readonly autoCommit: boolean;
}

export type ConsumerReadOutcome =
  | {
      readonly kind: "batch";
      /** Event objects as JSON, comma-separated. */
      readonly events: string;
      /** None when the batch is committed already. */
      readonly token: string | undefined;
      /** How often the first event was handed out, this time included. */
      readonly attempt: number;
      /** Events that retention removed before this client got them. */
      readonly lost: number;
    }
  /** `more`: a shard could not be looked at, so there may be events. */
  | { readonly kind: "empty"; readonly more: boolean }
  | { readonly kind: "locked"; readonly retryAfterMs: number }
  | Gone;

export type LockOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "not_locked"; readonly why: NotLocked }
  | { readonly kind: "not_in_batch" };

export type SeekOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "locked"; readonly retryAfterMs: number }
  /** A log did not answer; the cursor is where it was. */
  | { readonly kind: "failed" }
  | Gone;
