import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { publishEvents } from "../../../api/plinth.ts";
import {
  ConflictError,
  createPlinth,
  InvalidRequestError,
  NotFoundError,
  RateLimitError,
  UnavailableError,
  type Plinth,
  type PlinthOptions,
  type Topic,
} from "../../../packages/sdk/src/index.ts";
import { useSharedWorld } from "../support/use-world.ts";
import { makeClient, type Client } from "../support/world.ts";
import { breaking, losing, poorNetwork, slowBody } from "./network.ts";

/** The SDK against a started platform over a poor network, and with handlers that fail. */
const world = useSharedWorld("plain");
let client: Client;
let plinth: Plinth;
let count = 0;
const fresh = (name: string): string => `${name}${(count += 1)}`;

beforeAll(async () => {
  const scopes = ["plat.pubsub_publish", "plat.media_view", "plat.media_manage"];
  client = await makeClient(world(), "sdkfaults", { scopes, grantTypes: ["client_credentials"] });
  plinth = connect();
});

const connect = (more: Partial<PlinthOptions> = {}): Plinth =>
  createPlinth({ url: world().base, credentials: { clientId: client.id, clientSecret: client.secret }, ...more });

/** A new topic with this many events, and the same topic over another network. */
async function newTopic(events: number, fetch: typeof globalThis.fetch = globalThis.fetch) {
  const topic = plinth.topic(client.id, fresh("faults"));
  await topic.create();
  if (events > 0) await topic.publish(Array.from({ length: events }, (_, number) => ({ payload: { number } })));
  return { topic, own: connect({ fetch }).topic(client.id, topic.eventType) };
}

async function storedIn(topic: Topic): Promise<string[]> {
  const payloads: string[] = [];
  for await (const { payload } of topic.peek()) payloads.push(payload);
  return payloads;
}

const refusal = (status: number, body: object, headers: Record<string, string> = {}): Response =>
  Response.json({ status, message: "no", ...body }, { status, headers });

const to = (ending: string) => (path: string, nth: number) => path.endsWith(ending) && nth === 1;

describe("an answer that breaks off", () => {
  const cut = breaking(to("/publish"));

  test("of a publish is asked for again, and the event is stored once", async () => {
    const { topic, own } = await newTopic(0, cut.fetch);
    const [id] = await own.publish({ payload: "once" });
    expect(cut.requests.filter((request) => request.endsWith("/publish"))).toHaveLength(2);
    expect((await topic.read())?.events.map((event) => event.id)).toEqual([id]);
  });

  test("of a read is asked for again, and brings the same batch", async () => {
    const { own } = await newTopic(2, breaking(to("/read")).fetch);
    const batch = await own.read();
    expect(batch?.events).toHaveLength(2);
    await own.commit(batch!.token);
  });

  test.each(["/token", "/topics"])("of %s is asked for again", async (path) => {
    const { fetch, requests } = breaking(to(path));
    const own = connect({ fetch });
    expect((await own.topics().next()).done).toBe(false);
    expect(requests.filter((request) => request.endsWith(path))).toHaveLength(2);
  });

  test("of a refusal is asked for again", async () => {
    const { own } = await newTopic(1, breaking(to("/commit")).fetch);
    const batch = await plinth.topic(client.id, own.eventType).read();
    await plinth.topic(client.id, own.eventType).commit(batch!.token);
    // The details of the refusal say that the commit worked before.
    await own.commit(batch!.token);
  });

  test("every time is an UnavailableError, and so is a success that is not JSON", async () => {
    const { topic } = await newTopic(0);
    const { fetch } = breaking((path) => path.endsWith("/publish"));
    const own = connect({ fetch, attempts: 2 }).topic(client.id, topic.eventType);
    await expect(own.publish({ payload: "x" })).rejects.toThrow(UnavailableError);
    const page = poorNetwork((path, _, pass) => (path.endsWith("/topics") ? new Response("<p>Welcome</p>") : pass()));
    const topics = connect({ fetch: page.fetch, attempts: 2 }).topics();
    await expect(topics.next()).rejects.toThrow(UnavailableError);
  });

  test("is asked for again by the generated operations too", async () => {
    const { topic } = await newTopic(0);
    const { fetch } = breaking(to("/publish"));
    const key = { idempotencyKey: fresh("key") };
    const { operations } = connect({ fetch });
    const stored = await publishEvents(client.id, topic.eventType, { payload: "once" }, key, operations);
    expect(stored).toMatchObject({ status: 201, data: { ids: [expect.any(String)] } });
    expect(await storedIn(topic)).toEqual(["once"]);
  });
});

describe("the limit of time", () => {
  /** Answers each request but that for a token with a body of 900 ms. */
  const slow =
    (contentType: string): typeof globalThis.fetch =>
    async (input, init) =>
      new Request(input).url.endsWith("/token")
        ? globalThis.fetch(input, init)
        : new Response(slowBody(["[", "1", "]"], 300, init?.signal), { headers: { "content-type": contentType } });

  test("holds for JSON with its body", async () => {
    const own = connect({ fetch: slow("application/json"), timeoutMs: 500, attempts: 1 });
    await expect(own.request("GET", "/slow")).rejects.toThrow(UnavailableError);
    await expect(own.operations.fetch(`${world().base}/slow`)).rejects.toThrow(UnavailableError);
    const patient = connect({ fetch: slow("application/json"), timeoutMs: 5_000 });
    expect(await patient.request("GET", "/slow")).toEqual([1]);
    expect(await (await patient.operations.fetch(`${world().base}/slow`)).json()).toEqual([1]);
  });

  test("cuts no stream", async () => {
    const own = connect({ fetch: slow("text/plain"), timeoutMs: 500 });
    const response = await own.operations.fetch(`${world().base}/slow`);
    expect(await response.text()).toBe("[1]");
  });
});

describe("a batch", () => {
  test("is given back when onError throws, after the other workers have ended", async () => {
    const { fetch, requests } = losing(() => false);
    const { topic, own } = await newTopic(2, fetch);
    let ended = false;
    const working = own.process(
      async (event) => {
        if (event.json<{ number: number }>().number === 1) throw new Error("a poor moment");
        await sleep(300);
        ended = true;
      },
      {
        lockMs: 1_000,
        concurrency: 2,
        onError: (error) => {
          throw error;
        },
      },
    );
    await expect(working).rejects.toThrow("a poor moment");
    expect(ended).toBe(true);
    // Nothing renews the lock any more, and the event that was handled is committed.
    await sleep(1_200);
    expect(requests.filter((request) => request.endsWith("/extend"))).toEqual([]);
    expect((await topic.read())?.events.map(({ payload }) => payload)).toEqual(['{"number":1}']);
  });

  test("is given back when onError rejects", async () => {
    const { topic } = await newTopic(1);
    const fail = (): never => {
      throw new Error("a poor moment");
    };
    const onError = (): Promise<never> => Promise.reject(new Error("no log"));
    await expect(topic.process(fail, { onError })).rejects.toThrow("no log");
    expect((await topic.read())?.events).toHaveLength(1);
  });

  test("is given back when onLost throws", async () => {
    const lost = poorNetwork(async (path, _, pass) => {
      const response = await pass();
      if (!path.endsWith("/read")) return response;
      return new Response(response.body, {
        status: response.status,
        headers: { ...Object.fromEntries(response.headers), "x-plat-events-lost": "2" },
      });
    });
    const { topic, own } = await newTopic(1, lost.fetch);
    const onLost = (events: number): never => {
      throw new Error(`${events} lost`);
    };
    await expect(own.consume({ onLost }).next()).rejects.toThrow("2 lost");
    expect((await topic.read())?.events).toHaveLength(1);
  });

  test("is not lost when a renewal comes too often", async () => {
    const often = poorNetwork((path, nth, pass) =>
      to("/extend")(path, nth) ? refusal(429, { type: "insufficient_resources" }, { "retry-after": "61" }) : pass(),
    );
    const { topic, own } = await newTopic(2, often.fetch);
    const seen: number[] = [];
    for await (const event of own.consume({ lockMs: 2_000 })) {
      seen.push(event.json<{ number: number }>().number);
      if (seen.length === 1) await sleep(2_500);
      if (seen.length < 2) continue;
      event.ack();
      break;
    }
    expect(seen).toEqual([0, 1]);
    expect((await topic.status()).lag).toBe(0);
  });

  test("is committed at once while a renewal waits for its next attempt", async () => {
    const busy = poorNetwork((path, _, pass) =>
      path.endsWith("/extend") ? refusal(429, { type: "insufficient_resources" }, { "retry-after": "30" }) : pass(),
    );
    const { topic, own } = await newTopic(1, busy.fetch);
    for await (const event of own.consume({ lockMs: 3_000 })) {
      await sleep(1_700);
      event.ack();
      break;
    }
    expect((await topic.status()).lag).toBe(0);
  });

  test("is released once when the answer is lost", async () => {
    const { topic, own } = await newTopic(2, losing(to("/release")).fetch);
    const batch = await own.read();
    await own.release(batch!.token);
    const again = await topic.read();
    expect(again?.events).toHaveLength(2);
    const through = losing(to("/release")).fetch;
    const second = connect({ fetch: through }).topic(client.id, topic.eventType);
    await second.release(again!.token, again!.events[0]!.id);
    expect((await topic.status()).lag).toBe(1);
  });

  test("that is lost is not released through an event", async () => {
    const { topic } = await newTopic(2);
    const batch = await topic.read();
    await topic.release(batch!.token);
    const late = await topic.release(batch!.token, batch!.events[0]!.id).catch((thrown: unknown) => thrown);
    expect(late).toBeInstanceOf(ConflictError);
    expect((late as ConflictError).has("lock_expired")).toBe(true);
  });
});

describe("create", () => {
  test("returns false for a topic that exists", async () => {
    const { topic } = await newTopic(0);
    expect(await topic.create()).toBe(false);
  });

  // Answers in the platform's form: a deletion is over too soon to meet it, and a thousand topics take long.
  test.each(["topic_deletion_in_progress", "too_many_topics"])("throws for %s", async (type) => {
    const refusing = poorNetwork((path, _, pass) =>
      path.endsWith("/topics") ? refusal(409, { type: "conflict_resource", details: [{ type }] }) : pass(),
    );
    const own = connect({ fetch: refusing.fetch }).topic(client.id, fresh("faults"));
    const thrown = await own.create().catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(ConflictError);
    expect((thrown as ConflictError).has(type)).toBe(true);
  });
});

describe("a publisher", () => {
  const outcomes = async (publishing: readonly Promise<string>[]): Promise<string[]> =>
    (await Promise.allSettled(publishing)).map(({ status }) => status);

  test("rejects the events that are refused and stores the others in order", async () => {
    const { topic } = await newTopic(0);
    const publisher = topic.publisher();
    const events = [
      { payload: "a" },
      { payload: undefined },
      { payload: "b", tenant: "not a tenant" },
      { payload: "c", tenant: "nobodys" },
      { payload: "d", metadata: { big: "x".repeat(100_000) } },
      { payload: "e" },
    ];
    const publishing = events.map((event) => publisher.publish(event));
    expect(await outcomes(publishing)).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
      "rejected",
      "rejected",
      "fulfilled",
    ]);
    await expect(publishing[1]).rejects.toThrow(TypeError);
    await expect(publishing[2]).rejects.toThrow(InvalidRequestError);
    expect(await storedIn(topic)).toEqual(["a", "e"]);
  });

  test("rejects the events of a request that fails, and no others", async () => {
    // The second request is refused as a whole.
    const refusing = poorNetwork((path, nth, pass) =>
      path.endsWith("/publish") && nth === 2
        ? refusal(429, { type: "insufficient_resources" }, { "retry-after": "61" })
        : pass(),
    );
    const { topic, own } = await newTopic(0, refusing.fetch);
    const publisher = own.publisher({ maxEvents: 2_500 });
    const publishing = Array.from({ length: 2_500 }, (_, number) => publisher.publish({ payload: String(number) }));
    const ends = await outcomes(publishing);
    const expected = [1_000, 1_000, 500].flatMap((length, at) =>
      Array(length).fill(at === 1 ? "rejected" : "fulfilled"),
    );
    expect(ends).toEqual(expected);
    await expect(publishing[1_000]).rejects.toThrow(RateLimitError);
    const numbers = Array.from({ length: 2_500 }, (_, number) => String(number));
    expect(await storedIn(topic)).toEqual(numbers.filter((_, at) => ends[at] === "fulfilled"));
  });
});

describe("an upload leaves no file", () => {
  const refused = refusal(409, { type: "conflict_resource" });
  const stop = new AbortController();
  const endings: [string, Parameters<typeof poorNetwork>[0]][] = [
    ["when its bytes are refused", (path, _, pass) => (path.includes("/uploads/") ? refused.clone() : pass())],
    ["when its commit is refused", (path, _, pass) => (path.endsWith("/commit") ? refused.clone() : pass())],
    [
      "when it is aborted while its commit is on its way",
      async (path, _, pass) => {
        const answer = await pass();
        if (!path.endsWith("/commit")) return answer;
        stop.abort();
        throw stop.signal.reason;
      },
    ],
  ];

  test.each(endings)("%s", async (_, change) => {
    let id = "";
    const { fetch } = poorNetwork(async (path, nth, pass) => {
      const answer = await change(path, nth, pass);
      if (path.endsWith("/files")) ({ id } = (await answer.clone().json()) as { id: string });
      return answer;
    });
    const own = connect({ fetch });
    await expect(own.files.upload("bytes", { signal: stop.signal })).rejects.toThrow();
    // A second commit tells whether there is one.
    const commit = plinth.request("POST", `/media/v2/files/${id}/commit`, { json: {} });
    await expect(commit).rejects.toThrow(NotFoundError);
  });
});

test("an upload waits for its earlier attempt, whose answer was lost, and which is still being stored", async () => {
  const busy = refusal(409, { type: "conflict_resource", details: [{ type: "upload_changed" }] });
  const { fetch, requests } = poorNetwork((path, nth, pass) => {
    if (!path.includes("/uploads/") || nth > 2) return pass();
    return nth === 1 ? Promise.reject(new TypeError("cut")) : busy.clone();
  });
  const { id } = await connect({ fetch }).files.upload("bytes", { contentType: "text/plain" });
  expect(await (await plinth.files.download(id)).text()).toBe("bytes");
  expect(requests.filter((request) => request.includes("/uploads/"))).toHaveLength(3);
  const foreign = poorNetwork((path, _, pass) => (path.includes("/uploads/") ? busy.clone() : pass()));
  await expect(connect({ fetch: foreign.fetch }).files.upload("bytes")).rejects.toThrow(ConflictError);
});

test("an upload in a page that is aborted before it begins sends nothing", async () => {
  const sent: unknown[] = [];
  class Xhr {
    readonly upload = { addEventListener: () => undefined };
    readonly addEventListener = () => undefined;
    readonly open = () => undefined;
    readonly setRequestHeader = () => undefined;
    send(body: unknown): void {
      sent.push(body);
    }
  }
  vi.stubGlobal("XMLHttpRequest", Xhr);
  vi.resetModules();
  const { createPlinth: inPage } = await import("../../../packages/sdk/src/index.ts");
  const own = inPage({ url: world().base, credentials: { clientId: client.id, clientSecret: client.secret } });
  const stop = new AbortController();
  const uploading = own.files.upload("bytes", { signal: stop.signal, onProgress: () => stop.abort() });
  await Promise.race([expect(uploading).rejects.toHaveProperty("name", "AbortError"), sleep(2_000)]);
  expect(sent).toEqual([]);
  vi.unstubAllGlobals();
});

test("a download without an answer is an UnavailableError", async () => {
  const { id } = await plinth.files.upload("bytes", { contentType: "text/plain" });
  const { fetch } = poorNetwork((path, _, pass) =>
    path.startsWith("/media/v2/files/") || path.endsWith("/token") ? pass() : Promise.reject(new TypeError("cut")),
  );
  await expect(connect({ fetch }).files.download(id)).rejects.toThrow(UnavailableError);
});

test("a download whose answer does not come in time is asked for again; its body may take longer", async () => {
  const { id } = await plinth.files.upload("bytes", { contentType: "text/plain" });
  let asked = 0;
  const silentOnce: typeof globalThis.fetch = async (input, init) => {
    const { pathname } = new URL(new Request(input).url);
    if (pathname.startsWith("/media/v2/files/") || pathname.endsWith("/token")) return globalThis.fetch(input, init);
    asked += 1;
    if (asked > 1) return new Response(slowBody(["by", "tes"], 500, init?.signal));
    return new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));
  };
  const own = connect({ fetch: silentOnce, timeoutMs: 400 });
  const answer = await Promise.race([own.files.download(id), sleep(5_000)]);
  expect(await answer?.text()).toBe("bytes");
  expect(asked).toBe(2);
});
