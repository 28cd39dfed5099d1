import { afterEach, describe, expect, it, vi } from "vitest";
import { READ } from "../../../src/events/model/limits.ts";
import { eventsApp } from "../support/events-app.ts";
import { expectProblem, faults } from "../support/problem.ts";
import { someClient } from "../support/some-client.ts";
import { makeTopic, payloads, type TestTopic } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";

/** Consumers of one client with names of their own, by the header `Consumer`. */
const app = eventsApp();
afterEach(() => void vi.useRealTimers());
const as = (consumer: string) => ({ headers: { consumer } });

const listed = async (topic: TestTopic): Promise<unknown> => {
  const answer = await app.call(`${topic.path}/consumers`, { as: topic.owner });
  expect(answer.status).toBe(200);
  return answer.json();
};
const remove = (topic: TestTopic, name: string) =>
  app.call(`${topic.path}/consumers/${name}`, { as: topic.owner, method: "DELETE" });

describe("a named consumer", () => {
  it("has its own cursor and lock, apart from the client's and from others of other names", async () => {
    const topic = await makeTopic(app, { shards: 3 });
    await topic.put([{ payload: "a" }, { payload: "b" }]);
    const reads = await Promise.all([topic.read(), topic.read({}, as("one")), topic.read({ numEvents: 2 }, as("two"))]);
    expect(reads.map(payloads)).toEqual([["a"], ["a"], ["a", "b"]]);
    expect((await topic.commit(reads[1].token)).status).toBe(409);
    expect((await topic.commit(reads[1].token, as("one"))).status).toBe(200);
    expect(payloads(await topic.read({}, as("one")))).toEqual(["b"]);
    expect((await topic.read({}, as("two"))).status).toBe(409);
    const status = await app.call(topic.path, { as: topic.owner, ...as("one") });
    expect(await status.json()).toMatchObject({ lag: 1 });
  });

  it("extends, releases and seeks by its name", async () => {
    const topic = await makeTopic(app);
    await topic.put({ payload: "a" });
    const { token } = await topic.read({}, as("one"));
    expect((await topic.post("extend", { token, ttlMs: 120_000 }, as("one"))).status).toBe(200);
    expect((await topic.post("release", { token }, as("one"))).status).toBe(200);
    expect((await topic.post("seek", { to: "newest" }, as("one"))).status).toBe(200);
    expect((await topic.read({}, as("one"))).status).toBe(204);
    expect(payloads(await topic.read())).toEqual(["a"]);
  });

  it("is a different one for each client", async () => {
    const topic = await makeTopic(app);
    await topic.put({ payload: "a" });
    const scopes = [topic.path.replace(/^.*topics\/(.*)\/(.*)$/, "plat.pubsub.topic=$1.$2")];
    const other = someClient({ scopes });
    await topic.read({}, as("one"));
    expect(payloads(await topic.read({}, { as: other, ...as("one") }))).toEqual(["a"]);
    expect(await listed(topic)).toEqual([{ name: "one" }]);
  });

  it("is named in the refusal, with the time until which it holds the lock", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2030, 0, 1) });
    const topic = await makeTopic(app);
    await topic.put({ payload: "a" });
    await topic.read({ ttlMs: 90_000 }, as("one"));
    const { message } = await expectProblem((await topic.read({}, as("one"))).response, 409, "topic_locked");
    expect(message).toBe("Your consumer one holds an uncommitted batch of this topic until 2030-01-01T00:01:30.000Z.");
    await topic.read();
    const { message: unnamed } = await expectProblem((await topic.read()).response, 409, "topic_locked");
    expect(unnamed).toMatch(/^Another read of yours holds an uncommitted batch of this topic until 2030/);
  });

  it.each(["", "a b", "-a", "a/b", "ä", "x".repeat(65)])("cannot be called %j", async (name) => {
    const topic = await makeTopic(app);
    const headers = new Headers({ consumer: encodeURI(name) });
    const refused = await topic.read({}, { headers: Object.fromEntries(headers) });
    expect(faults(await expectProblem(refused.response, 400, "validation_violation"))).toEqual([
      "invalid_header Consumer",
    ]);
  });
});

describe("a caller's named consumers", () => {
  it("are listed by name after their first read or seek, and removed with cursor and lock", async () => {
    const topic = await makeTopic(app);
    await topic.put({ payload: "a" });
    expect(await listed(topic)).toEqual([]);
    await topic.read({}, as("two"));
    await topic.post("seek", { to: "newest" }, as("one"));
    expect(await listed(topic)).toEqual([{ name: "one" }, { name: "two" }]);
    expect((await remove(topic, "two")).status).toBe(204);
    expect(await listed(topic)).toEqual([{ name: "one" }]);
    expect((await remove(topic, "two")).status).toBe(204);
    expect(payloads(await topic.read({}, as("two")))).toEqual(["a"]);
    expect(await listed(topic)).toEqual([{ name: "one" }, { name: "two" }]);
  });

  it("are at most 100 on a topic, also with parallel requests; existing ones continue", async () => {
    const topic = await makeTopic(app);
    await topic.put({ payload: "a" });
    const names = Array.from({ length: READ.namedConsumers + 5 }, (_, at) => `c${at}`);
    const reads = await Promise.all(names.map((name) => topic.read({}, as(name))));
    const refused = reads.filter(({ status }) => status === 409);
    expect(refused).toHaveLength(5);
    const problem = await expectProblem(refused[0]!.response, 409, "conflict_resource");
    expect(faults(problem)).toEqual(["too_many_consumers Consumer"]);
    const known = names[reads.findIndex(({ status }) => status === 200)]!;
    expect((await topic.commit(reads[names.indexOf(known)]!.token, as(known))).status).toBe(200);
    expect((await topic.read({}, as(known))).status).toBe(204);
    expect((await topic.read()).status).toBe(200);
  });

  it("are those of the topic that there is, also for an isolate that knows an earlier one", async () => {
    const elsewhere = eventsApp();
    const topic = await makeTopic(app);
    const path = `${topic.path}/consumers`;
    const knows = async () =>
      expect((await elsewhere.call(`${topic.path}/events`, { as: topic.owner })).status).toBe(200);
    await knows();
    expect((await app.call(topic.path, { as: topic.owner, method: "DELETE" })).status).toBe(202);
    await expectProblem(await elsewhere.call(path, { as: topic.owner }), 404, "element_resource_non_existing");
    const eventType = topic.path.split("/").at(-1);
    const create = async () => app.call("/pubsub/v1/topics", { as: topic.owner, json: { eventType } });
    await expect.poll(async () => (await create()).status).toBe(201);
    await knows();
    expect((await app.call(topic.path, { as: topic.owner, method: "DELETE" })).status).toBe(202);
    await expect.poll(async () => (await create()).status).toBe(201);
    await topic.put({ payload: "a" });
    expect(payloads(await topic.read({}, as("one")))).toEqual(["a"]);
    const removed = await elsewhere.call(`${path}/one`, { as: topic.owner, method: "DELETE" });
    expect(removed.status).toBe(204);
    expect(await listed(topic)).toEqual([]);
  });

  it("are removed with their topic", async () => {
    const topic = await makeTopic(app);
    await topic.put({ payload: "a" });
    await topic.read({}, as("one"));
    const { logs } = await objectsOf(topic);
    expect(await logs[0]!.consumers(10)).toEqual([`${topic.owner.clientId}/consumer/one`]);
    await app.call(topic.path, { as: topic.owner, method: "DELETE" });
    expect(await logs[0]!.consumers(10)).toEqual([]);
  });
});
