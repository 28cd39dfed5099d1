export interface TopicId {
    readonly owner: string;
    readonly eventType: string;
}
export interface TopicAddress extends TopicId {
    readonly incarnation: string;
    readonly shards: number;
}
