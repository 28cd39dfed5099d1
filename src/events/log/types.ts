import type { Reset } from "./resets.ts";
import type { Segment } from "./segments.ts";

/** A position in a log to start from. A number is a time in milliseconds. */
export type Place = "oldest" | "newest" | number;

/** An `Idempotency-Key` and the digest of its request. */
export interface Once {
  readonly key: string;
  readonly digest: string;
  /** Expiry that the key's home shard returned; undefined in the call to the home shard, which decides. */
  readonly expiresAtMs: number | undefined;
}

/** Limits of a log, from two variables of the deployment. */
export interface Retention {
  readonly ageMs: number;
  /** Applies to the log's whole storage. */
  readonly maxBytes: number;
}

export interface Gone {
  readonly kind: "gone";
}

export type PublishOutcome =
  | {
      readonly kind: "stored";
      readonly ids: readonly string[];
      /** When the request's key expires; undefined without a key. */
      readonly keyExpiresAtMs: number | undefined;
      /** The same request used the key before, so nothing was stored now. */
      readonly isRepeat?: boolean;
    }
  /** Another request used the key before. */
  | { readonly kind: "key_used" }
  /** The log is close to the size limit of an object, and is removing old events. */
  | { readonly kind: "full" }
  | Gone;

export type ReadOutcome =
  | {
      readonly kind: "segments";
      readonly segments: readonly Segment[];
      /** The position up to which the log was read, with or without events there. */
      readonly endSeq: number;
      readonly atEnd: boolean;
      /** The read stopped because it skipped too many events of other tenants. */
      readonly isCut?: boolean;
      /** The position of the log's last event, if the read stopped before it. */
      readonly lastSeq?: number;
      /** Resets of the log, if there were any (resets.ts). */
      readonly resets?: readonly Reset[] | undefined;
    }
  | Gone;

/** Start of a read without a cursor: after a position, or at the first event at or after a time. */
export type PeekFrom = { readonly afterSeq: number } | { readonly fromMs: number };

export type PeekOutcome = (Extract<ReadOutcome, { kind: "segments" }> & { readonly afterSeq: number }) | Gone;

export interface LogStats {
  readonly kind: "stats";
  /** Position of the oldest stored event; `lastSeq + 1` if none is stored. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly oldestAtMs?: number;
  readonly newestAtMs?: number;
  /** Size of its database. */
  readonly bytes?: number;
}
