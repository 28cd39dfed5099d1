import type { Gone } from "../log/types.ts";
import type { NotLocked } from "../model/failure.ts";
import type { TopicAddress } from "../model/topic.ts";

export interface ReadRequest {
  readonly topic: TopicAddress;
  /** This consumer's name, by which the topic knows it. */
  readonly consumer: string;
  /** The one whose events it reads; all where undefined. The same in every read of a consumer. */
  readonly onlyTenant?: string | undefined;
  readonly numEvents: number;
  readonly ttlMs: number;
  readonly autoCommit: boolean;
  /** The `Idempotency-Key`: while the lock of its batch lives, the same read under the same key gets that batch again. */
  readonly key?: string | undefined;
}

export type ConsumerReadOutcome =
  | {
      readonly kind: "batch";
      /** Event objects as JSON, comma-separated. */
      readonly events: string;
      /** None when the batch is committed already. */
      readonly token: string | undefined;
      /** How often the first event was handed out, this time included; a repeat under a key is the same time. */
      readonly attempt: number;
      /** Events that retention removed before this client got them. */
      readonly lost: number;
    }
  /** `more`: a shard could not be looked at, or not to its end, so there may be events. `lost`: as above; counted again until a batch passes them. */
  | { readonly kind: "empty"; readonly more: boolean; readonly lost: number }
  | { readonly kind: "locked"; readonly retryAfterMs: number }
  /** The key holds the batch of another read. */
  | { readonly kind: "key_used" }
  /** A log did not answer, to a repeat, or again and again; nothing changed. */
  | Failed
  | Gone;

export type LockOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "not_locked"; readonly why: NotLocked }
  /** The client never read here: no token is known. */
  | { readonly kind: "never_read" }
  | { readonly kind: "not_in_batch" };

export type SeekOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "locked"; readonly retryAfterMs: number }
  | Failed
  | Gone;

/** A log did not answer; nothing changed. */
interface Failed {
  readonly kind: "failed";
}
