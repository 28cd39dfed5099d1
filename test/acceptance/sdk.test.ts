import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { ok } from "@oazapfts/runtime";
import { createTopic, getTopic, publishEvents } from "../../api/plinth.ts";
import { startReceiver } from "../../examples/tour/receiver.ts";
import {
  ConflictError,
  createPlinth,
  createTokenVerifier,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  UnauthorizedError,
  UnavailableError,
  verifyWebhook,
  WebhookError,
  type ConsumedEvent,
  type Plinth,
  type PlinthOptions,
} from "../../packages/sdk/src/index.ts";
import { frameworkSuite } from "./sdk/frameworks.ts";
import { inPage, losing } from "./sdk/network.ts";
import { useSharedWorld } from "./support/use-world.ts";
import { makeClient, OTHER_TENANT, SERVICE, TENANT, type Client } from "./support/world.ts";

/** The SDK against a started platform. Faults are those of a network: `fetch` loses requests and answers. */
const world = useSharedWorld("plain");
let client: Client;
let plinth: Plinth;
let count = 0;
const fresh = (name: string): string => `${name}${(count += 1)}`;

const SCOPES = ["plat.pubsub_publish", "plat.media_view", "plat.media_manage"];

beforeAll(async () => {
  client = await makeClient(world(), "sdk", { scopes: SCOPES, grantTypes: ["client_credentials"], service: SERVICE });
  plinth = connect();
});

const connect = (more: Partial<PlinthOptions> = {}): Plinth =>
  createPlinth({ url: world().base, credentials: { clientId: client.id, clientSecret: client.secret }, ...more });

async function newTopic(events: number) {
  const topic = plinth.topic(client.id, fresh("numbers"));
  await topic.create({ shards: 1 });
  const ids = await topic.publish(Array.from({ length: events }, (_, number) => ({ payload: { number } })));
  return { topic, ids };
}

const numbersOf = (events: readonly { readonly payload: string }[]): number[] =>
  events.map(({ payload }) => (JSON.parse(payload) as { number: number }).number);

async function all<T>(entries: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const entry of entries) found.push(entry);
  return found;
}

async function take(events: AsyncIterable<ConsumedEvent>, most: number): Promise<number[]> {
  const taken: number[] = [];
  for await (const event of events) {
    taken.push(event.json<{ number: number }>().number);
    event.ack();
    if (taken.length === most) break;
  }
  return taken;
}

describe("tokens", () => {
  test("one request serves all callers, and a refused token is replaced once", async () => {
    const { fetch, requests } = losing(() => false);
    const own = connect({ fetch });
    const tokens = await Promise.all(Array.from({ length: 20 }, () => own.token()));
    expect(new Set(tokens).size).toBe(1);
    await world().operate("POST", `clients/${client.id}/revoke`);
    await sleep(1_100);
    const topics = own.topics();
    await topics.next();
    expect(requests.filter((line) => line.endsWith("/token"))).toHaveLength(2);
  });

  test("a wrong secret is an UnauthorizedError that says so", async () => {
    const wrong = connect({ credentials: { clientId: client.id, clientSecret: "wrong" } });
    await expect(wrong.token()).rejects.toThrow(UnauthorizedError);
  });

  test("and addresses that are missing are named", async () => {
    const unset = undefined as unknown as string;
    expect(() => connect({ url: unset })).toThrow("url must be a text that begins with https://");
    expect(() => createTokenVerifier({ url: unset })).toThrow("url must be a text that begins with https://");
    expect(await connect({ url: `${world().base}//` }).token()).toEqual(expect.any(String));
    await expect(plinth.request("GET", "pubsub/v1/topics")).rejects.toThrow("is no path: it must begin with /.");
    for (const none of [unset, "", Promise.resolve(unset)]) {
      const { fetch, requests } = losing(() => false);
      const signedOut = connect({ fetch, credentials: () => none });
      await expect(signedOut.request("GET", "/pubsub/v1/topics")).rejects.toThrow(UnauthorizedError);
      expect(requests).toEqual([]);
    }
  });

  test("are sent again whatever the case of the method", async () => {
    const { fetch, requests } = losing((path, nth) => path.endsWith("/topics") && nth === 1);
    await connect({ fetch }).request("get", "/pubsub/v1/topics");
    await connect({ fetch }).operations.fetch(`${world().base}/pubsub/v1/topics`, { method: "get" });
    expect(requests.filter((line) => line === "GET /pubsub/v1/topics")).toHaveLength(3);
  });

  test("a platform that does not answer is an UnavailableError", async () => {
    await expect(connect({ url: "http://127.0.0.1:9" }).token()).rejects.toThrow(UnavailableError);
  });

  test("forTenant acts for another tenant that subscribes to the client's service", async () => {
    const { topic } = await newTopic(0);
    const other = plinth.forTenant(OTHER_TENANT).topic(client.id, topic.eventType);
    await other.publish({ payload: "theirs" });
    const batch = await topic.read();
    expect(batch?.events.map(({ tenant }) => tenant)).toEqual([OTHER_TENANT]);
  });

  test("a token never goes to another host", async () => {
    await expect(plinth.request("GET", "https://elsewhere.example/x")).rejects.toThrow("is not the platform");
  });
});

test.each(["", "/"])("the issuer's address is not the platform's%s", (end) => {
  const url = `${world().base}/oauth2/v1${end}`;
  expect(() => connect({ url })).toThrow(`url is the platform's address: ${world().base}`);
  expect(() => createTokenVerifier({ url })).toThrow(`url is the platform's address: ${world().base}`);
});

describe("creating a topic", () => {
  test("of another client is refused, and makes none of the caller's", async () => {
    const type = fresh("foreign");
    const created = plinth.topic("demo.shop", type).create();
    await expect(created).rejects.toThrow(ForbiddenError);
    await expect(created).rejects.toThrow(`Only demo.shop creates its topics. This client makes those of ${client.id}`);
    await expect(plinth.topic(client.id, type).status()).rejects.toThrow(NotFoundError);
  });
});

describe("publishing", () => {
  test("stores events once when the answer is lost", async () => {
    const { topic } = await newTopic(0);
    const { fetch, requests } = losing((path, nth) => path.endsWith("/publish") && nth === 1);
    const [id] = await connect({ fetch }).topic(client.id, topic.eventType).publish({ payload: "once" });
    expect(requests.filter((line) => line.endsWith("/publish"))).toHaveLength(2);
    const batch = await topic.read();
    expect(batch?.events.map((event) => event.id)).toEqual([id]);
  });

  test("sends more events than one request takes, in order", async () => {
    const { topic, ids } = await newTopic(1_200);
    expect(new Set(ids).size).toBe(1_200);
    const stored: string[] = [];
    for await (const event of topic.peek()) stored.push(event.id);
    expect(stored).toEqual(ids);
  });

  test("a publisher collects single events into few requests and keeps their order", async () => {
    const { topic } = await newTopic(0);
    const { fetch, requests } = losing(() => false);
    const publisher = connect({ fetch }).topic(client.id, topic.eventType).publisher({ maxEvents: 40 });
    const ids = await Promise.all(
      Array.from({ length: 100 }, (_, number) => publisher.publish({ payload: { number } })),
    );
    await publisher.close();
    expect(requests.filter((line) => line.endsWith("/publish"))).toHaveLength(3);
    const batch = await topic.read({ numEvents: 100 });
    expect(batch?.events.map(({ id }) => id)).toEqual(ids);
    await expect(publisher.publish({ payload: "late" })).rejects.toThrow("closed");
  });
});

describe("consuming", () => {
  test("gives every event in order and commits what the loop asked beyond", async () => {
    const { topic } = await newTopic(25);
    expect(await take(topic.consume({ batchSize: 10 }), 25)).toEqual(Array.from({ length: 25 }, (_, at) => at));
    expect((await topic.status()).lag).toBe(0);
  });

  test("leaves the event in work and those behind it to the next reader when the loop fails", async () => {
    const { topic } = await newTopic(10);
    const failing = async (): Promise<void> => {
      for await (const event of topic.consume())
        if (event.json<{ number: number }>().number === 4) throw new Error("no");
    };
    await expect(failing()).rejects.toThrow("no");
    const batch = await topic.read();
    expect(numbersOf(batch!.events)).toEqual([4, 5, 6, 7, 8, 9]);
  });

  test("renews the lock while an event takes longer than the lock", async () => {
    const { topic } = await newTopic(3);
    const seen: number[] = [];
    for await (const event of topic.consume({ lockMs: 1_000 })) {
      seen.push(event.json<{ number: number }>().number);
      if (seen.length === 1) await sleep(2_500);
      if (seen.length === 3) {
        event.ack();
        break;
      }
    }
    expect(seen).toEqual([0, 1, 2]);
    expect((await topic.status()).lag).toBe(0);
  });

  test("reads again, without a failure, when its lock was taken away", async () => {
    const { topic } = await newTopic(4);
    // Renewals do not arrive, as after a long pause of the process.
    const fetch: typeof globalThis.fetch = (input, init) =>
      new Request(input).url.endsWith("/extend")
        ? Promise.reject(new TypeError("lost"))
        : globalThis.fetch(input, init);
    const own = connect({ fetch, attempts: 1 }).topic(client.id, topic.eventType);
    const seen: number[] = [];
    for await (const event of own.consume({ lockMs: 1_000, batchSize: 2 })) {
      seen.push(event.json<{ number: number }>().number);
      if (seen.length === 1) await sleep(1_500);
      event.ack();
      if (seen.length >= 6) break;
    }
    expect(seen).toEqual([0, 1, 0, 1, 2, 3]);
  });

  test("two workers of one client share the events without an error, each event once", async () => {
    const { topic } = await newTopic(40);
    const stop = new AbortController();
    const seen: number[] = [];
    const worker = (): Promise<void> =>
      topic.process(
        async (event) => {
          await sleep(1);
          seen.push(event.json<{ number: number }>().number);
          if (seen.length === 40) stop.abort();
        },
        { batchSize: 5, signal: stop.signal, maxIdleMs: 20 },
      );
    await Promise.all([worker(), worker()]);
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, at) => at));
  });

  test("handles events at once up to the concurrency, and stops after those in work", async () => {
    const { topic } = await newTopic(30);
    const stop = new AbortController();
    let running = 0;
    let most = 0;
    let done = 0;
    await topic.process(
      async () => {
        most = Math.max(most, (running += 1));
        await sleep(20);
        running -= 1;
        if ((done += 1) === 15) stop.abort();
      },
      { concurrency: 5, signal: stop.signal },
    );
    expect(most).toBe(5);
    expect(running).toBe(0);
    expect(done).toBeLessThan(21);
    expect((await topic.status()).lag).toBeLessThanOrEqual(30 - 15);
  });

  test("brings an event whose handler failed again, and tells of the failure", async () => {
    const { topic } = await newTopic(3);
    const stop = new AbortController();
    const seen: string[] = [];
    const errors: unknown[] = [];
    await topic.process(
      (event) => {
        seen.push(`${event.json<{ number: number }>().number}/${event.attempt}`);
        if (seen.length === 2) throw new Error("a poor moment");
        if (seen.length === 4) stop.abort();
      },
      { signal: stop.signal, onError: (error) => errors.push(error) },
    );
    expect(seen).toEqual(["0/1", "1/1", "1/2", "2/2"]);
    expect(errors).toEqual([new Error("a poor moment")]);
  });

  test("gets an event by one request that waits for it", async () => {
    const { topic } = await newTopic(0);
    const { fetch, requests } = losing(() => false);
    const own = connect({ fetch }).topic(client.id, topic.eventType);
    const taking = take(own.consume(), 1);
    await sleep(300);
    await topic.publish({ payload: { number: 7 } });
    expect(await taking).toEqual([7]);
    expect(requests.filter((line) => line.endsWith("/read"))).toHaveLength(1);
  });

  test("reads with a cursor of its own under a consumer's name", async () => {
    const { topic } = await newTopic(2);
    const named = plinth.topic(client.id, topic.eventType, { consumer: "audit" });
    expect(await take(named.consume(), 2)).toEqual([0, 1]);
    expect([(await named.status()).lag, (await topic.status()).lag]).toEqual([0, 2]);
    expect(await topic.consumers()).toEqual(["audit"]);
    await topic.removeConsumer("audit");
    expect(await topic.consumers()).toEqual([]);
  });

  test("an aborted signal ends a loop that waits for events", async () => {
    const { topic } = await newTopic(0);
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 150);
    expect(await take(topic.consume({ signal: stop.signal }), 1)).toEqual([]);
  });

  test("leaves nothing locked when it is stopped while an answer is on its way", async () => {
    const { topic } = await newTopic(1);
    const stop = new AbortController();
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const response = await globalThis.fetch(input, init);
      if (new Request(input).url.endsWith("/read")) stop.abort();
      return response;
    };
    const own = connect({ fetch }).topic(client.id, topic.eventType);
    expect(await take(own.consume({ signal: stop.signal }), 1)).toEqual([]);
    const batch = await topic.read();
    expect(numbersOf(batch!.events)).toEqual([0]);
  });

  test("leaves nothing locked when its client is gone while the platform waits", async () => {
    const { topic } = await newTopic(0);
    const address = `${world().base}/pubsub/v1/topics/${client.id}/${topic.eventType}/read`;
    const headers = { authorization: `Bearer ${await plinth.token()}`, prefer: "wait=20" };
    // A connection of its own, which ends without a word.
    const asked = http.request(address, { method: "POST", headers, agent: false }).on("error", () => undefined);
    asked.end();
    await sleep(400);
    asked.destroy();
    await sleep(50);
    await topic.publish({ payload: { number: 9 } });
    const next = async () => (await topic.read().catch(() => undefined))?.events;
    await expect.poll(next, { timeout: 5_000 }).toHaveLength(1);
  });

  test("commits once when the answer to a commit is lost", async () => {
    const { topic } = await newTopic(2);
    const { fetch } = losing((path, nth) => path.endsWith("/commit") && nth === 1);
    const own = connect({ fetch }).topic(client.id, topic.eventType);
    const batch = await own.read();
    await own.commit(batch!.token);
    expect((await topic.status()).lag).toBe(0);
  });

  test("a second reader learns that the topic is locked", async () => {
    const { topic } = await newTopic(1);
    await topic.read();
    const locked = await topic.read().catch((thrown: unknown) => thrown);
    expect(locked).toBeInstanceOf(ConflictError);
    expect(locked).toMatchObject({ type: "topic_locked", status: 409 });
    expect((locked as ConflictError).retryAfterMs).toBeGreaterThan(0);
  });
});

describe("the generated operations", () => {
  test("use the SDK's token and are repeated like its own requests", async () => {
    const { fetch, requests } = losing((path, nth) => path.endsWith("/publish") && nth === 1);
    const { operations } = connect({ fetch });
    const name = fresh("typed");
    expect(await createTopic({ eventType: name }, operations)).toMatchObject({ status: 201 });
    const stored = publishEvents(client.id, name, { payload: "once" }, { idempotencyKey: fresh("key") }, operations);
    const { ids } = await ok(stored);
    expect(requests.filter((request) => request.endsWith("/publish"))).toHaveLength(2);
    expect((await all(plinth.topic(client.id, name).peek())).map(({ id }) => id)).toEqual(ids);
  });

  test("are not repeated if that could do the work twice, and return a refusal as a value", async () => {
    const { fetch, requests } = losing((path) => path.endsWith("/publish"));
    const { operations } = connect({ fetch });
    const name = fresh("typed");
    await ok(createTopic({ eventType: name }, operations));
    const lost = publishEvents(client.id, name, { payload: "once" }, {}, operations);
    await expect(lost).rejects.toBeInstanceOf(UnavailableError);
    expect(requests.filter((request) => request.endsWith("/publish"))).toHaveLength(1);
    const missing = await getTopic(client.id, "nothing", operations);
    expect(missing).toMatchObject({ status: 404, data: { type: "element_resource_non_existing" } });
  });

  test("never send the token to another host", async () => {
    const { operations } = connect();
    await expect(operations.fetch("https://elsewhere.example/")).rejects.toThrow("is not the platform");
  });
});

describe("files", () => {
  test("uploads bytes with metadata, finds them, and gives them back", async () => {
    const album = fresh("album");
    const progress: number[] = [];
    const { id } = await plinth.files.upload(new File(["pixels"], "Bötchen 1.txt", { type: "text/plain" }), {
      metadata: { album },
      tenant: TENANT,
      onProgress: ({ sentBytes }) => progress.push(sentBytes),
    });
    const found = await all(plinth.files.list({ tenant: TENANT, q: `album:${album}` }));
    expect(found).toMatchObject([{ id, size: 6, fileName: "Bötchen 1.txt", "Content-Type": "text/plain" }]);
    expect(await (await plinth.files.download(id)).text()).toBe("pixels");
    expect([progress[0], progress.at(-1)]).toEqual([0, 6]);
    await plinth.files.setMetadata(id, { album, title: "Boats" });
    expect(await plinth.files.metadata(id)).toEqual({ album, title: "Boats" });
    expect(await plinth.files.delete(id)).toMatch(/\/erasures\//);
    await expect(plinth.files.link(id)).rejects.toThrow(NotFoundError);
    expect(await plinth.files.delete(id)).toBeUndefined();
  });

  test("uploads nothing but bytes and texts", async () => {
    const { fetch, requests } = losing(() => false);
    for (const content of [new Blob(["x"]).stream(), { some: "object" }, 7])
      await expect(connect({ fetch }).files.upload(content as unknown as string)).rejects.toThrow(TypeError);
    expect(requests).toEqual([]);
  });

  test("are not deleted by a condition that is misspelt, or that was forgotten", async () => {
    const { id } = await plinth.files.upload("kept");
    const misspelt = { tenant: TENANT, query: "album:none" };
    for (const call of [plinth.files.count, plinth.files.deleteAll]) {
      await expect(call(misspelt)).rejects.toThrow("query is unknown here: give tenant and q.");
      // As from a form without the field.
      const forgotten = call({ tenant: TENANT, q: undefined });
      await expect(forgotten).rejects.toThrow("q is undefined. To mean all files, leave it out.");
    }
    expect(await (await plinth.files.download(id)).text()).toBe("kept");
  });

  test("without an id are not taken for deleted ones", async () => {
    const topic = plinth.topic(client.id, fresh("numbers"));
    for (const id of ["", ".", "..", undefined as unknown as string]) {
      for (const call of [plinth.files.delete, plinth.files.link, plinth.files.metadata, plinth.files.variants])
        await expect(call(id)).rejects.toThrow(InvalidRequestError);
      await expect(topic.removeConsumer(id)).rejects.toThrow("is no name of a consumer");
      expect(() => plinth.topic(client.id, id)).toThrow("is no type of events");
      expect(() => plinth.topic(id, "numbers")).toThrow("is no owner of a topic");
    }
  });

  test("that did not change are not sent again", async () => {
    const { id } = await plinth.files.upload("same", { contentType: "text/plain" });
    const first = await plinth.files.download(id);
    const headers = { "if-none-match": first.headers.get("etag")! };
    expect(await plinth.files.download(id, { headers })).toHaveProperty("status", 304);
  });

  test("have a name even if it is cut in the middle of a character", async () => {
    const { id } = await plinth.files.upload("x", { fileName: "boats \ud83d.txt" });
    const found = await all(plinth.files.list({ sort: "createdAt:desc" }));
    expect(found.find((one) => one.id === id)).toHaveProperty("fileName", "boats \ufffd.txt");
  });

  test("are not asked for when the caller has left", async () => {
    const signal = AbortSignal.abort();
    for (const call of [plinth.files.download, plinth.files.link])
      await expect(call("0".repeat(24), { signal })).rejects.toHaveProperty("name", "AbortError");
  });

  test("shares a file with the tenant's other clients", async () => {
    const other = await makeClient(world(), "reader", {
      scopes: ["plat.media_view"],
      grantTypes: ["client_credentials"],
    });
    const reader = connect({ credentials: { clientId: other.id, clientSecret: other.secret } });
    const own = await plinth.files.upload("mine", { tenant: TENANT, contentType: "text/plain" });
    const { id } = await plinth.files.upload("ours", { tenant: TENANT, contentType: "text/plain", shared: "tenant" });
    expect(await (await reader.files.download(id)).text()).toBe("ours");
    await expect(reader.files.link(own.id)).rejects.toThrow(NotFoundError);
    const found = await all(reader.files.list({ tenant: TENANT, shared: "tenant", client: client.id }));
    expect(found).toMatchObject([{ id, client: client.id, shared: "tenant" }]);
  });

  test("stores a file once when the answers to upload and commit are lost", async () => {
    const album = fresh("album");
    const { fetch, requests } = losing((path, nth) => nth === 1 && /\/(uploads\/|files\/.*\/commit)/.test(path));
    await connect({ fetch }).files.upload("bytes", { metadata: { album }, tenant: TENANT, contentType: "text/plain" });
    expect(requests.filter((line) => line.startsWith("PUT"))).toHaveLength(2);
    // Without a tenant, that of the token is meant.
    expect(await all(plinth.files.list({ q: `album:${album}` }))).toHaveLength(1);
  });

  test("a public file has an address that needs no token", async () => {
    const { id } = await plinth.publicFiles.upload("for all", { tenant: TENANT, contentType: "text/plain" });
    const address = await plinth.publicFiles.link(id);
    expect(await (await fetch(address)).text()).toBe("for all");
    const page = connect({ fetch: inPage });
    expect(await page.publicFiles.link(id)).toBe(address);
    expect(await (await page.publicFiles.download(id)).text()).toBe("for all");
    await expect(page.publicFiles.link("0".repeat(24))).rejects.toThrow(NotFoundError);
  });

  test("lists follow pages to their end", async () => {
    const tenants = await all(plinth.pages<{ id: string }>("/pubsub/v1/topics", { query: { pageSize: 2 } }));
    expect(tenants.length).toBeGreaterThan(5);
  });
});

describe("errors", () => {
  test("carry the service's type, details and request id", async () => {
    const error = await plinth
      .topic(client.id, "no spaces here")
      .create()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error).toMatchObject({
      status: 400,
      type: "validation_violation",
      moreInfo: expect.stringMatching(/#validation/),
    });
    expect((error as InvalidRequestError).details).toMatchObject([{ field: "eventType" }]);
    expect((error as InvalidRequestError).requestId).toMatch(/^[0-9a-f]{32}$/);
  });

  test("a missing scope is a ForbiddenError that names it", async () => {
    const weak = connect({
      credentials: { clientId: client.id, clientSecret: client.secret, scope: `plat.tenant=${TENANT} plat.media_view` },
    });
    const error = await weak.files.upload("x").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ForbiddenError);
    expect((error as ForbiddenError).message).toContain("plat.media_manage");
  });
});

describe("a service that checks tokens", () => {
  const verifier = () => createTokenVerifier({ url: world().base });

  test("learns the caller of a good token, with and without Bearer", async () => {
    const token = await plinth.token();
    for (const header of [token, `Bearer ${token}`, `bearer ${token}`]) {
      const caller = await verifier()(header);
      expect([caller.client, caller.user, [...caller.scopes].includes("plat.media_view")]).toEqual([
        client.id,
        "",
        true,
      ]);
    }
  });

  test.each<[string, (token: string) => string]>([
    ["nothing", () => ""],
    ["another scheme", (token) => `Basic ${token}`],
    ["a changed payload", (token) => changed(token, 1, { exp: 9_999_999_999 })],
    ["no signature", (token) => `${token.slice(0, token.lastIndexOf("."))}.`],
    ["another signature", (token) => `${token.slice(0, token.lastIndexOf("."))}.${"A".repeat(86)}`],
    ["a signature that is cut off", (token) => token.slice(0, -1)],
    ["a signature of one character", (token) => `${token.slice(0, token.lastIndexOf("."))}.A`],
    ["a payload of one character", (token) => token.replace(/\..*\./, ".A.")],
    ["the algorithm none", (token) => changed(token, 0, { alg: "none" })],
    ["the algorithm HS256", (token) => changed(token, 0, { alg: "HS256" })],
    ["another kind of token", (token) => changed(token, 0, { typ: "JWT" })],
    ["an unknown key", (token) => changed(token, 0, { kid: "made-up" })],
    ["a header that is no JSON", (token) => `x.${token.split(".").slice(1).join(".")}`],
  ])("refuses %s", async (_, spoil) => {
    await expect(verifier()(spoil(await plinth.token()))).rejects.toThrow(UnauthorizedError);
  });

  test("refuses a token of another issuer, and one for another service", async () => {
    const elsewhere = createTokenVerifier({
      url: "https://elsewhere.example",
      fetch: () => fetch(`${world().issuer}/jwks`),
    });
    await expect(elsewhere(await plinth.token())).rejects.toThrow(UnauthorizedError);
  });

  test("says that keys cannot be fetched, instead of refusing the caller", async () => {
    const cut = createTokenVerifier({ url: world().base, fetch: () => Promise.reject(new TypeError("down")) });
    await expect(cut(await plinth.token())).rejects.toThrow(UnavailableError);
  });

  test("fetches the keys once for many callers", async () => {
    let fetches = 0;
    const counting = createTokenVerifier({
      url: world().base,
      fetch: (input, init) => {
        fetches += 1;
        return fetch(input, init);
      },
    });
    const token = await plinth.token();
    await Promise.all(Array.from({ length: 10 }, () => counting(token)));
    await counting(changed(token, 0, { kid: "made-up" })).catch(() => undefined);
    expect(fetches).toBe(1);
  });

  frameworkSuite(
    () => plinth,
    () => world().base,
    () => client.id,
  );
});

describe("a push", () => {
  test("is verified by its headers and its body; a changed one is refused", async () => {
    const { topic } = await newTopic(0);
    const receiver = await startReceiver((_, response) => void response.writeHead(204).end());
    try {
      const { signingSecret } = await plinth.request<{ signingSecret: string }>(
        "POST",
        `/pubsub/v1/topics/${client.id}/${topic.eventType}/subscriptions`,
        {
          json: {
            name: "hook",
            pushConfig: { endpoint: `${receiver.origin}/hook`, basicAuth: { username: "a", password: "b" } },
          },
        },
      );
      const [id] = await topic.publish({ payload: "pushed", metadata: { über: "ß" } });
      await expect.poll(() => receiver.received.length, { timeout: 10_000 }).toBe(1);
      const { headers, body } = receiver.received[0]!;
      expect(await verifyWebhook(headers as never, body, signingSecret)).toMatchObject({ id, payload: "pushed" });
      // Some gateways hand on the names in another case.
      const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
      expect(await verifyWebhook(upper as never, body, signingSecret)).toMatchObject({ id });
      await expect(verifyWebhook(headers as never, body.replace("pushed", "forged"), signingSecret)).rejects.toThrow(
        WebhookError,
      );
      await expect(verifyWebhook(headers as never, body, "whsec_AAAA")).rejects.toThrow(WebhookError);
      await expect(
        verifyWebhook({ ...headers, "webhook-timestamp": "1000000000" }, body, signingSecret),
      ).rejects.toThrow("too old");
      await expect(verifyWebhook({}, body, signingSecret)).rejects.toThrow(WebhookError);
      for (const unset of [undefined, [], [undefined]])
        await expect(verifyWebhook(headers as never, body, unset as never)).rejects.toThrow("secret is missing");
    } finally {
      await receiver.close();
    }
  });
});

/** The token with other fields in its header (0) or payload (1), under the old signature. */
function changed(token: string, part: 0 | 1, fields: object): string {
  const parts = token.split(".");
  const value = JSON.parse(Buffer.from(parts[part]!, "base64url").toString()) as object;
  parts[part] = Buffer.from(JSON.stringify({ ...value, ...fields })).toString("base64url");
  return parts.join(".");
}
