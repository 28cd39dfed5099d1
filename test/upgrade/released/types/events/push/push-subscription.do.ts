import { DurableObject } from "cloudflare:workers";
import type { Subscriber, WakeOutcome } from "../log/subscriber.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { DeliveryPage, DeliveryState, OpenOutcome, PushOpening, PushStatus, RedeliverOutcome, TestOutcome } from "./types.ts";
export declare class PushSubscriptionObject extends DurableObject<PushEnv> implements Subscriber {
    open(opening: PushOpening): Promise<OpenOutcome>;
    wake(): WakeOutcome;
    changed(): void;
    alarm(): Promise<void>;
    status(): Promise<PushStatus>;
    deliveries(state: DeliveryState | undefined, after: number | undefined, skip: number, limit: number): DeliveryPage;
    redeliver(eventId: string): Promise<RedeliverOutcome>;
    sendTest(tenant: string): Promise<TestOutcome>;
    destroy(): Promise<void>;
}
export interface PushEnv {
    readonly TOPIC_LOG: DurableObjectNamespace<TopicLog>;
}
