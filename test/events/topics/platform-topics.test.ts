import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { shardsOf } from "../../../src/events/model/topic.ts";
import { unique } from "../../support/platform/unique.ts";
import { eventsApp } from "../support/events-app.ts";
import { expectProblem } from "../support/problem.ts";
import { someClient } from "../support/some-client.ts";
import { payloads, topicAt } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";

/** A topic of the platform itself that was not looked up yet, and a client that may consume it. */
function ownTopic() {
  const topic = { owner: "plat.bookkeeping", eventType: unique("booked"), description: "Something was booked." };
  const consumer = someClient({ scopes: [`plat.pubsub.topic=${topic.owner}.*`] });
  const path = `/pubsub/v1/topics/${topic.owner}/${topic.eventType}`;
  return { topic, consumer, path };
}

const event = (payload: string) => ({ tenant: "tenant1", payload, metadata: { schema: "booked_v1" } });

describe("a platform topic", () => {
  it("is created at the first lookup, once, also by many in parallel in several isolates", async () => {
    const { topic, consumer, path } = ownTopic();
    const apps = [0, 1, 2].map(() => eventsApp(env, [topic]));
    const calls = [path, "/pubsub/v1/topics", `${path}/events`].flatMap((address) =>
      apps.map((app) => app.call(address, { as: consumer })),
    );
    for (const answer of await Promise.all(calls)) expect(answer.status).toBe(200);
    const { record, logs } = await objectsOf(topicAt(apps[0]!, someClient({ clientName: topic.owner }), path));
    expect(record).toMatchObject({ ...topic, shards: 1, state: "active" });
    expect(shardsOf(record)).toHaveLength(1);
    expect(await logs[0]!.stats()).toMatchObject({ kind: "stats", lastSeq: 0 });
  });

  it("is not created for a caller that may not see it, nor under another name", async () => {
    const { topic, consumer, path } = ownTopic();
    const app = eventsApp(env, [topic]);
    await expectProblem(await app.call(path, { as: someClient() }), 404, "element_resource_non_existing");
    expect(await (await app.call("/pubsub/v1/topics", { as: someClient() })).json()).toEqual([]);
    await expectProblem(await app.call(`${path}x`, { as: consumer }), 404, "element_resource_non_existing");
    expect(
      await env.DB.prepare("SELECT 1 FROM topic WHERE name = ?").bind(`${topic.owner}.${topic.eventType}`).first(),
    ).toBe(null);
  });

  it("answers 503 while its log cannot be opened, and is created afterwards", async () => {
    const { topic, consumer, path } = ownTopic();
    const restarting = Object.assign(new Error("restarting"), { retryable: true });
    const away = { getByName: () => ({ init: () => Promise.reject(restarting) }) };
    const broken = eventsApp({ ...env, TOPIC_LOG: away as unknown as typeof env.TOPIC_LOG }, [topic]);
    for (const address of [path, "/pubsub/v1/topics"])
      await expectProblem(await broken.call(address, { as: consumer }), 503, "service_temporarily_unavailable");
    expect((await eventsApp(env, [topic]).call(path, { as: consumer })).status).toBe(200);
  });

  it("accepts events from the platform: in order, as its owner's, each key once", async () => {
    const { topic, consumer, path } = ownTopic();
    const app = eventsApp(env, [topic]);
    await app.publish(topic, [event("1"), event("2")], "key-1", Date.now());
    await app.publish(topic, [event("1"), event("2")], "key-1", Date.now());
    await app.publish(topic, [event("other")], "key-1", Date.now());
    await app.publish(topic, [event("3")], "key-2", Date.now());
    const answer = await topicAt(app, consumer, path).read({ numEvents: 10 });
    expect(payloads(answer)).toEqual(["1", "2", "3"]);
    expect(answer.events[0]).toMatchObject({
      tenant: "tenant1",
      sourceClient: topic.owner,
      eventType: topic.eventType,
      metadata: { schema: "booked_v1" },
    });
  });

  it("throws when publishing to a topic that does not exist", async () => {
    const unknown = { owner: "plat.bookkeeping", eventType: unique("never") };
    const attempt = async () => eventsApp(env, []).publish(unknown, [event("x")], "k", Date.now());
    await expect(attempt()).rejects.toThrow("no_topic");
  });
});
