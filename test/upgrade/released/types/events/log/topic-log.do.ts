import { DurableObject } from "cloudflare:workers";
import type { OwnTenant } from "./hidden-ids.ts";
import type { NewEvent } from "./segments.ts";
import type { Subscriber } from "./subscriber.ts";
import type { TenantRead } from "./tenant-segments.ts";
import type { Gone, LogStats, PeekFrom, PeekOutcome, Once, Place, PublishOutcome, ReadOutcome, Retention } from "./types.ts";
export declare class TopicLog extends DurableObject<LogEnv> {
    init(shard: number, retention: Retention): void;
    publish(events: readonly NewEvent[], once: Once | undefined, retention: Retention): PublishOutcome;
    alarm(): Promise<void>;
    read(afterSeq: number, minEvents: number, aheadChars: number, maxChars: number): ReadOutcome;
    readTenant(own: OwnTenant, asked: TenantRead): ReadOutcome;
    peek(from: PeekFrom, minEvents: number, maxChars: number): PeekOutcome;
    timeOf(seq: number, id: string): number | "unknown" | "gone";
    stats(): LogStats | Gone;
    positionBefore(place: Place): number | "gone";
    addConsumer(name: string): "added" | "gone";
    consumers(limit: number): string[];
    forgetConsumers(names: readonly string[]): void;
    addSubscriber(name: string): number | "gone";
    removeSubscribers(names: readonly string[]): void;
    subscribers(limit: number): string[];
    close(): Promise<void>;
    destroy(): Promise<void>;
}
export interface LogEnv {
    readonly PUSH_SUBSCRIPTION: DurableObjectNamespace<Subscriber>;
}
