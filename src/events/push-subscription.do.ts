import { DurableObject } from "cloudflare:workers";
import type {
  DeliveryPage,
  DeliveryState,
  OpenOutcome,
  PushOpening,
  PushPorts,
  PushStatus,
  RedeliverOutcome,
  TestOutcome,
  WakeOutcome,
} from "./push-subscription.ts";
import type { TopicLog } from "./topic-log.do.ts";

export interface PushEnv {
  readonly TOPIC_LOG: DurableObjectNamespace<TopicLog>;
}

/** The delivery of one push subscription. */
export class PushSubscriptionObject extends DurableObject<PushEnv> {
  readonly ports: PushPorts;

  constructor(context: DurableObjectState, env: PushEnv, ports: PushPorts) {
    super(context, env);
    this.ports = ports;
  }

  /** Registers at the topic's logs and starts at the newest event. To be called before the record is inserted. */
  async open(_opening: PushOpening): Promise<OpenOutcome> {
    throw new Error("not yet");
  }

  /** There are new events. Returns as soon as it is certain that they will be looked for. */
  async wake(): Promise<WakeOutcome> {
    throw new Error("not yet");
  }

  /** The record changed, or went. */
  async changed(): Promise<void> {
    throw new Error("not yet");
  }

  async status(): Promise<PushStatus> {
    throw new Error("not yet");
  }

  async deliveries(
    _state: DeliveryState | undefined,
    _after: number | undefined,
    _skip: number,
    _limit: number,
  ): Promise<DeliveryPage> {
    throw new Error("not yet");
  }

  async redeliver(_eventId: string): Promise<RedeliverOutcome> {
    throw new Error("not yet");
  }

  async test(): Promise<TestOutcome> {
    throw new Error("not yet");
  }

  /** Forgets everything: the topic is being deleted, or the subscription was. */
  async destroy(): Promise<void> {
    throw new Error("not yet");
  }
}
