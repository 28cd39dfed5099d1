export interface TenantRead {
    readonly afterSeq: number;
    readonly throughSeq?: number;
    readonly minEvents: number;
    readonly aheadChars: number;
    readonly maxChars: number;
}
