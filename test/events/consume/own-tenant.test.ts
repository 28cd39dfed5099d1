import { runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { positionOf } from "../../../src/events/log/event-id.ts";
import { LOG } from "../../../src/events/model/limits.ts";
import type { Principal } from "../../../src/http/callers/auth.ts";
import { eventsApp } from "../support/events-app.ts";
import { expectProblem } from "../support/problem.ts";
import { someClient } from "../support/some-client.ts";
import { makeTopic, payloads, type TestTopic, type WireEvent } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { itAtNight } from "../../support/model-runs.ts";

/** Readers whose scope names only the events of their token's own tenant. */
const app = eventsApp();
afterEach(() => void vi.useRealTimers());
const SCOPES = ["plat.pubsub.own_tenant_topic=*"];

async function topicOf(shards = 1): Promise<TestTopic> {
  const topic = await makeTopic(app, { shards });
  for (const tenant of ["mine", "theirs"]) app.actsFor.add(`${topic.owner.clientId} ${tenant}`);
  return topic;
}

const readerOf = (tenant = "mine", changes: Partial<Principal> = {}): Principal =>
  someClient({ scopes: SCOPES, tenant, ...changes });

const event = (tenant: string, payload: string) => ({ tenant, payload });
const FOREIGN = Array.from({ length: 20 }, (_, at) => event("theirs", `theirs ${at}`));

async function view(
  topic: TestTopic,
  as: Principal,
  query = "",
): Promise<{ events: WireEvent[]; next: string | null }> {
  const answer = await app.call(`${topic.path}/events${query}`, { as });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { events: WireEvent[]; next: string | null };
}

describe.each([1, 4])("a reader of its own tenant's events, %i shards", (shards) => {
  it("reads them in order, each once, with others' events in between", async () => {
    const topic = await topicOf(shards);
    const as = readerOf();
    const expected: string[] = [];
    const got: string[] = [];
    for (let round = 0; round < 12; round++) {
      const some = Array.from({ length: round % 4 }, (_, at) => event("mine", `${round} ${at}`));
      expected.push(...some.map(({ payload }) => payload));
      await topic.put([...FOREIGN.slice(0, 1 + (round % 7)), ...some, FOREIGN[0]]);
      const answer = await topic.read({ numEvents: 1 + (round % 3), autoCommit: round % 2 === 0 }, { as });
      if (answer.token !== undefined) expect((await topic.commit(answer.token, { as })).status).toBe(200);
      got.push(...payloads(answer));
    }
    for (;;) {
      const answer = await topic.read({ numEvents: 5, autoCommit: true }, { as });
      expect(answer.response.headers.get("plat-events-lost")).toBe(null);
      if (answer.status === 204) {
        expect(answer.response.headers.get("link")).toBe(null);
        break;
      }
      got.push(...payloads(answer));
    }
    expect(got).toEqual(expected);
  });

  it("peeks at them page by page, and at nothing else", async () => {
    const topic = await topicOf(shards);
    const as = readerOf();
    await topic.put([...FOREIGN, event("mine", "1"), ...FOREIGN, event("mine", "2"), event("mine", "3"), ...FOREIGN]);
    const seen: string[] = [];
    let query = "?limit=1";
    for (let next: string | null = ""; next !== null; query = `?limit=1&after=${next}`) {
      const page = await view(topic, as, query);
      seen.push(...page.events.map(({ payload }) => payload));
      next = page.next;
    }
    expect(seen).toEqual(["1", "2", "3"]);
    expect((await view(topic, readerOf("others"))).events).toEqual([]);
  });
});

describe("a reader of its own tenant's events", () => {
  it("has its own cursor and lock in each tenant, apart from those of reading everything", async () => {
    const topic = await topicOf();
    await topic.put([event("theirs", "t"), event("mine", "m")]);
    const mine = readerOf();
    const theirs = { ...mine, tenant: "theirs" };
    const all = { ...mine, scopes: [...SCOPES, "plat.pubsub.topic=*"] };
    const person = { ...mine, user: "ada@example.org", clientAuthenticated: false };
    expect(payloads(await topic.read({ numEvents: 9 }, { as: mine }))).toEqual(["m"]);
    expect(payloads(await topic.read({ numEvents: 9 }, { as: theirs }))).toEqual(["t"]);
    expect(payloads(await topic.read({ numEvents: 9 }, { as: all }))).toEqual(["t", "m"]);
    expect(payloads(await topic.read({ numEvents: 9 }, { as: person }))).toEqual(["m"]);
    expect(payloads(await topic.read({ numEvents: 9 }))).toEqual(["t", "m"]);
    expect((await topic.read({}, { as: mine })).status).toBe(409);
  });

  it("extends, releases up to an event, and reads again by its key", async () => {
    const topic = await topicOf();
    const as = readerOf();
    await topic.put([...FOREIGN, event("mine", "1"), ...FOREIGN, event("mine", "2"), ...FOREIGN, event("mine", "3")]);
    const headers = { "idempotency-key": "once" };
    const first = await topic.read({ numEvents: 3 }, { as, headers });
    expect(payloads(first)).toEqual(["1", "2", "3"]);
    const again = await topic.read({ numEvents: 3 }, { as, headers });
    expect([again.token, again.events]).toEqual([first.token, first.events]);
    expect(again.response.headers.get("plat-events-lost")).toBe(null);
    const { token } = first;
    expect((await topic.post("extend", { token, ttlMs: 5000 }, { as })).status).toBe(200);
    const commitThrough = first.events[1]!.id;
    expect((await topic.post("release", { token, commitThrough }, { as })).status).toBe(200);
    expect(payloads(await topic.read({ numEvents: 3 }, { as }))).toEqual(["3"]);
  });

  it("learns no position: neither from ids, nor from the id of another tenant's event", async () => {
    const topic = await topicOf();
    const as = readerOf();
    const ids = await topic.put([event("mine", "1"), ...FOREIGN, event("mine", "2")]);
    const { events } = await view(topic, as);
    const shown = events.map(({ id }) => id);
    expect(shown.map((id) => id.split("-")[0])).toEqual([ids[0], ids.at(-1)].map((id) => id!.split("-")[0]));
    const [one, two] = shown.map((id) => positionOf(id)!);
    expect(two!.seq - one!.seq).not.toBe(FOREIGN.length + 1);
    expect((await view(topic, as)).events.map(({ id }) => id)).toEqual(shown);
    for (const id of [ids[0], ids[3], shown[1]!.replace(/^./, (first) => (first === "0" ? "1" : "0"))])
      await expectProblem(await app.call(`${topic.path}/events?after=${id}`, { as }), 400, "validation_violation");
    const { token } = await topic.read({ numEvents: 2 }, { as });
    for (const commitThrough of ids.slice(0, 3))
      await expectProblem(await topic.post("release", { token, commitThrough }, { as }), 400, "validation_violation");
  });

  it("gets no number of lost events, since it is not known whose they were", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const topic = await topicOf();
    const as = readerOf();
    const log = (await objectsOf(topic)).logs[0]!;
    await topic.put([event("mine", "0"), ...FOREIGN]);
    for (const reader of [as, topic.owner])
      expect((await topic.read({ numEvents: 99, autoCommit: true }, { as: reader })).status).toBe(200);
    await topic.put([...FOREIGN, event("mine", "1"), ...FOREIGN]);
    vi.setSystemTime(Date.now() + 8 * 86_400_000);
    await runDurableObjectAlarm(log);
    for (const [payload, status] of [
      [undefined, 204],
      ["2", 200],
    ] as const) {
      if (payload !== undefined) await topic.put(event("mine", payload));
      const answer = await topic.read({}, { as });
      expect([answer.status, answer.response.headers.get("plat-events-lost")]).toEqual([status, null]);
    }
    expect((await topic.read()).response.headers.get("plat-events-lost")).toBe(String(2 * FOREIGN.length + 1));
  });

  it("learns no counts and no times of the topic", async () => {
    const topic = await topicOf();
    await topic.put([...FOREIGN, event("mine", "1")]);
    for (const as of [readerOf(), readerOf("mine", { user: "ada@example.org" })]) {
      const shown = await (await app.call(topic.path, { as })).json();
      const nothing = { storedEvents: null, oldestEventAt: null, newestEventAt: null, lag: null };
      expect(shown).toMatchObject({ state: "active", ...nothing });
    }
    expect(await (await app.call(topic.path, { as: topic.owner })).json()).toMatchObject({ storedEvents: 21 });
  });

  it("neither seeks nor subscribes: both need the scope of all events, which the refusal names", async () => {
    const topic = await topicOf();
    const as = readerOf();
    const pushConfig = { endpoint: "https://hooks.example.com/x", basicAuth: { username: "u", password: "p" } };
    for (const answer of [
      await topic.post("seek", { to: "newest" }, { as }),
      await app.call(`${topic.path}/subscriptions`, { as }),
      await app.call(`${topic.path}/subscriptions`, { as, json: { name: "copy", pushConfig } }),
    ])
      expect((await expectProblem(answer, 403, "insufficient_permissions")).message).toContain("plat.pubsub.topic=");
    await expectProblem(await topic.publish({ payload: "x" }, { as }), 403, "insufficient_permissions");
  });

  it("gets 403 with the scope's name if it is registered for it and its token lacks it, else 404", async () => {
    const topic = await topicOf();
    const [, , , , owner, type] = topic.path.split("/");
    const as = readerOf("mine", { scopes: [] });
    await expectProblem(
      await topic.read({}, { as }).then(({ response }) => response),
      404,
      "element_resource_non_existing",
    );
    const scope = `plat.pubsub.own_tenant_topic=${owner}.${type}`;
    app.registered.add(`${as.clientId} ${scope}`);
    const refused = await topic.read({}, { as });
    expect((await expectProblem(refused.response, 403, "insufficient_permissions")).message).toContain(scope);
    expect((await topic.read({}, { as: { ...as, scopes: [scope] } })).status).toBe(204);
    const narrower = { ...as, scopes: [`plat.pubsub.own_tenant_topic=${owner}.other*`] };
    expect((await topic.read({}, { as: narrower })).status).toBe(403);
    const listed = await (await app.call("/pubsub/v1/topics", { as: { ...as, scopes: [scope] } })).json();
    expect(listed).toMatchObject([{ topicOwnerClient: owner, eventType: type }]);
  });

  itAtNight(
    "skips a bounded number of others' events in one call and gets rel=more; following it terminates",
    async () => {
      const topic = await topicOf();
      const as = readerOf();
      const payload = "x".repeat(256 * 1024);
      const many = Array.from({ length: 19 }, () => event("theirs", payload));
      for (let chars = 0; chars <= LOG.skippedChars; chars += many.length * payload.length) await topic.put(many);
      await topic.put([event("mine", "1"), event("mine", "2")]);
      const looked = await view(topic, as);
      expect(looked.events).toEqual([]);
      expect((await view(topic, as, `?after=${looked.next}`)).events.map((one) => one.payload)).toEqual(["1", "2"]);
      const empty = await topic.read({ numEvents: 2 }, { as });
      expect([empty.status, empty.response.headers.get("link")]).toEqual([204, expect.stringContaining('rel="more"')]);
      const answer = await topic.read({ numEvents: 2 }, { as });
      expect(payloads(answer)).toEqual(["1", "2"]);
      expect((await topic.commit(answer.token, { as })).status).toBe(200);
      const end = await topic.read({ numEvents: 2 }, { as });
      expect([end.status, end.response.headers.get("link")]).toEqual([204, null]);
    },
  );
});
