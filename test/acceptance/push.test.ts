import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startReceiver, type Received, type Receiver } from "../../examples/tour/receiver.ts";
import { freePort } from "./support/process/state.ts";
import { must, openShop, TENANTS, type Shop, type WireEvent } from "./support/pubsub.ts";
import { useSharedWorld } from "./support/use-world.ts";

/**
 * Push against real HTTP receivers. Every kind of endpoint has a subscription of its own to one topic, two events are
 * published once, and each test looks at what came of it: so the waiting is done by all at the same time.
 */
const CREDENTIALS = { username: "hook.user", password: "Пароль: 長崎 & a:b" };
const EVENTS = [
  { payload: "NUL \0, a line end \n, half a character \ud83d, and 長崎", metadata: { schema: "v1", über: "ß" } },
  { payload: '{"already": "JSON"}' },
];
const PATIENCE_MS = 20_000;

const world = useSharedWorld("plain");
let shop: Shop;
let receiver: Receiver;
let topic: string;
/** As they are read from the topic. */
let events: WireEvent[];
const secrets = new Map<string, string>();

/** How each endpoint answers; the path is the subscription's name. */
const endpoints: Record<string, (request: Received, response: ServerResponse) => void | Promise<void>> = {
  fine: (_, response) => void response.writeHead(204).end(),
  wordy: (_, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<h1>thanks</h1>"),
  flaky: (request, response) => void response.writeHead(attemptOf(request) === 1 ? 500 : 200).end("x".repeat(100_000)),
  busy(_, response) {
    const first = calls("busy").length === 1;
    response.writeHead(first ? 429 : 200, first ? { "retry-after": "2" } : {}).end();
  },
  gone: (_, response) => void response.writeHead(revived ? 200 : 410).end(),
  moved: (_, response) => void response.writeHead(302, { location: `${receiver.origin}/target` }).end(),
  kept: (_, response) => void response.writeHead(308, { location: `${receiver.origin}/target` }).end(),
  // Only the first event never gets an answer.
  hangs: ({ body }, response) => void (isFirst(body) || response.writeHead(200).end()),
  endless: (_, response) => stream(response),
  breaks: (_, response) => void response.destroy(),
  // Says that it wants the events, the second time that it is asked.
  asked({ body }, response) {
    const { challenge } = JSON.parse(body);
    response.writeHead(200).end(calls("asked").length === 1 ? "not yet" : challenge);
  },
  target: (_, response) => void response.writeHead(200).end(),
  leaked: (_, response) => void response.writeHead(200).end(),
};
let revived = false;
let nobody: string;

const calls = (name: string): Received[] => receiver.received.filter(({ path }) => path === `/${name}`);
const attemptOf = ({ headers }: Received): number => Number(headers["plat-delivery-attempt"]);
const isFirst = (body: string): boolean => JSON.parse(body).payload === EVENTS[0]!.payload;
const idOf = ({ headers }: Received): string => String(headers["webhook-id"]);

const streamed = { bytes: 0, closed: 0 };
function stream(response: ServerResponse): void {
  const chunk = Buffer.alloc(65_536, "a");
  response.writeHead(200);
  const more = (): void => {
    while (!response.destroyed && response.write(chunk)) streamed.bytes += chunk.length;
  };
  response.on("drain", more);
  response.on("error", () => undefined);
  response.on("close", () => streamed.closed++);
  more();
}

async function subscribe(to: string, name: string, endpoint = `${receiver.origin}/${name}`): Promise<void> {
  const body = { name, pushConfig: { endpoint, basicAuth: CREDENTIALS, handshake: name === "asked" } };
  secrets.set(name, must(await shop.call("POST", `${to}/subscriptions`, body), 201).signingSecret);
}

const get = async (path: string): Promise<any> => must(await shop.call("GET", `${topic}/subscriptions/${path}`), 200);

/** What came of an event's attempts, once there are as many. */
async function attempts(name: string, event: WireEvent, count: number): Promise<any[]> {
  let made: any[] = [];
  await expect
    .poll(
      async () => {
        const deliveries: any[] = await get(`${name}/deliveries`);
        made = deliveries.find(({ eventId }) => eventId === event.id)?.attempts ?? [];
        return made.length;
      },
      { timeout: PATIENCE_MS, interval: 100 },
    )
    .toBeGreaterThanOrEqual(count);
  return made;
}

const outcome = ({ status, error }: any): unknown => ({ status, error });

beforeAll(async () => {
  receiver = await startReceiver((request, response) => endpoints[request.path.slice(1)]?.(request, response));
  shop = await openShop(world(), "push-shop");
  topic = await shop.topic("pushed");
  nobody = `http://127.0.0.1:${await freePort()}/`;
  // Before any subscription: it starts at the newest event.
  must(await shop.call("POST", `${topic}/publish`, { payload: "too early" }), 201);
  for (const name of Object.keys(endpoints)) if (!["target", "leaked"].includes(name)) await subscribe(topic, name);
  await subscribe(topic, "nobody", nobody);
  must(await shop.call("POST", `${topic}/publish`, EVENTS), 201);
  events = must(await shop.call("POST", `${topic}/read`, { numEvents: 10 }), 200).events.slice(1);
}, 60_000);

afterAll(() => receiver.close());

describe("an endpoint", () => {
  // shows: events/what-the-service-does/push
  // shows: events/events/by-push
  // shows: events/push-subscriptions/delivery
  test("gets each event once: the Event object, signed, with user and password", async () => {
    for (const name of ["fine", "wordy"]) {
      await receiver.wait(`/${name}`, 2, PATIENCE_MS);
      const got = calls(name);
      expect(got.map(idOf).toSorted()).toEqual(events.map(({ id }) => id).toSorted());
      for (const request of got) {
        const { method, headers, body } = request;
        const verified = new Webhook(secrets.get(name)!).verify(body, headers);
        expect(verified).toEqual(events.find(({ id }) => id === idOf(request)));
        expect(method).toBe("POST");
        expect(headers["content-type"]).toBe("application/json");
        expect(headers["user-agent"]).toMatch(/\S/);
        expect(attemptOf(request)).toBe(1);
        const [scheme, encoded = ""] = headers["authorization"]!.split(" ");
        expect([scheme, Buffer.from(encoded, "base64").toString("utf8")]).toEqual([
          "Basic",
          `${CREDENTIALS.username}:${CREDENTIALS.password}`,
        ]);
        expect(() => new Webhook(secrets.get("flaky")!).verify(body, headers)).toThrow(/signature/i);
      }
    }
    expect((await attempts("fine", events[0]!, 1)).map(outcome)).toEqual([{ status: 204, error: null }]);
    expect(await get("fine")).toMatchObject({ state: "active", lag: 0, deadLetters: 0, eventsLost: 0 });
  });

  test("that is asked first gets its events once it has answered with the challenge", async () => {
    await receiver.wait("/asked", 2 + events.length, PATIENCE_MS);
    const [first, second, ...got] = calls("asked");
    for (const ping of [first!, second!]) {
      const said = new Webhook(secrets.get("asked")!).verify(ping.body, ping.headers);
      expect(said).toEqual({ type: "endpoint_verification", challenge: expect.any(String) });
    }
    expect(got.map(idOf).toSorted()).toEqual(events.map(({ id }) => id).toSorted());
    expect(await get("asked")).toMatchObject({ state: "active", pushConfig: { handshake: true } });
  });

  test("tries an event again 5 s after a 500, under the same id and a new signature", async () => {
    const { id } = events[0]!;
    await attempts("flaky", events[0]!, 2);
    const [first, second] = calls("flaky").filter((request) => idOf(request) === id);
    expect([first, second].map((request) => attemptOf(request!))).toEqual([1, 2]);
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(4_900);
    // The next step of the schedule is 30 s.
    expect(second!.atMs - first!.atMs).toBeLessThan(15_000);
    expect(new Webhook(secrets.get("flaky")!).verify(second!.body, second!.headers)).toEqual(events[0]);
    expect(second!.headers["webhook-timestamp"]).not.toBe(first!.headers["webhook-timestamp"]);
    const log = (await get("flaky/deliveries?state=delivered")).find((entry: any) => entry.eventId === id);
    expect(log).toMatchObject({ state: "delivered", nextAttemptAt: null, attemptCount: 2 });
    expect(log.attempts.map(outcome)).toEqual([
      { status: 500, error: "status" },
      { status: 200, error: null },
    ]);
    expect(Math.abs(log.attempts[0].at - first!.atMs)).toBeLessThan(2_000);
  });

  // shows: events/push-subscriptions/429-503
  test("that answers 429 says when it is called again, for all of the subscription's events", async () => {
    for (const event of events) await attempts("busy", event, 1);
    await expect
      .poll(async () => (await get("busy/deliveries?state=delivered")).length, { timeout: PATIENCE_MS })
      .toBe(2);
    const got = calls("busy");
    const pause = got.find((request) => idOf(request) === idOf(got[0]!) && request !== got[0])!.atMs - got[0]!.atMs;
    expect(pause).toBeGreaterThanOrEqual(1_900);
    // Sooner than the schedule's first step.
    expect(pause).toBeLessThan(4_900);
    // The other event may have been under way already; nothing began in the pause.
    const paused = got.filter(({ atMs }) => atMs > got[0]!.atMs + 500 && atMs < got[0]!.atMs + 1_900);
    expect(paused).toEqual([]);
  });

  test.for(["moved", "kept"])("that redirects (%s) has failed, and is not followed", async (name) => {
    const [first] = await attempts(name, events[0]!, 1);
    expect(outcome(first)).toEqual({ status: name === "moved" ? 302 : 308, error: "redirect" });
    expect(calls("target")).toEqual([]);
  });

  test("that streams without end has answered: nothing of it is read", async () => {
    for (const event of events)
      expect((await attempts("endless", event, 1)).map(outcome)).toEqual([{ status: 200, error: null }]);
    await expect.poll(() => streamed.closed, { timeout: PATIENCE_MS }).toBe(2);
    // What fits into buffers on the way.
    expect(streamed.bytes).toBeLessThan(32 * 1024 * 1024);
    expect(calls("endless")).toHaveLength(2);
  });

  test.for(["breaks", "nobody"])("without an answer (%s) is unreachable", async (name) => {
    const [first] = await attempts(name, events[0]!, 1);
    expect(outcome(first)).toEqual({ status: null, error: "unreachable" });
    expect(first.durationMs).toBeLessThan(14_000);
  });

  // shows: events/push-subscriptions/2xx-within-15-s
  test("that hangs is left after 15 s, and holds up no other event", async () => {
    expect((await attempts("hangs", events[1]!, 1)).map(outcome)).toEqual([{ status: 200, error: null }]);
    const [hanging] = await attempts("hangs", events[0]!, 1);
    expect(outcome(hanging)).toEqual({ status: null, error: "timeout" });
    expect(hanging.durationMs).toBeGreaterThanOrEqual(14_900);
    expect(hanging.durationMs).toBeLessThan(25_000);
    const other = calls("hangs").find((request) => idOf(request) === events[1]!.id)!;
    expect(other.atMs - hanging.at).toBeLessThan(14_000);
    expect(await get("hangs")).toMatchObject({ state: "active", lag: 1 });
  });

  // shows: events/push-subscriptions/410
  test("that says 410 is not called any more until it is enabled again", async () => {
    expect(await get("gone")).toMatchObject({ state: "disabled", lag: 2 });
    expect(calls("gone").length).toBeLessThanOrEqual(2);
    const before = calls("gone").length;
    revived = true;
    await sleep(200);
    expect(calls("gone")).toHaveLength(before);
    const basicAuth = { ...CREDENTIALS, password: "********" };
    const pushConfig = { endpoint: `${receiver.origin}/gone`, basicAuth };
    must(await shop.call("PUT", `${topic}/subscriptions/gone`, { pushConfig }), 200);
    await expect
      .poll(async () => (await get("gone/deliveries?state=delivered")).length, { timeout: PATIENCE_MS })
      .toBe(2);
    expect(calls("gone").at(-1)!.headers["authorization"]).toBe(calls("gone")[0]!.headers["authorization"]);
    expect(await get("gone")).toMatchObject({ state: "active", lag: 0 });
  });

  // shows: events/push-subscriptions/post-test
  test("is tried by the test operation, at once and with an event of no topic", async () => {
    const before = calls("fine").length;
    const tried = must(await shop.call("POST", `${topic}/subscriptions/fine/test`), 200);
    expect(tried).toMatchObject({ delivered: true, status: 204, error: null });
    const request = calls("fine").at(-1)!;
    expect(calls("fine")).toHaveLength(before + 1);
    expect(new Webhook(secrets.get("fine")!).verify(request.body, request.headers)).toMatchObject({
      metadata: { test: "true" },
    });
    const none = must(await shop.call("POST", `${topic}/subscriptions/nobody/test`), 200);
    expect(none).toMatchObject({ delivered: false, status: null, error: "unreachable" });
  });

  // shows: events/push-subscriptions/post-redeliver
  test("gets an event again on request", async () => {
    const { id } = events[0]!;
    const redeliver = `${topic}/subscriptions/fine/deliveries/${id}/redeliver`;
    const before = calls("fine").length;
    must(await shop.call("POST", redeliver), 202);
    const again = (await receiver.wait("/fine", before + 1, PATIENCE_MS)).at(-1)!;
    expect([idOf(again), new Webhook(secrets.get("fine")!).verify(again.body, again.headers)]).toEqual([id, events[0]]);
  });

  test("gets nothing any more once the subscription is deleted", async () => {
    expect((await shop.call("DELETE", `${topic}/subscriptions/fine`)).status).toBe(204);
    await sleep(200);
    const before = calls("fine").length;
    const { ids } = must(await shop.call("POST", `${topic}/publish`, { payload: "one more" }), 201);
    await expect
      .poll(() => calls("wordy").some((request) => idOf(request) === ids[0]), { timeout: PATIENCE_MS })
      .toBe(true);
    expect(calls("fine")).toHaveLength(before);
  });
});

// shows: events/push-subscriptions/six-in-flight
test("1,000 events of four shards are all pushed, at most six at a time", { timeout: 60_000 }, async () => {
  const sharded = await shop.topic("many", 4);
  const flight = { now: 0, most: 0 };
  endpoints["many"] = async (_, response) => {
    flight.most = Math.max(flight.most, ++flight.now);
    await sleep(5);
    flight.now--;
    response.writeHead(200).end();
  };
  await subscribe(sharded, "many");
  const published: string[] = [];
  for (let at = 0; at < 1_000; at += 100) {
    const batch = Array.from({ length: 100 }, (_, index) => ({
      payload: String(at + index),
      tenant: TENANTS[index % TENANTS.length],
    }));
    published.push(...must(await shop.call("POST", `${sharded}/publish`, batch), 201).ids);
  }
  await receiver.wait("/many", 1_000, 40_000);
  const got = calls("many");
  expect(got.map(idOf).toSorted()).toEqual(published.toSorted());
  expect(new Set(got.map(({ body }) => JSON.parse(body).payload)).size).toBe(1_000);
  expect(flight.most).toBeGreaterThan(1);
  expect(flight.most).toBeLessThanOrEqual(6);
  await expect
    .poll(async () => must(await shop.call("GET", `${sharded}/subscriptions/many`), 200), { timeout: PATIENCE_MS })
    .toMatchObject({ lag: 0, deadLetters: 0, eventsLost: 0 });
});

describe("credentials that leaked", () => {
  const userOf = ({ headers }: Received): string =>
    Buffer.from(headers["authorization"]!.split(" ")[1]!, "base64").toString("utf8");
  const publish = async (to: string, payload: string): Promise<void> =>
    void must(await shop.call("POST", `${to}/publish`, { payload }), 201);
  const came = async (count: number): Promise<readonly Received[]> =>
    (await receiver.wait("/leaked", count, PATIENCE_MS)).slice(-1);

  // shows: events/push-subscriptions/credentials-that-leaked
  test("are replaced: a password at once, a signing secret by a second one or by rotation, without a lost event", async () => {
    const own = await shop.topic("leaked");
    await subscribe(own, "leaked");
    await publish(own, "before");
    const [before] = await came(1);
    expect(userOf(before!)).toBe(`${CREDENTIALS.username}:${CREDENTIALS.password}`);

    const pushConfig = { endpoint: `${receiver.origin}/leaked`, basicAuth: { username: "hook.2", password: "new" } };
    must(await shop.call("PUT", `${own}/subscriptions/leaked`, { pushConfig }), 200);
    await publish(own, "with the new password");
    const [after] = await came(2);
    expect(userOf(after!)).toBe("hook.2:new");
    new Webhook(secrets.get("leaked")!).verify(after!.body, after!.headers);

    const made = must(await shop.call("POST", `${own}/subscriptions`, { name: "anew", pushConfig }), 201);
    await publish(own, "to both");
    const both = (await receiver.wait("/leaked", 4, PATIENCE_MS)).slice(2);
    // The receiver knows an event that comes twice by its id.
    expect(new Set(both.map(idOf)).size).toBe(1);
    must(await shop.call("DELETE", `${own}/subscriptions/leaked`), 204);
    await publish(own, "to the new one");
    const [last] = await came(5);
    expect(JSON.parse(last!.body).payload).toBe("to the new one");
    new Webhook(made.signingSecret).verify(last!.body, last!.headers);
    expect(() => new Webhook(secrets.get("leaked")!).verify(last!.body, last!.headers)).toThrow(/signature/i);
    expect(calls("leaked")).toHaveLength(5);

    const rotate = async (body: object) =>
      must(await shop.call("POST", `${own}/subscriptions/anew/signing-secret`, body), 200);
    const second = await rotate({});
    await publish(own, "signed twice");
    const [twice] = await came(6);
    for (const secret of [made.signingSecret, second.signingSecret])
      new Webhook(secret).verify(twice!.body, twice!.headers);
    const third = await rotate({ previousValidMs: 0 });
    await publish(own, "signed once");
    const [once] = await came(7);
    new Webhook(third.signingSecret).verify(once!.body, once!.headers);
    for (const secret of [made.signingSecret, second.signingSecret])
      expect(() => new Webhook(secret).verify(once!.body, once!.headers)).toThrow(/signature/i);
  });
});
