import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { addressOf, nameOf, pushObjectName, type Topic } from "../../../../src/events/model/topic.ts";
import { changePassword, makeCredentials } from "../../../../src/events/push/record/credentials.ts";
import type { PushSubscriptionObject } from "../../../../src/events/push/push-subscription.do.ts";
import { stateBy, type PushRecord } from "../../../../src/events/push/record/record.ts";
import type { Delivery, DeliveryState, PushStatus } from "../../../../src/events/push/types.ts";
import type { Principal } from "../../../../src/http/callers/auth.ts";
import { systemRandom } from "../../../../src/platform/runtime/random.ts";
import type { OutsideAnswer, OutsideRequest } from "../../../support/runtime/outside-world.ts";
import { answerAt, heldAt, release, requestsTo } from "../../../support/outside.ts";
import { makeClient } from "../../../support/platform/clients.ts";
import { unique } from "../../../support/platform/unique.ts";
import { eventsApp, type EventsApp } from "../events-app.ts";
import { inShard } from "../in-shard.ts";
import { someClient } from "../some-client.ts";
import { makeTopic, type TestTopic } from "../test-topic.ts";
import { objectsOf } from "../topic-objects.ts";
import { pushStore } from "./push-store.ts";
import { sealer } from "../../../support/sealer.ts";

/**
 * Push subscriptions below HTTP: the real objects, logs, D1 and fetch, an endpoint that the test plays, and a clock
 * that stands still until the test moves it (push-clock.ts).
 */
let app: EventsApp | undefined;

export const pushApp = (): EventsApp => (app ??= eventsApp());

export interface TestPush {
  readonly topic: TestTopic;
  readonly record: Topic;
  readonly id: string;
  readonly stub: DurableObjectStub<PushSubscriptionObject>;
  readonly endpoint: string;
  readonly secret: string;
  readonly logs: Awaited<ReturnType<typeof objectsOf>>["logs"];
  /** The endpoint's responses from now on. */
  answer(...answers: OutsideAnswer[]): Promise<void>;
  /** Requests to the endpoint since the last call. */
  received(): Promise<OutsideRequest[]>;
  /** Rings the alarm now, whenever it is due; false when there is none. */
  run(): Promise<boolean>;
  publish(payloads: readonly string[], shard?: number): Promise<string[]>;
  /** Publishes events and lets the log tell the object. Nothing runs yet. */
  put(payloads: readonly string[], shard?: number): Promise<string[]>;
  /** Lets time pass, ringing each alarm when it is due. */
  drive(ms: number): Promise<void>;
  /** Time until the alarm in ms; undefined if none is set. */
  alarmInMs(): Promise<number | undefined>;
  deliveries(state?: DeliveryState): Promise<readonly Delivery[]>;
  delivery(eventId: string): Promise<Delivery>;
  status(): Promise<PushStatus>;
  evict(): Promise<void>;
  /** Changes the record as an update by the client does, but without telling the object. */
  change(change: Partial<Pick<PushRecord, "endpoint" | "username">> & { password?: string }): Promise<void>;
  disable(): Promise<void>;
  stored(): Promise<PushRecord | undefined>;
  held(): Promise<number>;
  release(count?: number): Promise<void>;
}

export interface PushOptions {
  readonly shards?: number;
  readonly endpoint?: string;
  readonly username?: string;
  readonly password?: string;
  /** False for an object without a record, as while its creation is under way. */
  readonly withRecord?: boolean;
  /** True if its endpoint must confirm first. */
  readonly handshake?: boolean;
  /** Another client than the topic's owner. */
  readonly client?: string;
  readonly topic?: TestTopic;
}

export async function makePush(options: PushOptions = {}): Promise<TestPush> {
  const topic =
    options.topic ?? (await makeTopic(pushApp(), { shards: options.shards ?? 1, owner: await someOwner() }));
  const { record, logs } = await objectsOf(topic);
  const id = unique("push");
  // The stub of an object that was reset is broken, so each call gets a new one.
  const object = () => env.PUSH_SUBSCRIPTION.getByName(pushObjectName(record, id));
  const opened = await object().open({ id, topic: addressOf(record) });
  if (opened.kind !== "open") throw new Error("the object did not open");
  const endpoint = options.endpoint ?? `https://${id}.test/hook`;
  const { sealed, signingSecret } = await makeCredentials(
    { sealer, random: systemRandom },
    id,
    options.password ?? "pw",
  );
  const client = options.client ?? topic.owner.clientId;
  if (options.withRecord !== false) {
    const times = { createdAtMs: Date.now(), updatedAtMs: Date.now() };
    const names = { topic: nameOf(record), incarnation: record.incarnation, client, name: id };
    const asked = { endpoint, username: options.username ?? "user", ...sealed };
    const asOwner = options.client === undefined;
    const verification = options.handshake === true ? ("pending" as const) : undefined;
    const confirmation = { state: stateBy(verification), verification };
    await pushStore.insert(
      { id, ...names, asOwner, made: undefined, ...asked, ...confirmation, version: 1, ...times },
      ROOM_FOR_ALL,
    );
  }
  const current = async (): Promise<PushRecord> => (await pushStore.findById(id))!;
  const alarmAt = () =>
    runInDurableObject(object(), (_: PushSubscriptionObject, state: DurableObjectState) => state.storage.getAlarm());
  const push: TestPush = {
    topic,
    record,
    id,
    get stub() {
      return object();
    },
    endpoint,
    secret: signingSecret,
    logs,
    answer: (...answers) => answerAt(endpoint, answers),
    received: () => requestsTo(endpoint),
    run: () => runDurableObjectAlarm(object()),
    async publish(payloads, shard) {
      const tenant = shard === undefined ? undefined : inShard(shard, record.shards, "tenant");
      if (tenant !== undefined) pushApp().actsFor.add(`${topic.owner.clientId} ${tenant}`);
      return topic.put(payloads.map((payload) => ({ payload, ...(tenant === undefined ? {} : { tenant }) })));
    },
    async put(payloads, shard) {
      const ids = await push.publish(payloads, shard);
      await object().wake();
      return ids;
    },
    async drive(ms) {
      const endMs = Date.now() + ms;
      for (let rings = 0; rings < 2000; rings++) {
        const atMs = await alarmAt();
        if (atMs === null || atMs > endMs) break;
        vi.setSystemTime(Math.max(Date.now(), atMs));
        await push.run();
      }
      vi.setSystemTime(endMs);
    },
    async alarmInMs() {
      const atMs = await alarmAt();
      return atMs === null ? undefined : atMs - Date.now();
    },
    deliveries: async (state) => (await object().deliveries(state, undefined, 0, 1000)).items,
    async delivery(eventId) {
      const found = (await push.deliveries()).find((delivery) => delivery.eventId === eventId);
      if (found === undefined) throw new Error(`there is no delivery of ${eventId}`);
      return found;
    },
    status: () => object().status(),
    // An object that does not run has nothing to lose.
    evict: () => evictDurableObject(object()).catch(() => undefined),
    async change({ password, ...changes }) {
      const before = await current();
      const credentials = await changePassword(sealer, before, password);
      const changed = { endpoint: before.endpoint, username: before.username, ...credentials, ...changes };
      if (!(await pushStore.update(id, before.version, changed, Date.now()))) throw new Error("not changed");
    },
    disable: async () => pushStore.disable(id, (await current()).version, Date.now()),
    stored: () => pushStore.findById(id),
    held: () => heldAt(endpoint),
    release: (count) => release(endpoint, count),
  };
  await push.answer({});
  return push;
}

let owner: string | undefined;

/** The owner of all topics of a file. Its rights are really checked. */
async function someOwner(): Promise<Principal> {
  owner ??= (await makeClient()).clientId;
  return someClient({ clientId: owner, clientName: owner });
}

const ROOM_FOR_ALL = { ofClient: 1000, ofTopic: 1000 };
