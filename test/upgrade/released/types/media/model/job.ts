export type MediaJob = VariantJob | LongJob;
export interface VariantJob {
    readonly fileId: string;
    readonly nonce: string;
}
export interface LongJob {
    readonly work: LongWork;
    readonly id: string;
}
export declare const LONG_WORK: readonly ["erase", "compare"];
export type LongWork = (typeof LONG_WORK)[number];
