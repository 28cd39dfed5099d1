import { DurableObject } from "cloudflare:workers";
import type { Position } from "../log/event-id.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { Place } from "../log/types.ts";
import type { TopicAddress } from "../model/topic.ts";
import type { ConsumerReadOutcome, LockOutcome, ReadRequest, SeekOutcome } from "./types.ts";
export declare class TopicConsumer extends DurableObject<ConsumerEnv> {
    read(request: ReadRequest): Promise<ConsumerReadOutcome>;
    commit(token: string): LockOutcome;
    extend(token: string, ttlMs: number): LockOutcome;
    release(token: string, through: Position | undefined): LockOutcome;
    seek(topic: TopicAddress, consumer: string, to: Place): Promise<SeekOutcome>;
    destroy(): Promise<void>;
    position(): readonly number[] | undefined;
}
interface ConsumerEnv {
    readonly TOPIC_LOG: DurableObjectNamespace<TopicLog>;
}
