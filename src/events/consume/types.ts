import type { Gone } from "../log/types.ts";
import type { NotLocked } from "../model/failure.ts";
import type { TopicAddress } from "../model/topic.ts";

export interface ReadRequest {
  readonly topic: TopicAddress;
  /** The consumer's name, under which the topic's log registers it. */
  readonly consumer: string;
  /** Show only this tenant's events; undefined shows all. The same in every read of a consumer. */
  readonly onlyTenant?: string | undefined;
  readonly numEvents: number;
  readonly ttlMs: number;
  readonly autoCommit: boolean;
  /** The `Idempotency-Key`: while its lock holds, the same read under the same key gets the same batch. */
  readonly key?: string | undefined;
  /** Maximum size of the batch in characters; the first event always fits. Default: `READ.maxAnswerChars`. */
  readonly maxChars?: number | undefined;
}

export type ConsumerReadOutcome =
  | {
      readonly kind: "batch";
      /** Event objects as JSON, comma-separated. */
      readonly events: string;
      /** Undefined if the batch is committed already. */
      readonly token: string | undefined;
      /** Number of deliveries of the first event, including this one. A repeat under a key does not count. */
      readonly attempt: number;
      /** Events that retention removed before this client got them. */
      readonly lost: number;
      /** The number of events; absent in a repeat. */
      readonly count?: number;
      /** Number of events after the cursor before this read, in all shards; undefined if a shard is not known. */
      readonly lag?: number | undefined;
    }
  /**
   * `more`: a shard failed or was not read to its end, so there may be events. `lost`: as above; the same events are
   * reported again until a batch moves the cursor past them. `upTo`: the position of each shard up to which no event
   * was found; absent from objects of release 0.1.0.
   */
  | {
      readonly kind: "empty";
      readonly more: boolean;
      readonly lost: number;
      readonly upTo?: readonly number[];
      readonly lag?: number | undefined;
    }
  | { readonly kind: "locked"; readonly retryAfterMs: number }
  /** The key belongs to the locked batch of a read with other parameters. */
  | { readonly kind: "key_used" }
  /** A log did not answer a repeat, or failed repeatedly; nothing changed. */
  | Failed
  | Gone;

export type LockOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "not_locked"; readonly why: NotLocked }
  /** The consumer has no record, so it never issued a token. */
  | { readonly kind: "never_read" }
  | { readonly kind: "not_in_batch" };

/** `kept`: a repeat of the read got the batch. */
export type GivenBack = LockOutcome | { readonly kind: "kept" };

export type SeekOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "locked"; readonly retryAfterMs: number }
  | Failed
  | Gone;

/** A log did not answer; nothing changed. */
interface Failed {
  readonly kind: "failed";
}
