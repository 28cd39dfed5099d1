export interface Segment {
    readonly firstSeq: number;
    readonly lastSeq: number;
    readonly createdAtMs: number;
    readonly events: string;
    readonly payloadBytes: string;
    readonly seqs?: readonly number[] | undefined;
}
export interface NewEvent {
    readonly text: string;
    readonly payloadBytes: number;
}
