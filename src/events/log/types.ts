import type { Segment } from "./segments.ts";

/** A number is a time in milliseconds. */
export type Place = "oldest" | "newest" | number;

/** An `Idempotency-Key` and what it was sent with. */
export interface Once {
  readonly key: string;
  readonly digest: string;
  /** What the home shard of the key said; undefined in the call to the home shard, which decides. */
  readonly expiresAtMs: number | undefined;
}

/** How much a log keeps: the deployment's variables. */
export interface Retention {
  readonly ageMs: number;
  /** Of the log's whole storage. */
  readonly maxBytes: number;
}

export interface Gone {
  readonly kind: "gone";
}

export type PublishOutcome =
  | {
      readonly kind: "stored";
      readonly ids: readonly string[];
      /** When the key of the request is forgotten; undefined when it has none. */
      readonly keyExpiresAtMs: number | undefined;
    }
  /** The key came before with another request. */
  | { readonly kind: "key_used" }
  /** The log is close to what an object can hold; there will be room again in a moment. */
  | { readonly kind: "full" }
  | Gone;

export type ReadOutcome =
  | {
      readonly kind: "segments";
      readonly segments: readonly Segment[];
      /** Up to which position this saw the log: behind the last segment where retention removed what followed it. */
      readonly endSeq: number;
      readonly atEnd: boolean;
      /** It ended since it passed over so much of other tenants. */
      readonly isCut?: boolean;
    }
  | Gone;

/** Where a look begins: behind a position, or with the first event of a time or later. */
export type LookFrom = { readonly afterSeq: number } | { readonly fromMs: number };

export type LookOutcome = (Extract<ReadOutcome, { kind: "segments" }> & { readonly afterSeq: number }) | Gone;

export interface LogStats {
  readonly kind: "stats";
  /** Position of the oldest stored event, `lastSeq + 1` when none is stored. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly oldestAtMs?: number;
  readonly newestAtMs?: number;
}
