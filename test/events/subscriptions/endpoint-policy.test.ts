import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { pushOf } from "../../../src/events/push/stub.ts";
import { parseOutboundUrl } from "../../../src/platform/outside/outbound-url.ts";
import { LOOPBACK, REASONS, REFUSED, TAKEN, type Refusal } from "../../support/endpoint-spellings.ts";
import { answerAt, requestsTo } from "../../support/outside.ts";
import { eventsApp } from "../support/events-app.ts";
import { expectProblem } from "../support/problem.ts";
import { makeTopic, type TestTopic } from "../support/test-topic.ts";
import { objectsOf } from "../support/topic-objects.ts";
import { playedApp, playedObjects } from "../support/push/played-objects.ts";
import { recordsOf } from "../support/push/push-records.ts";
import { bodyWith } from "../support/push/subscription-body.ts";
import { subscriptionsOf } from "../support/push/subscriptions-of.ts";
import { registeredClient } from "../support/registered-client.ts";

/** Allowed endpoints: checked in the request and again at each delivery. */
const SPELLINGS: readonly Refusal[] = [
  ...REFUSED,
  ...LOOPBACK.map((address) => ({
    what: "this machine",
    address,
    shown: address,
    reason: address.startsWith("http:") ? ("https" as const) : ("ip" as const),
  })),
];

describe("an endpoint in a request", () => {
  const objects = playedObjects();
  const app = playedApp(objects);
  let topic: TestTopic;
  let subscriptions: ReturnType<typeof subscriptionsOf>;
  beforeAll(async () => {
    topic = await makeTopic(app, { owner: await registeredClient() });
    subscriptions = subscriptionsOf(app, topic);
    expect((await subscriptions.create()).status).toBe(201);
  });

  // shows: events/subscription/pushconfig.endpoint
  // shows: events/push-subscriptions/endpoint
  it.each(SPELLINGS)("400: $what, $shown", async ({ address, reason }) => {
    const { record } = await objectsOf(topic);
    const before = await recordsOf(record);
    const opened = objects.calls.length;
    const body = bodyWith({ endpoint: address });
    for (const answer of [await subscriptions.create({ ...body, name: "another" }), await subscriptions.put(body)]) {
      const { details, message } = await expectProblem(answer, 400, "validation_violation");
      expect(details).toMatchObject([{ type: "invalid_field", field: "pushConfig.endpoint" }]);
      if (address.length <= 512) expect(message).toContain(REASONS[reason]);
      if (address.length > 10) expect(message + JSON.stringify(details)).not.toContain(address);
    }
    expect(await recordsOf(record)).toEqual(before);
    expect(objects.calls).toHaveLength(opened);
  });

  it.each(TAKEN.map((endpoint, index) => [endpoint, index] as const))("accepted: %s", async (endpoint, index) => {
    const name = `taken${index}`;
    expect((await subscriptions.create({ ...bodyWith({ endpoint }), name })).status).toBe(201);
    expect(await (await subscriptions.get(name)).json()).toMatchObject({ pushConfig: { endpoint } });
    expect((await subscriptions.remove(name)).status).toBe(204);
  });
});

describe("an endpoint at a delivery", () => {
  const app = eventsApp();
  let topic: TestTopic;
  beforeAll(() => void vi.useFakeTimers({ toFake: ["Date"] }));
  afterAll(() => void vi.useRealTimers());

  /** A subscription whose endpoint was replaced in the database, as if it had been accepted. */
  async function subscription(endpoint: string) {
    topic ??= await makeTopic(app, { owner: await registeredClient() });
    const subscriptions = subscriptionsOf(app, topic);
    expect((await subscriptions.create()).status).toBe(201);
    const { record } = await objectsOf(topic);
    const [{ id } = { id: "" }] = await recordsOf(record);
    const push = pushOf(env.PUSH_SUBSCRIPTION, record, id);
    const moveTo = async (address: string): Promise<void> => {
      await env.DB.prepare("UPDATE push_subscription SET endpoint = ? WHERE id = ?").bind(address, id).run();
      await push.changed();
    };
    await moveTo(endpoint);
    return { push, moveTo, remove: () => subscriptions.remove() };
  }

  // The Worker of these tests allows loopback, and D1 keeps no half characters.
  const forbidden = REFUSED.filter(({ address }) => address.isWellFormed() && !parseOutboundUrl(address, true).ok);

  // shows: events/push-subscriptions/endpoint
  it("is not called if it is forbidden, in any spelling", async () => {
    expect(forbidden.length).toBeGreaterThan(120);
    const { push, moveTo, remove } = await subscription("https://hooks.example");
    for (const { address, what, shown } of forbidden) {
      vi.setSystemTime(Date.now() + 2_000);
      await moveTo(address);
      expect(await push.sendTest("tenant1"), `${what}, ${shown}`).toMatchObject({
        kind: "tried",
        attempt: { status: undefined, error: "refused" },
      });
      const url = URL.parse(address);
      if (url !== null) expect(await requestsTo(`${url.origin}${url.pathname}`)).toEqual([]);
    }
    await remove();
  });

  it("is tried again after a failure: nothing is lost if the endpoint is mended", async () => {
    const endpoint = "https://policy-mended.test/hook";
    await answerAt(endpoint, {});
    const { push, moveTo, remove } = await subscription("https://169.254.169.254/latest/meta-data/");
    const [eventId] = await topic.put({ payload: "a" });
    await push.wake();
    await runDurableObjectAlarm(push);
    const { items } = await push.deliveries(undefined, undefined, 0, 10);
    expect(items).toMatchObject([{ eventId, state: "pending", attempts: [{ status: undefined, error: "refused" }] }]);
    expect(await requestsTo("https://169.254.169.254/latest/meta-data/")).toEqual([]);

    await moveTo(endpoint);
    vi.setSystemTime(items[0]!.nextAttemptAtMs!);
    await runDurableObjectAlarm(push);
    expect((await push.deliveries("delivered", undefined, 0, 10)).items).toMatchObject([{ eventId, attemptCount: 2 }]);
    expect(await requestsTo(endpoint)).toHaveLength(1);
    await remove();
  });

  it.each([301, 302, 303, 307, 308])("has its redirects not followed: %i", async (status) => {
    const endpoint = `https://policy-redirect.test/${status}`;
    const targets = [
      "https://169.254.169.254/latest/",
      "http://127.0.0.1:9/",
      "https://policy-target.test/",
      "/target",
    ];
    const { push, remove } = await subscription(endpoint);
    for (const location of targets) {
      await answerAt(endpoint, { status, headers: { location } });
      vi.setSystemTime(Date.now() + 2_000);
      expect(await push.sendTest("tenant1")).toMatchObject({ kind: "tried", attempt: { status, error: "redirect" } });
      expect(await requestsTo(new URL(location, endpoint).href)).toEqual([]);
    }
    expect(await requestsTo(endpoint)).toHaveLength(targets.length);
    await remove();
  });
});
