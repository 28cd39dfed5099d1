import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { TopicDirectory } from "../../../src/events/access/topic-directory.ts";
import type { TopicStore } from "../../../src/events/access/topic-store.ts";
import { commit, extend, release } from "../../../src/events/consume/commit.ts";
import { read, type ReadAnswer } from "../../../src/events/consume/read.ts";
import { seek } from "../../../src/events/consume/seek.ts";
import { consumerOf } from "../../../src/events/consume/stub.ts";
import { TopicConsumer } from "../../../src/events/consume/topic-consumer.do.ts";
import { logOf } from "../../../src/events/log/client.ts";
import type { TopicLog } from "../../../src/events/log/topic-log.do.ts";
import type { Failure } from "../../../src/events/model/failure.ts";
import { incarnationOf } from "../../../src/events/model/place.ts";
import { nameOf, shardsOf, type Topic, type TopicId } from "../../../src/events/model/topic.ts";
import { storeEvents } from "../../../src/events/publish/publish.ts";
import { clearTopic, deleteTopic } from "../../../src/events/topics/delete.ts";
import { createTopic } from "../../../src/events/topics/topics.ts";
import type { Principal } from "../../../src/http/callers/auth.ts";
import { noMeter } from "../../../src/platform/ports/metrics.ts";
import { noTracing } from "../../../src/platform/ports/tracing.ts";
import { systemRandom, type Random } from "../../../src/platform/runtime/random.ts";
import type { Result } from "../../../src/platform/model/result.ts";
import { failing, logsWith, type Fault } from "../support/broken-log.ts";
import { someClient } from "../support/some-client.ts";
import { enlarged, reduced, type Answer, type Call } from "./consumer-model.ts";
import type { Driver } from "./schedules.ts";
import { ownIsolate } from "../../support/runtime/own-isolate.ts";

const RETENTION_MS = 3_000;

/**
 * The operations of events on the real objects, without HTTP and D1: some ten times faster. There is one reader. The
 * schedule runs inside the object of its consumer, and calls its methods directly. A new instance on the same storage
 * stands for the loss of its memory. Logs, and consumers of a topic that was created again, are called as usual.
 */
export async function onTopic(shards: number, run: (driver: Driver) => Promise<void>): Promise<void> {
  const reader = someClient();
  const store = memoryStore();
  const topic = await store.make(reader, shards);
  const stub = consumerOf(env.TOPIC_CONSUMER, topic, reader.clientId);
  const hostName = stub.name;
  await runInDurableObject(stub, async (_: TopicConsumer, state) => {
    let unreachable: readonly number[] = [];
    let delays: number[] = [];
    const logs = logsWith((_call, shard) => {
      if (unreachable.includes(shard)) return failing;
      const turns = delays.shift() ?? 0;
      return turns === 0 ? undefined : delayed(turns);
    });
    const fresh = () => new TopicConsumer(state, { ...env, TOPIC_LOG: logs });
    let host = fresh();
    const consumers = {
      getByName: (name: string) => (name === hostName ? host : env.TOPIC_CONSUMER.getByName(name)),
    } as unknown as typeof env.TOPIC_CONSUMER;
    const isolates = [0, 1].map(() => store.portsOfIsolate(consumers));
    const current = () => store.topic ?? topic;
    const consumer = () => consumerOf(env.TOPIC_CONSUMER, current(), reader.clientId);
    const isHost = () => consumer().name === hostName;
    await run({
      readers: 1,
      retentionMs: RETENTION_MS,
      call: (call, isolate) => callRoom(isolates[isolate]!, reader, topic, call),
      async evict(what) {
        if ("shard" in what)
          await evictDurableObject(logOf(env.TOPIC_LOG, current(), what.shard)).catch(() => undefined);
        else if (isHost()) host = fresh();
        else await evictDurableObject(consumer()).catch(() => undefined);
      },
      delay: (turns) => void (delays = [...turns]),
      fail: (them) => (unreachable = isHost() ? them : []),
      trim: (shard) =>
        runInDurableObject(logOf(env.TOPIC_LOG, current(), shard), async (log: TopicLog) => {
          await log.alarm();
        }),
      async delete(isolate) {
        const ports = isolates[isolate]!;
        const gone = await deleteTopic(ports, topic);
        if (!gone.ok) throw new Error(gone.error.kind);
        await clearTopic(ports, gone.value, Date.now());
      },
      async create(isolate) {
        const { eventType } = topic;
        return (await createTopic(isolates[isolate]!, reader, { eventType, shards }, Date.now())).ok;
      },
    });
  });
  // Thousands of topics would keep too many files open.
  for (const made of store.all) {
    await evictDurableObject(consumerOf(env.TOPIC_CONSUMER, made, reader.clientId)).catch(() => undefined);
    for (const shard of shardsOf(made))
      await evictDurableObject(logOf(env.TOPIC_LOG, made, shard)).catch(() => undefined);
  }
}

/** Answers some turns of the event loop later. */
const delayed =
  (turns: number): Fault =>
  async (real) => {
    const answer = await real();
    for (let turn = 0; turn < turns; turn++) await scheduler.wait(0);
    return answer;
  };

async function callRoom(
  ports: ReturnType<ReturnType<typeof memoryStore>["portsOfIsolate"]>,
  reader: Principal,
  topic: Topic,
  call: Call,
): Promise<Answer> {
  const nowMs = Date.now();
  const { owner, eventType } = topic;
  const id = { owner, eventType };
  const as = { name: reader.clientId };
  switch (call.do) {
    case "publish": {
      const events = call.events.map(({ tenant, payload }) => ({
        tenant,
        payload: enlarged(payload),
        metadata: undefined,
      }));
      const stored = await storeEvents(ports, id, events, call.key ?? null, nowMs);
      return stored.ok ? { is: "stored", ids: stored.value } : refusal(stored.error);
    }
    case "read": {
      const { numEvents, ttlMs, autoCommit, key = null } = call;
      const seen = await read(ports, id, as, { body: { numEvents, ttlMs, autoCommit }, key }, nowMs);
      return seen.ok ? readAnswer(seen.value) : refusal(seen.error);
    }
    case "commit":
      return done(await commit(ports, id, as, { token: call.token }, nowMs));
    case "extend":
      return done(await extend(ports, id, as, { token: call.token, ttlMs: call.ttlMs }, nowMs));
    case "release":
      return done(await release(ports, id, as, { token: call.token, commitThrough: call.through }, nowMs));
    case "seek":
      return done(await seek(ports, id, as, { to: call.to }, nowMs));
  }
}

function readAnswer(seen: ReadAnswer): Answer {
  if (seen.kind === "empty") return { is: "empty", more: seen.more, lost: seen.lost };
  const events = JSON.parse(`[${seen.events}]`) as { id: string; payload: string }[];
  const { token, attempt, lost } = seen;
  return {
    is: "batch",
    events: events.map(({ id, payload }) => ({ id, payload: reduced(payload) })),
    token,
    attempt,
    lost,
  };
}

const done = (outcome: Result<void, Failure>): Answer => (outcome.ok ? { is: "done" } : refusal(outcome.error));

function refusal(failure: Failure): Answer {
  switch (failure.kind) {
    case "topic_locked":
      return { is: "refused", why: `topic_locked ${Math.ceil(failure.retryAfterMs / 1000)}` };
    case "topic_not_locked":
      return { is: "refused", why: failure.why };
    default:
      return { is: "refused", why: failure.kind };
  }
}

/** Replaces D1: stores the current topic of the one name. */
function memoryStore() {
  let row: Topic | undefined;
  const all: Topic[] = [];
  const store = {
    newIncarnation: (id: TopicId, random: Random) => incarnationOf(nameOf(id), 1, random),
    find: async () => row,
    findWithRoom: async () => ({ topic: row, hasRoom: true }),
    async insert(topic: Topic) {
      all.push(topic);
      return (row ??= topic);
    },
    markDeleting: async () => (row = row === undefined ? undefined : { ...row, state: "deleting" as const }),
    remove: async () => void (row = undefined),
  } as unknown as TopicStore;
  const ports = (consumers: typeof env.TOPIC_CONSUMER) => ({
    store,
    directory: new TopicDirectory(() => store.find({ owner: "", eventType: "" }), ownIsolate),
    consumers,
    logs: env.TOPIC_LOG,
    random: systemRandom,
    retention: { ageMs: RETENTION_MS, maxBytes: 1e9 },
    meter: noMeter,
    tracing: noTracing,
    push: { store: { ofTopic: async () => [], removeOfTopic: async () => {} } as never },
    pushSubscriptions: env.PUSH_SUBSCRIPTION,
  });
  return {
    /** All topics that were ever created. */
    all,
    get topic() {
      return row;
    },
    portsOfIsolate: ports,
    async make(owner: Principal, shards: number): Promise<Topic> {
      const made = await createTopic(ports(env.TOPIC_CONSUMER), owner, { eventType: "orders", shards }, Date.now());
      if (!made.ok) throw new Error(made.error.kind);
      return made.value;
    },
  };
}
