import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createPlinth, createTokenVerifier, UnavailableError, type Plinth } from "../../../packages/sdk/src/index.ts";

/** The SDK's tokens while the token endpoint fails in ways that a platform seldom shows. */
type TokenAnswer = () => Response | Promise<Response>;

let number = 0;
let timeoutMs = 1_000;
const granted = () => Response.json({ access_token: `token ${(number += 1)}`, expires_in: 3_600 });
const busy = (retryAfterSec: number) =>
  Response.json(
    { error: "temporarily_unavailable" },
    { status: 503, headers: { "retry-after": String(retryAfterSec) } },
  );
const never = () => new Promise<Response>(() => undefined);

/** A client whose first token requests get these answers; the last of them counts for all later ones. */
function connect(...answers: [TokenAnswer, ...TokenAnswer[]]): { own: Plinth; asked: () => number } {
  let asked = 0;
  const own = createPlinth({
    url: "https://platform.example",
    credentials: { clientId: "a", clientSecret: "b" },
    timeoutMs,
    fetch: async (input, init) => {
      if (!new Request(input).url.endsWith("/token"))
        return Response.json({ with: new Headers(init?.headers).get("authorization") });
      const answer = answers[Math.min(asked, answers.length - 1)]!;
      asked += 1;
      return answer();
    },
  });
  return { own, asked: () => asked };
}

async function msOf(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await work();
  return performance.now() - beganMs;
}

function later(ms: number): void {
  const aheadMs = Date.now() - performance.now() + ms;
  vi.spyOn(Date, "now").mockImplementation(() => aheadMs + performance.now());
}

afterEach(() => {
  timeoutMs = 1_000;
  vi.restoreAllMocks();
});

describe("a mistake in the settings", () => {
  test.each(["", undefined])("names a secret that is missing: %j", async (clientSecret) => {
    const fetch = vi.fn<typeof globalThis.fetch>();
    const credentials = { clientId: "a", clientSecret: clientSecret as string };
    const own = createPlinth({ url: "https://platform.example", credentials, fetch });
    await expect(own.token()).rejects.toThrow(/^credentials\.clientSecret is missing/);
    expect(fetch).not.toHaveBeenCalled();
  });

  test.each(["127.0.0.1:8787", "localhost:8787", "platform.example"])(
    "is an address without https: %s",
    async (url) => {
      const fetch = vi.fn(globalThis.fetch);
      const byClient = createPlinth({ url, credentials: { clientId: "a", clientSecret: "b" }, fetch });
      const byPerson = createPlinth({ url, credentials: () => "token", fetch });
      const begins = /begin with https:\/\/ or http:\/\//;
      await expect(byClient.token()).rejects.toThrow(begins);
      await expect(byPerson.request("GET", "/pubsub/v1/topics")).rejects.toThrow(begins);
      expect(() => createTokenVerifier({ url })).toThrow(begins);
      // The token's request was tried once and not again, the other one not at all.
      expect(fetch).toHaveBeenCalledTimes(1);
    },
  );
});

describe("a request of a token", () => {
  test("that never ends, as in a Worker whose request has ended, holds nobody up for long", async () => {
    const { own } = connect(never, granted);
    void own.token();
    await sleep(100);
    expect(await Promise.all([own.token(), own.token()])).toEqual([await own.token(), await own.token()]);
  });

  test("that is slow is not waited for alone, and brings a token to all when it ends", async () => {
    timeoutMs = 30_000;
    const { own, asked } = connect(async () => (await sleep(6_500), granted()), never);
    const [first, second] = await Promise.all([own.token(), own.token()]);
    expect([first, asked()]).toEqual([second, 2]);
  });

  test("is repeated after a short Retry-After; after a long one the error goes to the caller", async () => {
    const short = connect(() => busy(1), granted);
    expect(await msOf(() => short.own.token())).toBeGreaterThan(900);
    await expect(connect(() => busy(61)).own.token()).rejects.toThrow(UnavailableError);
  });

  test.each([
    ["nothing", () => new Response(null, { status: 200 })],
    ["no token", () => Response.json({})],
    ["no end", () => Response.json({ access_token: "endless" })],
    ["null", () => Response.json(null)],
  ])("that brings %s is repeated", async (_, broken) => {
    const { own, asked } = connect(broken, granted);
    expect(await own.token()).toMatch(/^token/);
    expect(asked()).toBe(2);
  });

  test("is waited for only until the caller's signal aborts, and goes on for the others", async () => {
    const { own } = connect(async () => (await sleep(700), granted()));
    const patient = own.token();
    const signal = AbortSignal.timeout(100);
    const impatient = own.request("GET", "/somewhere", { signal });
    await expect(impatient).rejects.toHaveProperty("name", "TimeoutError");
    await expect(own.request("GET", "/somewhere", { signal })).rejects.toHaveProperty("name", "TimeoutError");
    expect(await own.request("GET", "/somewhere")).toEqual({ with: `Bearer ${await patient}` });
  });
});

describe("a token that is valid for less than a minute", () => {
  test("serves while another one is on its way, however long that takes", async () => {
    const { own, asked } = connect(granted, () => busy(30), granted);
    const first = await own.token();
    later(3_550_000);
    expect(await msOf(async () => expect(await own.token()).toBe(first))).toBeLessThan(500);
    expect(await msOf(async () => expect(await own.token()).toBe(first))).toBeLessThan(500);
    expect(asked()).toBe(2);
    later(3_601_000);
    expect(await own.token()).not.toBe(first);
  });

  test("is replaced beside the requests", async () => {
    const { own, asked } = connect(granted);
    const first = await own.token();
    later(3_550_000);
    await own.token();
    await vi.waitFor(async () => expect(await own.token()).not.toBe(first));
    expect(asked()).toBe(2);
  });
});

test("the clients of a thousand tenants keep their tokens", async () => {
  const { own, asked } = connect(granted);
  const first = await own.forTenant("tenant 0").token();
  for (let tenant = 0; tenant < 1_001; tenant++) {
    await own.forTenant(`tenant ${tenant}`).token();
    expect(await own.forTenant("tenant 0").token()).toBe(first);
  }
  expect(asked()).toBe(1_001);
  await own.forTenant("tenant 1").token();
  expect(asked()).toBe(1_002);
});

test("a client of a tenant asks for its tokens alone, whichever tenant it was for before", async () => {
  const asked: (string | null)[] = [];
  const own = createPlinth({
    url: "https://platform.example",
    credentials: { clientId: "a", clientSecret: "b", scope: "plat.tenant=first notes.read" },
    fetch: async (_, init) => {
      asked.push((init!.body as URLSearchParams).get("scope"));
      return granted();
    },
  });
  await own.token();
  await own.forTenant("second").token();
  await own.forTenant("second").forTenant("third").token();
  expect(asked).toEqual([
    "plat.tenant=first notes.read",
    "plat.tenant=second notes.read",
    "plat.tenant=third notes.read",
  ]);
});

test("a function for tokens that does not answer holds no aborted request up", async () => {
  const own = createPlinth({ url: "https://platform.example", credentials: () => new Promise(() => undefined), fetch });
  const asking = own.request("GET", "/somewhere", { signal: AbortSignal.timeout(100) });
  await expect(asking).rejects.toHaveProperty("name", "TimeoutError");
});
