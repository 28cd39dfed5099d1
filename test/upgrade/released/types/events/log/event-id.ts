export interface Position {
    readonly shard: number;
    readonly seq: number;
}
