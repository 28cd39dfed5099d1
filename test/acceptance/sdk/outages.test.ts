import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import {
  createPlinth,
  createTokenVerifier,
  UnauthorizedError,
  UnavailableError,
  type Plinth,
} from "../../../packages/sdk/src/index.ts";
import { useSharedWorld } from "../support/use-world.ts";
import { makeClient, type Client } from "../support/world.ts";

/** The SDK while the platform does not answer. */
const world = useSharedWorld("plain");
let client: Client;
let plinth: Plinth;

beforeAll(async () => {
  const scopes = ["plat.pubsub_publish", "plat.media_view", "plat.media_manage"];
  client = await makeClient(world(), "sdkoutages", { scopes, grantTypes: ["client_credentials"] });
  plinth = connect(fetch);
});

const connect = (fetch: typeof globalThis.fetch): Plinth =>
  createPlinth({ url: world().base, credentials: { clientId: client.id, clientSecret: client.secret }, fetch });

describe("a service that checks tokens", () => {
  /** What a fetch of keys takes that does not get the published ones. */
  const SILENCE_MS = 1_000;

  afterEach(() => vi.restoreAllMocks());

  /** A verifier, its token, and the platform's keys, until they are withdrawn or the platform falls silent. */
  async function checking() {
    const keys = { state: "published", fetches: 0 };
    const verify = createTokenVerifier({
      url: world().base,
      // The tokens of these tests outlive the clock that the tests move.
      clockToleranceSec: 1_000_000,
      fetch: async (input) => {
        keys.fetches += 1;
        const { state } = keys;
        if (state === "published") return fetch(input);
        // `gone`: as in a Worker whose request has ended.
        await (state === "gone" ? new Promise(() => undefined) : sleep(SILENCE_MS));
        if (state === "silent") throw new TypeError("fetch failed");
        return Response.json({ keys: [] });
      },
    });
    const token = await plinth.token();
    await verify(token);
    return { keys, verify, token, unknown: ofUnknownKey(token) };
  }

  function later(ms: number): void {
    const aheadMs = Date.now() - performance.now() + ms;
    vi.spyOn(Date, "now").mockImplementation(() => aheadMs + performance.now());
  }

  async function msOf(work: () => Promise<unknown>): Promise<number> {
    const beganMs = performance.now();
    await work();
    return performance.now() - beganMs;
  }

  function ofUnknownKey(token: string): string {
    const [head = "", ...rest] = token.split(".");
    const named = { ...(JSON.parse(Buffer.from(head, "base64url").toString()) as object), kid: "made-up" };
    return [Buffer.from(JSON.stringify(named)).toString("base64url"), ...rest].join(".");
  }

  test("waits for no known key while the platform is silent", async () => {
    const { keys, verify, token, unknown } = await checking();
    keys.state = "silent";
    later(1_801_000);
    const together = () => Promise.all(Array.from({ length: 6 }, () => verify(token)));
    expect(await msOf(together)).toBeLessThan(SILENCE_MS / 2);
    expect(keys.fetches).toBe(2);
    await sleep(SILENCE_MS * 1.5);
    // Nothing is asked again so soon, not for a token of another key either.
    await verify(token);
    await expect(verify(unknown)).rejects.toThrow(UnavailableError);
    expect(keys.fetches).toBe(2);
    later(1_805_000);
    expect(await msOf(together)).toBeLessThan(SILENCE_MS / 2);
    expect(keys.fetches).toBe(3);
    await sleep(SILENCE_MS * 1.5);
    keys.state = "withdrawn";
    later(11_000);
    await verify(token);
    await sleep(SILENCE_MS * 1.5);
    await expect(verify(token)).rejects.toThrow(UnauthorizedError);
  });

  test("accepts no key that was withdrawn after a quiet hour", async () => {
    const { keys, verify, token } = await checking();
    keys.state = "silent";
    later(3_601_000);
    // One check waits for the silent platform; the next one, and those of the next hour, do not.
    expect(await msOf(() => verify(token))).toBeGreaterThan(SILENCE_MS / 2);
    expect(await msOf(() => verify(token))).toBeLessThan(SILENCE_MS / 2);
    keys.state = "withdrawn";
    later(3_601_000);
    await expect(verify(token)).rejects.toThrow(UnauthorizedError);
  });

  test("is not held up by a fetch that never ends", async () => {
    const { keys, verify, token, unknown } = await checking();
    keys.state = "gone";
    later(1_801_000);
    await verify(token);
    keys.state = "published";
    await expect(verify(unknown)).rejects.toThrow(UnauthorizedError);
    keys.state = "gone";
    later(11_000);
    await expect(verify(unknown)).rejects.toThrow(UnavailableError);
    keys.state = "published";
    later(11_000);
    await expect(verify(unknown)).rejects.toThrow(UnauthorizedError);
  });
});

describe("a loop over events", () => {
  /** A topic with an event, and a client whose connection can be cut for requests to a path. */
  async function cutting() {
    const credentials = { clientId: client.id, clientSecret: client.secret };
    const topic = plinth.topic(client.id, `loop${(count += 1)}`);
    await topic.create();
    await topic.publish({ payload: "first" });
    const network = { cut: "none", requests: 0 };
    const overNetwork: typeof globalThis.fetch = async (input, init) => {
      if (!new Request(input).url.endsWith(network.cut)) return fetch(input, init);
      network.requests += 1;
      throw new TypeError("fetch failed");
    };
    const own = createPlinth({ url: world().base, credentials, fetch: overNetwork, attempts: 1 });
    return { topic, network, own: own.topic(client.id, topic.eventType) };
  }
  let count = 0;

  test.each(["consume", "process"])("goes on after an outage: %s", async (how) => {
    const { topic, network, own } = await cutting();
    const stop = new AbortController();
    const [seen, told]: [string[], unknown[]] = [[], []];
    const handle = ({ payload }: { payload: string }): void => {
      seen.push(payload);
      if (seen.length === 1) network.cut = "/read";
      else stop.abort();
    };
    const onUnavailable = async (error: unknown) => {
      told.push(error);
      if (told.length < 2) return;
      network.cut = "none";
      await topic.publish({ payload: "second" });
    };
    const options = { signal: stop.signal, onUnavailable };
    if (how === "process") await own.process(handle, options);
    else for await (const event of own.consume(options)) handle(event);
    expect(seen).toEqual(["first", "second"]);
    expect(told).toEqual([expect.any(UnavailableError), expect.any(UnavailableError)]);
  });

  test.each(["consume", "process"])("brings what it could not commit again: %s", async (how) => {
    const { network, own } = await cutting();
    const stop = new AbortController();
    const attempts: number[] = [];
    const handle = ({ attempt }: { attempt: number }): void => {
      attempts.push(attempt);
      network.cut = attempt === 1 ? "/commit" : "none";
      if (attempt === 2) stop.abort();
    };
    const options = { signal: stop.signal, lockMs: 1_000 };
    if (how === "process") await own.process(handle, options);
    else for await (const event of own.consume(options)) handle(event);
    expect(attempts).toEqual([1, 2]);
  });

  test("ends with the first read that fails, with what onUnavailable throws, and when it is left", async () => {
    const { network, own } = await cutting();
    network.cut = "/read";
    await expect(own.consume().next()).rejects.toThrow(UnavailableError);
    network.cut = "none";
    const refusing = own.consume({ onUnavailable: () => Promise.reject(new Error("enough")) });
    expect((await refusing.next()).value).toMatchObject({ payload: "first" });
    network.cut = "/read";
    await expect(refusing.next()).rejects.toThrow("enough");
    const leaving = await cutting();
    const loop = leaving.own.consume();
    await loop.next();
    leaving.network.cut = "/release";
    await expect(loop.return()).rejects.toThrow(UnavailableError);
  });

  test("that waits for the platform ends when it is stopped", async () => {
    const { network, own } = await cutting();
    const stop = new AbortController();
    const loop = own.consume({ signal: stop.signal, onUnavailable: () => void setTimeout(() => stop.abort(), 50) });
    await loop.next();
    network.cut = "/read";
    expect(await loop.next()).toMatchObject({ done: true });
  });
});

describe("a download", () => {
  /** A client whose links of downloads fail in these ways before they work. */
  function overPoorLinks(...failures: (() => Response)[]) {
    const own = connect(async (input, init) => {
      const { pathname } = new URL(new Request(input).url);
      const isLink = (init?.method ?? "GET") === "GET" && !pathname.startsWith("/media/v2/files/");
      return (isLink ? failures.shift()?.() : undefined) ?? fetch(input, init);
    });
    return { own, failures };
  }

  const silent = (): Response => {
    throw new TypeError("fetch failed");
  };
  const busy = (retryAfterSec: number) => (): Response =>
    Response.json({ type: "service_unavailable" }, { status: 503, headers: { "retry-after": String(retryAfterSec) } });

  test("is repeated after no answer and after Retry-After", async () => {
    const { id } = await plinth.files.upload("some bytes");
    const { own } = overPoorLinks(silent, busy(1));
    const beganMs = performance.now();
    expect(await (await own.files.download(id)).text()).toBe("some bytes");
    expect(performance.now() - beganMs).toBeGreaterThan(900);
  });

  test.each([
    ["to the end", Array.from({ length: 5 }, () => silent)],
    ["for long", [busy(61), busy(61)]],
  ])("that fails %s is an UnavailableError", async (_, given) => {
    const { id } = await plinth.files.upload("some bytes");
    const { own, failures } = overPoorLinks(...given);
    await expect(own.files.download(id)).rejects.toThrow(UnavailableError);
    expect(failures).toHaveLength(1);
  });

  test("ends with the reason of its signal", async () => {
    const { id } = await plinth.files.upload("some bytes");
    const { own } = overPoorLinks(busy(30));
    const downloading = own.files.download(id, { signal: AbortSignal.timeout(500) });
    await expect(downloading).rejects.toHaveProperty("name", "TimeoutError");
  });
});
