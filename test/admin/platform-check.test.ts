import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { createTopicStore } from "../../src/events/access/topic-store.ts";
import { consumerOf } from "../../src/events/consume/stub.ts";
import { logOf } from "../../src/events/log/client.ts";
import type { TopicLog } from "../../src/events/log/topic-log.do.ts";
import { PushSubscriptionObject } from "../../src/events/push/push-subscription.do.ts";
import { nameOf, pushObjectName, type Topic } from "../../src/events/model/topic.ts";
import { pushOf } from "../../src/events/push/stub.ts";
import { createDeps } from "../../src/deps.ts";
import { systemRandom } from "../../src/platform/runtime/random.ts";
import { createRestore } from "../../src/restore/service.ts";
import { makeTopic } from "../fuzz/belongings.ts";
import { makePerson, tokenOf } from "../support/parties/operators.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { operate, OPERATOR } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { answerAt, requestsTo } from "../support/outside.ts";
import { everywhere } from "../support/shards.ts";

const NEEDED = {
  restoreShard: async () => undefined,
  copyTenants: async () => {},
  db: env.DB,
  bucket: env.MEDIA,
  random: systemRandom,
  isMaintained: true,
  erase: async () => "other" as const,
};

/** The operator finds objects that were lost or restored to an earlier time, and opens them again. */

async function check(): Promise<any[]> {
  const findings: any[] = [];
  for (let after = ""; ;) {
    const page = await expectJson(await operate(`platform-check${after}`), 200);
    findings.push(...page.findings);
    if (page.next === null) return findings;
    after = `?after=${page.next}`;
  }
}

describe("The check of the platform", () => {
  let client: TestClient;
  let token: string;
  beforeAll(async () => {
    client = await makeClient();
    token = await tokenFor(client);
  });

  async function newTopic(): Promise<{ path: string; topic: Topic; log: DurableObjectStub<TopicLog> }> {
    const { owner, eventType, path } = await makeTopic(token);
    const topic = (await createTopicStore(env.DB).find({ owner, eventType }))!;
    return { path, topic, log: logOf(env.TOPIC_LOG, topic, 0) };
  }
  const send = (path: string, json: unknown) => call(path, { token, json });

  async function subscribe({ path, topic }: { path: string; topic: Topic }) {
    const endpoint = `https://${unique("push")}.example/x`;
    await answerAt(endpoint, {});
    const pushConfig = { endpoint, basicAuth: { username: "u", password: "p" } };
    await expectJson(await send(`${path}/subscriptions`, { name: "orders", pushConfig }), 201);
    const rows = everywhere.prepare("SELECT id FROM push_subscription WHERE incarnation = ?").bind(topic.incarnation);
    const [{ id }] = (await rows.all<{ id: string }>()).results as [{ id: string }];
    return { id, endpoint, object: () => pushOf(env.PUSH_SUBSCRIPTION, topic, id) };
  }
  const pushedTo = async (endpoint: string) => (await requestsTo(endpoint)).map(({ body }) => JSON.parse(body).id);

  // shows: operator/restore/check
  it("finds logs that are lost, cursors beyond them, pushes without an object, says what to type, and it helps", async () => {
    expect((await check()).filter(({ topic }) => topic.startsWith(client.clientId))).toEqual([]);
    const [lost, back, pushed] = [await newTopic(), await newTopic(), await newTopic()];
    await lost.log.destroy();
    await send(`${back.path}/publish`, [{ payload: "1" }, { payload: "2" }]);
    await send(`${back.path}/publish`, { payload: "3" });
    await send(`${back.path}/read`, { numEvents: 3, autoCommit: true });
    await runInDurableObject(
      back.log,
      (_: TopicLog, { storage }) => void storage.sql.exec(`DELETE FROM segment WHERE first_seq = 3`),
    );
    await evictDurableObject(back.log);
    const { id, object: objectOf } = await subscribe(pushed);
    const object = objectOf();
    await object.destroy();
    await evictDurableObject(object);

    const own = (await check()).filter(({ topic }) => topic.startsWith(client.clientId));
    expect(own.toSorted((a, b) => a.kind.localeCompare(b.kind))).toEqual([
      {
        kind: "cursor_beyond_log",
        topic: nameOf(back.topic),
        shard: 0,
        subject: client.clientId,
        position: 3,
        end: 2,
        next: `platform reopen-topic ${nameOf(back.topic)}, before anybody publishes`,
      },
      {
        kind: "push_without_object",
        topic: nameOf(pushed.topic),
        shard: null,
        subject: id,
        position: null,
        end: null,
        next: `platform reopen-push ${id}`,
      },
      {
        kind: "topic_without_log",
        topic: nameOf(lost.topic),
        shard: 0,
        subject: null,
        position: null,
        end: null,
        next: expect.stringContaining(`platform reopen-topic ${nameOf(lost.topic)}`),
      },
    ]);

    expect((await send(`${lost.path}/publish`, { payload: "1" })).status).toBe(404);
    const reopen = `platform-check/topics/${nameOf(lost.topic)}/reopen`;
    expect(await expectJson(await operate(reopen, "POST"), 200)).toEqual({ opened: [0], marked: [] });
    const person = await makePerson(["plat.admin_write"]);
    const again = await call(`/admin/v1/${reopen}`, { method: "POST", token: await tokenOf(person) });
    expect(await expectJson(again, 200)).toEqual({ opened: [], marked: [0] });
    const rows = await expectJson(await operate(`audit?subject=topics/${nameOf(lost.topic)}&pageSize=2`), 200);
    expect(rows.map(({ action, actor }: any) => [action, actor])).toEqual([
      ["reopen", `operator ${person.user.email}`],
      ["reopen", OPERATOR.clientId],
    ]);
    expect((await send(`${lost.path}/publish`, { payload: "1" })).status).toBe(201);
    expect((await operate(`platform-check/push-subscriptions/${id}/reopen`, "POST")).status).toBe(200);
    expect(await pushOf(env.PUSH_SUBSCRIPTION, pushed.topic, id).position()).toEqual([0]);
    await expectJson(await operate(`platform-check/topics/${nameOf(back.topic)}/reopen`, "POST"), 200);
    await send(`${back.path}/publish`, { payload: "4" });
    const read = await expectJson(await send(`${back.path}/read`, { numEvents: 9, autoCommit: true }), 200);
    expect(read.events.map((event: any) => event.payload)).toEqual(["4"]);
    expect(await consumerOf(env.TOPIC_CONSUMER, back.topic, client.clientId).position()).toEqual([3]);
    expect((await check()).filter(({ topic }) => topic.startsWith(client.clientId))).toEqual([]);
  });

  it("takes an object back to a time in maintenance alone, and says where there is no past", async () => {
    const { topic } = await newTopic();
    const path = `/admin/v1/platform-check/topics/${nameOf(topic)}/restore`;
    const json = { object: { kind: "log", shard: 0 }, to: { timeMs: Date.now() - 1000 } };
    const operator = await tokenFor(OPERATOR);
    const refused = await expectJson(await call(path, { token: operator, json }), 409);
    expect(refused.details[0].type).toBe("maintenance_off");
    const maintained = createRestore({ ...createDeps(env), ...NEEDED, events: createDeps(env).events.check }).routes;
    const route = maintained.find(({ operation }) => operation === "restoreObject")!;
    const answer = await route.handle({ params: { topic: nameOf(topic) }, body: json, nowMs: 1 } as never);
    // The local runtime does not support point-in-time recovery.
    expect(answer).toMatchObject({ message: expect.stringContaining("does not implement point-in-time recovery") });
  });

  it("marks a log that went back, so that its readers follow", async () => {
    const { topic, path, log } = await newTopic();
    const { id } = await subscribe({ path, topic });
    for (const payload of ["1", "2", "3"]) await send(`${path}/publish`, { payload });
    await send(`${path}/read`, { numEvents: 9, autoCommit: true });
    // The test replaces the recovery: the next session begins with the log as it was after its first event.
    await runInDurableObject(log, (_: TopicLog, { storage }) => {
      storage.getBookmarkForTime = async () => "then";
      storage.onNextSessionRestoreBookmark = async () => {
        storage.sql.exec(`DELETE FROM segment WHERE first_seq > 1`);
        storage.sql.exec(`DELETE FROM consumer`);
        storage.sql.exec(`DELETE FROM subscriber`);
        return "now";
      };
    });
    const { check: objects } = createDeps(env).events;
    const restored = await objects.restoreObject(topic, { kind: "log", shard: 0 }, { timeMs: Date.now() });
    expect(restored).toEqual({ kind: "prepared", undo: "now" });
    const again = logOf(env.TOPIC_LOG, topic, 0);
    // The deletion of the topic finds the objects of all that the log had known.
    expect(await again.consumers(9)).toEqual([client.clientId]);
    expect(await again.subscribers(9)).toEqual([pushObjectName(topic, id)]);
    expect(await again.stats()).toMatchObject({ firstSeq: 1, lastSeq: 1 });
    for (const payload of ["4", "5", "6", "7"]) await send(`${path}/publish`, { payload });
    const read = await expectJson(await send(`${path}/read`, { numEvents: 9, autoCommit: true }), 200);
    expect(read.events.map((event: any) => event.payload)).toEqual(["4", "5", "6", "7"]);
    expect(await objects.restoreObject(topic, { kind: "log", shard: 9 }, { timeMs: 1 })).toBeUndefined();
  });

  it("tells the push subscriptions of a topic whose log was lost", async () => {
    const { topic, path, log } = await newTopic();
    const { endpoint, object } = await subscribe({ path, topic });
    const before = await expectJson(await send(`${path}/publish`, { payload: "0" }), 201);
    await expect.poll(() => pushedTo(endpoint), { timeout: 5_000 }).toEqual(before.ids);
    await log.destroy();
    await evictDurableObject(log);
    await expectJson(await operate(`platform-check/topics/${nameOf(topic)}/reopen`, "POST"), 200);
    // The check finds it beyond its log no more, although nothing was published.
    await expect.poll(() => object().position(), { timeout: 5_000 }).toEqual([0]);
    const { ids } = await expectJson(await send(`${path}/publish`, { payload: "1" }), 201);
    await expect.poll(() => pushedTo(endpoint), { timeout: 5_000 }).toEqual(ids);
  });

  it("repeats that to one that does not answer", async () => {
    const { topic, path, log } = await newTopic();
    const { id } = await subscribe({ path, topic });
    const wake = vi.spyOn(PushSubscriptionObject.prototype, "wake").mockImplementation(() => {
      throw new Error("away");
    });
    await log.destroy();
    await evictDurableObject(log);
    await expectJson(await operate(`platform-check/topics/${nameOf(topic)}/reopen`, "POST"), 200);
    await expect.poll(() => wake.mock.calls.length).toBe(1);
    wake.mockRestore();
    // Its log knows it again, and wakes it after a pause.
    expect(await log.subscribers(9)).toEqual([pushObjectName(topic, id)]);
  });

  it("lets a push subscription that went back push again at once", async () => {
    const { topic, path } = await newTopic();
    const { endpoint, object, id } = await subscribe({ path, topic });
    const { ids } = await expectJson(await send(`${path}/publish`, { payload: "1" }), 201);
    await expect.poll(() => pushedTo(endpoint), { timeout: 5_000 }).toEqual(ids);
    await runInDurableObject(object(), (_: PushSubscriptionObject, { storage }) => {
      storage.getBookmarkForTime = async () => "then";
      storage.onNextSessionRestoreBookmark = async () => {
        storage.sql.exec(`UPDATE subscription SET cursor = '[0]'`);
        storage.sql.exec(`DROP TABLE IF EXISTS delivered`);
        return "now";
      };
    });
    const { check: objects } = createDeps(env).events;
    const restored = await objects.restoreObject(topic, { kind: "push", id }, { timeMs: Date.now() });
    expect(restored).toEqual({ kind: "prepared", undo: "now" });
    await expect.poll(() => pushedTo(endpoint), { timeout: 5_000 }).toEqual(ids);
    const { topic: other } = await newTopic();
    expect(await objects.restoreObject(other, { kind: "push", id }, { timeMs: 1 })).toBeUndefined();
  });

  it("goes through more consumers than one answer is about", async () => {
    const { topic, log } = await newTopic();
    await runInDurableObject(log, (object: TopicLog) => {
      for (let n = 0; n < 120; n++) object.addConsumer(`reader${String(n).padStart(3, "0")}`);
    });
    let consumers = 0;
    let answers = 0;
    for (let after = ""; ; answers++) {
      const page = await expectJson(await operate(`platform-check${after}`), 200);
      consumers += page.checked.consumers;
      if (page.next === null) break;
      after = `?after=${page.next}`;
    }
    expect(consumers).toBeGreaterThanOrEqual(120);
    expect(answers).toBeGreaterThan(1);
    expect(nameOf(topic)).toContain(client.clientId);
  });

  it("refuses what is no place, and topics and subscriptions that do not exist", async () => {
    expect((await operate("platform-check?after=xyz")).status).toBe(400);
    expect((await operate("platform-check/topics/acme.shop.nothing/reopen", "POST")).status).toBe(404);
    expect((await operate("platform-check/push-subscriptions/nothing/reopen", "POST")).status).toBe(404);
  });
});
