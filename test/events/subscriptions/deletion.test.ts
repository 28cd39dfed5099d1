import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createTopicStore } from "../../../src/events/access/topic-store.ts";
import { DELETE } from "../../../src/events/model/limits.ts";
import { pushObjectName } from "../../../src/events/model/topic.ts";
import { PUSH_SQL } from "../../../src/events/push/record/record-store.ts";
import { counting } from "../../support/counting.ts";
import { isolate } from "../../support/isolate.ts";
import { call } from "../../support/platform/call.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { expectProblem } from "../support/problem.ts";
import { makeTopic } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { faultyDatabase } from "../support/faulty-database.ts";
import { playedApp, playedObjects } from "../support/push/played-objects.ts";
import { fill, objectNamesOf, recordsOf } from "../support/push/push-records.ts";
import { body } from "../support/push/subscription-body.ts";
import { subscriptionsOf, topicWithSubscriptions } from "../support/push/subscriptions-of.ts";
import { CONSUMES, registeredClient } from "../support/registered-client.ts";
import { everywhere } from "../../support/shards.ts";
import { itAtNight } from "../../support/model-runs.ts";

const objects = playedObjects();
const app = playedApp(objects);
afterEach(() => void vi.restoreAllMocks());

/** A topic with one subscription. */
async function setUp(on = app, options: { shards?: number } = {}) {
  const own = await topicWithSubscriptions(on, options);
  expect((await own.create()).status).toBe(201);
  const [object] = await objectNamesOf(own.record);
  return { ...own, object: object! };
}

describe("DELETE …/subscriptions/{name}", () => {
  // shows: events/endpoints/delete-subscriptions-name
  // shows: events/push-subscriptions/delete
  it("answers 204, clears its object, and answers 404 the second time", async () => {
    const { remove, get, list, record, object } = await setUp();
    objects.calls.length = 0;
    const response = await remove();
    expect(response.status).toBe(204);
    expect(await response.text()).toBe("");
    expect(response.headers.get("content-type")).toBeNull();
    expect(objects.calls.map(({ object: name, method }) => [name, method])).toEqual([[object, "destroy"]]);
    expect(await recordsOf(record)).toEqual([]);
    await expectProblem(await get(), 404, "element_resource_non_existing");
    await expectProblem(await remove(), 404, "element_resource_non_existing");
    expect(await (await list()).json()).toEqual([]);
  });

  // shows: events/the-same-operations-twice/events
  it("answers 204 on the deprecated base, without a Link that would mean more events", async () => {
    const { send, collection } = await setUp();
    const response = await send(`${collection.replace("/pubsub/", "/events/")}/orders`, { method: "DELETE" });
    expect(response.status).toBe(204);
    expect([response.headers.has("deprecation"), response.headers.has("link")]).toEqual([true, false]);
  });

  it("answers 204; a new subscription of the same name has its own object", async () => {
    const { remove, create, record, object } = await setUp();
    await remove();
    expect((await create()).status).toBe(201);
    const [next] = await objectNamesOf(record);
    expect(next).not.toBe(object);
    expect(objects.asked("destroy")).not.toContain(next);
  });

  it("answers 404 alike for an unknown name and another client's, which stays", async () => {
    const { topic, remove, record } = await setUp();
    const other = subscriptionsOf(app, topic, await registeredClient({ scopes: CONSUMES }));
    const answers = await Promise.all(
      [await other.remove(), await remove("nothing")].map((response) =>
        expectProblem(response, 404, "element_resource_non_existing"),
      ),
    );
    expect(answers[0]).toEqual(answers[1]);
    expect(await recordsOf(record)).toHaveLength(1);
  });

  describe("races", () => {
    it("deletes once among many; the others find nothing", async () => {
      const { remove, object } = await setUp();
      const before = objects.asked("destroy").length;
      const answers = await Promise.all(Array.from({ length: 8 }, () => remove()));
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, ...Array(7).fill(404)]);
      expect(objects.asked("destroy").slice(before)).toEqual([object]);
    });

    it("is either before or after a parallel creation of the same name, and leaves nothing half done", async () => {
      const played = playedObjects({ open: () => scheduler.wait(10).then(() => ({ kind: "open" })) });
      const own = playedApp(played);
      const topic = await makeTopic(own, { owner: await registeredClient() });
      const { record } = await objectsOf(topic);
      const { create, remove } = subscriptionsOf(own, topic);
      for (let waitMs = 0; waitMs < 30; waitMs += 3) {
        const [made, removed] = await Promise.all([create(), scheduler.wait(waitMs).then(() => remove())]);
        expect(made.status).toBe(201);
        expect((await recordsOf(record)).length).toBe(removed.status === 204 ? 0 : 1);
        if (removed.status !== 204) expect((await remove()).status).toBe(204);
      }
      expect(played.asked("destroy")).toEqual(played.asked("open"));
    });

    it("keeps one that was deleted and created again after it was found", async () => {
      let between = async (): Promise<unknown> => undefined;
      const slow = playedApp(objects, { DB: faultyDatabase(PUSH_SQL.remove, { run: () => between() }) });
      const { topic, remove, record, object } = await setUp(slow);
      const beside = subscriptionsOf(app, topic);
      between = async () => {
        await beside.remove();
        await beside.create();
      };
      await expectProblem(await remove(), 404, "element_resource_non_existing");
      const [next, ...more] = await objectNamesOf(record);
      expect(more).toEqual([]);
      expect(objects.asked("destroy")).toContain(object);
      expect(objects.asked("destroy")).not.toContain(next);
    });
  });

  describe("when something fails", () => {
    it.each(["before", "after"] as const)("D1 fails once %s it deleted: 204", async (fails) => {
      const faulty = playedApp(objects, { DB: faultyDatabase(PUSH_SQL.remove, { fails }) });
      const { remove, record, object } = await setUp(faulty);
      expect((await remove()).status).toBe(204);
      expect(await recordsOf(record)).toEqual([]);
      expect(objects.asked("destroy")).toContain(object);
    });

    it("answers 503 if D1 fails twice, and a repeat completes it", async () => {
      vi.spyOn(console, "error").mockReturnValue();
      const faulty = playedApp(objects, { DB: faultyDatabase(PUSH_SQL.remove, { fails: "before", times: 2 }) });
      const { remove, record } = await setUp(faulty);
      await expectProblem(await remove(), 503, "service_temporarily_unavailable");
      expect(await recordsOf(record)).toHaveLength(1);
      expect((await remove()).status).toBe(204);
    });

    it("answers 204 and logs a warning if the object cannot be told", async () => {
      const errors = vi.spyOn(console, "error").mockReturnValue();
      const destroy = () => Promise.reject(new Error("out of reach"));
      const { remove, record } = await setUp(playedApp(playedObjects({ destroy })));
      expect((await remove()).status).toBe(204);
      expect(await recordsOf(record)).toEqual([]);
      expect(errors.mock.calls.join()).toContain("out of reach");
    });
  });
});

describe("a topic that is deleted", () => {
  const removeTopic = (on: typeof app, { topic }: { topic: { path: string; owner: any } }) =>
    on.call(topic.path, { as: topic.owner, method: "DELETE" });

  it("removes its subscriptions: records, objects, and their entries in the logs", async () => {
    const there = await setUp(app, { shards: 2 });
    const { record, logs, object } = there;
    for (const log of logs) await log.addSubscriber(object);
    // A subscription that was opened and never inserted, at only one of the logs.
    const lost = pushObjectName(record, "lost");
    await logs[1]!.addSubscriber(lost);
    const elsewhere = await setUp();
    await fill(record, "another", 20);
    expect((await removeTopic(app, there)).status).toBe(202);
    expect(await recordsOf(record)).toEqual([]);
    expect(objects.asked("destroy")).toEqual(expect.arrayContaining([object, lost]));
    expect(await createTopicStore(env.DB).find(record)).toBeUndefined();
    expect(await recordsOf(elsewhere.record)).toHaveLength(1);
    expect(objects.asked("destroy")).not.toContain(elsewhere.object);
  });

  itAtNight("removes them in bounded steps, and the sweep completes the rest", async () => {
    let [now, most] = [0, 0];
    const played = playedObjects({
      destroy: async () => {
        most = Math.max(most, ++now);
        await scheduler.wait(1);
        now -= 1;
      },
    });
    const counted = counting(env);
    const own = playedApp(played, { TOPIC_LOG: counted.env.TOPIC_LOG });
    const there = await setUp(own);
    const names = Array.from({ length: 620 }, (_, at) => pushObjectName(there.record, `many${at}`));
    await runInDurableObject(there.logs[0]!, (log) => {
      for (const name of names) log.addSubscriber(name);
    });
    counted.reset();
    await removeTopic(own, there);
    // The step that uses up the calls is finished.
    expect(played.asked("destroy")).toHaveLength(400);
    expect(counted.tally.objectCalls).toEqual({
      "TOPIC_LOG.close": 1,
      "TOPIC_LOG.consumers": 8,
      "TOPIC_LOG.subscribers": 8,
      "TOPIC_LOG.removeSubscribers": 8,
    });
    expect(most).toBe(DELETE.atOnce);
    expect((await createTopicStore(env.DB).find(there.record))?.state).toBe("deleting");
    expect(await recordsOf(there.record)).toEqual([]);
    await own.sweep();
    expect(new Set(played.asked("destroy"))).toEqual(new Set(names));
    expect(await createTopicStore(env.DB).find(there.record)).toBeUndefined();
  });

  it("stays until its subscriptions are gone, and retries an object that fails", async () => {
    const said = vi.spyOn(console, "error").mockReturnValue();
    let fails = true;
    const played = playedObjects({ destroy: () => (fails ? Promise.reject(new Error("out of reach")) : undefined) });
    const own = playedApp(played);
    const there = await setUp(own);
    await there.logs[0]!.addSubscriber(there.object);
    expect((await removeTopic(own, there)).status).toBe(202);
    expect((await createTopicStore(env.DB).find(there.record))?.state).toBe("deleting");
    said.mockClear();
    await expect(own.sweep()).rejects.toThrow("out of reach");
    expect(said.mock.calls.join()).toContain("out of reach");
    expect(await there.logs[0]!.subscribers(10)).toEqual([there.object]);
    fails = false;
    await own.sweep();
    expect(await createTopicStore(env.DB).find(there.record)).toBeUndefined();
  });

  it("leaves nothing to a topic of the same name created later, whose subscriptions it does not touch", async () => {
    const there = await setUp();
    await removeTopic(app, there);
    const { owner, path } = there.topic;
    const again = await app.call("/pubsub/v1/topics", { as: owner, json: { eventType: path.split("/").at(-1) } });
    expect(again.status).toBe(201);
    expect(await (await there.list()).json()).toEqual([]);
    expect((await there.create()).status).toBe(201);
    const { record } = await objectsOf(there.topic);
    const [next] = await objectNamesOf(record);
    expect(next).toContain(record.incarnation);
    expect(next).not.toContain(there.record.incarnation);
    expect(objects.asked("destroy")).not.toContain(next);
  });

  it("is noticed at once by an isolate that remembers the old topic, when it was deleted and created elsewhere", async () => {
    const elsewhere = playedApp(objects);
    const there = await setUp();
    await there.topic.put({ payload: "so that this isolate remembers it" });
    await removeTopic(elsewhere, there);
    const json = { eventType: there.topic.path.split("/").at(-1) };
    await elsewhere.call("/pubsub/v1/topics", { as: there.topic.owner, json });
    await subscriptionsOf(elsewhere, there.topic).create(body({ name: "new-one" }));
    expect((await (await there.list()).json<any[]>()).map(({ name }) => name)).toEqual(["new-one"]);
    expect((await there.get("new-one")).status).toBe(200);
  });
});

describe("a client that is removed", () => {
  const subscribe = async (clientId: string, client: { clientId: string; clientSecret: string }) => {
    const recorded = isolate({ PUSH_SUBSCRIPTION: objects.binding });
    const { access_token } = await (await recorded.token(client)).json<any>();
    const path = `/pubsub/v1/topics/${clientId}/order/subscriptions`;
    const headers = { authorization: `Bearer ${access_token}`, "content-type": "application/json" };
    const answer = await recorded.fetch(path, { method: "POST", headers, body: JSON.stringify(body()) });
    return { answer, list: () => recorded.fetch(path, { headers }) };
  };
  const count = async (clientId: string) =>
    everywhere.prepare(`SELECT count(*) AS n FROM push_subscription WHERE client = ?`).bind(clientId).first("n");

  it("removes its subscriptions; a new client of the same id has none of them", async () => {
    const owner = await makeClient({ scopes: ["plat.pubsub_publish"] });
    const token = await tokenFor(owner);
    await call("/pubsub/v1/topics", { token, json: { eventType: "order" } });
    const [client, other] = await Promise.all([1, 2].map(() => makeClient({ tenant: owner.tenant })));
    for (const one of [client!, other!]) expect((await subscribe(owner.clientId, one)).answer.status).toBe(201);
    const operator = await tokenFor(OPERATOR);
    const removed = await call(`/admin/v1/clients/${client!.clientId}`, { method: "DELETE", token: operator });
    expect(removed.status).toBe(204);
    expect([await count(client!.clientId), await count(other!.clientId)]).toEqual([0, 1]);
    const again = await makeClient({ tenant: owner.tenant, clientId: client!.clientId });
    const { answer, list } = await subscribe(owner.clientId, again);
    expect(answer.status).toBe(201);
    expect(await (await list()).json()).toHaveLength(1);
  });

  it("keeps them when it stays, since it owns a topic", async () => {
    const owner = await makeClient({ scopes: ["plat.pubsub_publish"] });
    await call("/pubsub/v1/topics", { token: await tokenFor(owner), json: { eventType: "order" } });
    expect((await subscribe(owner.clientId, owner)).answer.status).toBe(201);
    const operator = await tokenFor(OPERATOR);
    const refused = await call(`/admin/v1/clients/${owner.clientId}`, { method: "DELETE", token: operator });
    expect(refused.status).toBe(409);
    expect(await count(owner.clientId)).toBe(1);
  });

  it("keeps them when the operator changes it", async () => {
    const owner = await makeClient({ scopes: ["plat.pubsub_publish"] });
    await call("/pubsub/v1/topics", { token: await tokenFor(owner), json: { eventType: "order" } });
    await subscribe(owner.clientId, owner);
    await put(`clients/${owner.clientId}`, {
      tenant: owner.tenant,
      confidential: true,
      grantTypes: ["client_credentials"],
      scopes: [unique("other.")],
    });
    expect(await count(owner.clientId)).toBe(1);
  });
});
