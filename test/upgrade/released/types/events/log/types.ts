import type { Segment } from "./segments.ts";
export type Place = "oldest" | "newest" | number;
export interface Once {
    readonly key: string;
    readonly digest: string;
    readonly expiresAtMs: number | undefined;
}
export interface Retention {
    readonly ageMs: number;
    readonly maxBytes: number;
}
export interface Gone {
    readonly kind: "gone";
}
export type PublishOutcome = {
    readonly kind: "stored";
    readonly ids: readonly string[];
    readonly keyExpiresAtMs: number | undefined;
} | {
    readonly kind: "key_used";
} | {
    readonly kind: "full";
} | Gone;
export type ReadOutcome = {
    readonly kind: "segments";
    readonly segments: readonly Segment[];
    readonly endSeq: number;
    readonly atEnd: boolean;
    readonly isCut?: boolean;
} | Gone;
export type PeekFrom = {
    readonly afterSeq: number;
} | {
    readonly fromMs: number;
};
export type PeekOutcome = (Extract<ReadOutcome, {
    kind: "segments";
}> & {
    readonly afterSeq: number;
}) | Gone;
export interface LogStats {
    readonly kind: "stats";
    readonly firstSeq: number;
    readonly lastSeq: number;
    readonly oldestAtMs?: number;
    readonly newestAtMs?: number;
}
