import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createReservations } from "../../../src/platform/runtime/reservations.ts";
import { counting } from "../../support/counting.ts";
import { encodePng, gradient } from "../../support/images.ts";
import { mediaApp, ORIGIN, START_MS, type MediaApp, type MediaCall } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { stored } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { itAtNight } from "../../support/model-runs.ts";

const TEXT = "0123456789abcdef";
const BYTES = new TextEncoder().encode(TEXT) as Uint8Array<ArrayBuffer>;
const ID = "[0-9a-f]{24}";
const addressOf = (file: { id: string }): string => `/media/v2/content/${file.id}`;

/**
 * An app that counts its calls of D1, R2 and the cache. `cost` returns the calls of a request and of the work after its
 * answer.
 */
function counted(overrides: Parameters<typeof mediaApp>[0] = {}) {
  const { env: bindings, tally, reset } = counting(env);
  const cacheCalls: string[] = [];
  const cache = watchedCache((method, key) => void cacheCalls.push(`${method} ${key}`));
  const edgeCache = { cache, origin: ORIGIN };
  const app = mediaApp({ db: bindings.DB, bucket: bindings.MEDIA, edgeCache, ...overrides });
  const cost = async (...call: Parameters<MediaApp["call"]>) => {
    await app.settle();
    reset();
    cacheCalls.length = 0;
    const answer = await app.call(...call);
    const text = new TextDecoder().decode(await answer.bytes());
    await app.settle();
    return { status: answer.status, text, d1: tally.d1RoundTrips, r2: tally.r2Operations, answer };
  };
  return { app, cost, cacheCalls };
}

function watchedCache(seen: (method: string, key: string) => void): Cache {
  const watch =
    (method: "match" | "put" | "delete") =>
    (key: string, ...more: unknown[]): Promise<unknown> => {
      seen(method, key);
      return (caches.default[method] as (...args: unknown[]) => Promise<unknown>)(key, ...more);
    };
  return { match: watch("match"), put: watch("put"), delete: watch("delete") } as unknown as Cache;
}

const MISS = { d1: 1, r2: { get: 1 } };
const HIT = { d1: 0, r2: {} };
const publicText = {
  type: "text/plain",
  visibility: "public",
  disposition: "x; filename*=UTF-8''n%C3%A9.txt",
} as const;

describe("a copy", () => {
  // shows: media/fetch/public-content
  it("costs neither D1 nor R2, and is served like the original", async () => {
    const { app, cost } = counted();
    const file = await stored(app, BYTES, { as: principal(), ...publicText });
    const first = await cost(addressOf(file));
    expect(first).toMatchObject({ status: 200, text: TEXT, ...MISS });
    const { date: _, "plat-request-id": __, ...headers } = Object.fromEntries(first.answer.headers);
    app.clock.nowMs += 42_999;
    const second = await cost(addressOf(file));
    expect(second).toMatchObject({ status: 200, text: TEXT, ...HIT });
    const { "plat-request-id": ___, ...again } = Object.fromEntries(second.answer.headers);
    expect(again).toEqual({ ...headers, age: "42" });
    expect(again["content-disposition"]).toContain("filename*=UTF-8''n%C3%A9.txt");
  });

  it("serves HEAD, conditions and a range", async () => {
    const { app, cost } = counted();
    const file = await stored(app, BYTES, { as: principal(), ...publicText });
    await cost(addressOf(file));
    const cases: [Record<string, string>, number, string][] = [
      [{ "if-none-match": file.etag }, 304, ""],
      [{ "if-none-match": '"x"' }, 200, TEXT],
      [{ "if-match": '"x"' }, 412, "precondition_failed"],
      [{ range: "bytes=3-5" }, 206, "345"],
      [{ range: "bytes=-2" }, 206, "ef"],
      [{ range: "bytes=0-" }, 206, TEXT],
      [{ range: "bytes=16-" }, 416, "range_not_satisfiable"],
    ];
    for (const [headers, status, text] of cases) {
      const got = await cost(addressOf(file), { headers });
      expect([headers, got.status, got.d1, got.r2]).toEqual([headers, status, 0, {}]);
      if (status > 400) expect(JSON.parse(got.text)).toMatchObject({ type: text });
      else expect(got.text).toBe(text);
    }
    const head = await cost(addressOf(file), { method: "HEAD" });
    expect(head).toMatchObject({ status: 200, text: "", ...HIT });
    expect(head.answer.headers.get("content-length")).toBe("16");
    const several = await cost(addressOf(file), { headers: { range: "bytes=0-1,4-5" } });
    expect(several).toMatchObject({ status: 206, d1: 1, r2: { get: 2 } });
  });

  it("is made of a variant, too", async () => {
    const { app, cost } = counted();
    const picture = await encodePng(gradient(20, 20));
    const file = await stored(app, picture, { as: principal(), visibility: "public", query: "?clip=4x4,5x5" });
    await app.consume();
    const clip = (side: number) => `${addressOf(file)}/clip-${side}x${side}`;
    expect(await cost(clip(4))).toMatchObject({ status: 200, ...MISS });
    const kept = await cost(clip(4));
    expect(kept).toMatchObject({ status: 200, ...HIT });
    expect(await cost(clip(5))).toMatchObject({ status: 200, ...MISS });
    expect(kept.answer.headers.get("etag")).not.toBe((await cost(clip(5))).answer.headers.get("etag"));
    expect(await cost(addressOf(file))).toMatchObject(MISS);
  });

  it("is shared by all hosts", async () => {
    const { app, cost } = counted();
    const file = await stored(app, BYTES, { as: principal(), ...publicText });
    await cost(`https://one.test${addressOf(file)}`);
    expect(await cost(`https://two.test${addressOf(file)}?x=1`)).toMatchObject({ status: 200, ...HIT });
  });

  // shows: media/fetch/edge-cache-lifetime
  it("expires 300 s after the Worker read D1, and is ignored when the clock was set back", async () => {
    const { app, cost } = counted();
    const file = await stored(app, BYTES, { as: principal(), ...publicText });
    await cost(addressOf(file));
    app.clock.nowMs = START_MS + 299_999;
    expect(await cost(addressOf(file))).toMatchObject(HIT);
    app.clock.nowMs = START_MS + 300_000;
    expect(await cost(addressOf(file))).toMatchObject(MISS);
    app.clock.nowMs = START_MS + 299_000;
    expect(await cost(addressOf(file))).toMatchObject(MISS);
  });

  it("is made only by a GET of the whole public content", async () => {
    const { app, cost, cacheCalls } = counted();
    const as = principal();
    const file = await stored(app, BYTES, { as, ...publicText });
    const puts = () => cacheCalls.filter((call) => call.startsWith("put"));
    const inits: MediaCall[] = [
      { method: "HEAD" },
      { headers: { range: "bytes=0-1" } },
      { headers: { range: "bytes=0-1,3-4" } },
      { headers: { "if-none-match": file.etag } },
    ];
    for (const init of inits) {
      await cost(addressOf(file), init);
      expect(puts()).toEqual([]);
    }
    const secret = await stored(app, BYTES, { as, type: "text/plain" });
    const { link } = await expectJson(await app.call(secret.path, { as }), 200);
    for (let again = 0; again < 2; again += 1) {
      expect(await cost(link)).toMatchObject({ status: 200, text: TEXT, ...MISS });
      expect(cacheCalls).toEqual([]);
    }
    const { search } = new URL(link);
    for (const path of [`${addressOf(file)}${search}`, `${addressOf(secret)}?expires=1`]) {
      expect((await cost(path)).status).toBe(403);
      expect(cacheCalls).toEqual([]);
    }
    expect((await cost(addressOf(secret))).status).toBe(404);
    expect(puts()).toEqual([]);
    expect((await cost(`/media/v2/content/${"%F0%9F%98%80".repeat(9)}`)).status).toBe(404);
    expect(cacheCalls).toEqual([]);
    expect(await cost(addressOf(file))).toMatchObject(MISS);
    expect(puts()).toEqual([expect.stringMatching(new RegExp(`^put ${ORIGIN}/edge-cache/v1/content/${ID}/master$`))]);
  });

  itAtNight("is made of an empty file and of 8 MiB, not of longer content", async () => {
    const { app, cost } = counted();
    const as = principal();
    const largest = 8 * 1024 * 1024;
    for (const [length, again] of [
      [0, HIT],
      [largest, HIT],
      [largest + 1, MISS],
    ] as const) {
      const bytes = new Uint8Array(length).fill(97);
      const file = await stored(app, bytes, { as, type: "text/plain", visibility: "public" });
      expect((await cost(addressOf(file))).text.length).toBe(length);
      const second = await cost(addressOf(file));
      expect([second.text.length, second.d1, second.r2]).toEqual([length, again.d1, again.r2]);
    }
  });

  it("is made once for parallel requests of the same content, which all get their answer", async () => {
    const { app, cacheCalls } = counted();
    const file = await stored(app, BYTES, { as: principal(), ...publicText });
    const answers = await Promise.all([app.call(addressOf(file)), app.call(addressOf(file))]);
    for (const answer of answers) expect(await answer.text()).toBe(TEXT);
    await app.settle();
    expect(cacheCalls.filter((call) => call.startsWith("put"))).toHaveLength(1);
  });

  it("is completed though the reader disconnects", async () => {
    const { app, cost } = counted();
    const bytes = new Uint8Array(1_000_000).fill(97);
    const file = await stored(app, bytes, { as: principal(), type: "text/plain", visibility: "public" });
    const answer = await app.call(addressOf(file));
    const reader = answer.body!.getReader();
    await reader.read();
    await reader.cancel();
    await app.settle();
    const kept = await cost(addressOf(file));
    expect([kept.text.length, kept.d1]).toEqual([1_000_000, 0]);
  });

  it("is not made of bytes that break off", async () => {
    const broken = {
      get: async (key: string) => {
        const object = await env.MEDIA.get(key);
        const bytes = await object!.bytes();
        const chunks = [bytes.subarray(0, 8)];
        const body = new ReadableStream({
          pull: (controller) => {
            const chunk = chunks.shift();
            if (chunk === undefined) controller.error(new Error("the storage is gone"));
            else controller.enqueue(chunk);
          },
        });
        return { body };
      },
    };
    const { app } = counted();
    const file = await stored(app, BYTES, { as: principal(), ...publicText });
    const failing = counted({ bucket: broken as unknown as R2Bucket });
    await expect((await failing.app.call(addressOf(file))).text()).rejects.toThrow();
    await failing.app.settle();
    const after = counted();
    expect(await after.cost(addressOf(file))).toMatchObject({ text: TEXT, ...MISS });
  });

  it("costs only a read of D1 and R2 if the cache fails or is missing", async () => {
    const failing = { match: fail, put: fail, delete: fail } as unknown as Cache;
    for (const edgeCache of [{ cache: failing, origin: ORIGIN }, undefined]) {
      const { app, cost } = counted({ edgeCache });
      const as = principal();
      const file = await stored(app, BYTES, { as, ...publicText });
      expect(await cost(addressOf(file))).toMatchObject({ status: 200, text: TEXT, ...MISS });
      expect(await cost(addressOf(file))).toMatchObject({ status: 200, text: TEXT, ...MISS });
      expect((await app.call(file.path, { as, method: "DELETE" })).status).toBe(204);
      expect((await app.call(addressOf(file))).status).toBe(404);
      await app.settle();
    }
  });
});

const fail = async (): Promise<never> => {
  throw new Error("the cache is gone");
};

describe("a deletion", () => {
  // shows: media/fetch/public-content
  it("of a file ends its copies and those of its variants, even those that are still being sent", async () => {
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = new Proxy(env.MEDIA, {
      get: (target, name) =>
        name === "get"
          ? async (...args: [string, R2GetOptions]) => {
              const object = await target.get(...args);
              reached.resolve();
              await gate.promise;
              return object;
            }
          : (target as any)[name].bind(target),
    });
    const { app, cost } = counted();
    const as = principal();
    const picture = await encodePng(gradient(20, 20));
    const file = await stored(app, picture, { as, visibility: "public", query: "?clip=4x4,5x5" });
    await app.consume();
    const clips = [4, 5].map((side) => `${addressOf(file)}/clip-${side}x${side}`);
    for (const path of [addressOf(file), clips[0]!]) {
      await cost(path);
      expect(await cost(path)).toMatchObject({ status: 200, ...HIT });
    }
    // Another request reads D1 before the deletion, and sends and stores the content after it.
    const late = counted({ bucket: slow });
    const sending = late.app.call(clips[1]!);
    await reached.promise;
    app.clock.nowMs += 1000;
    expect((await app.call(file.path, { as, method: "DELETE" })).status).toBe(204);
    for (const path of [addressOf(file), ...clips])
      await expectProblem(await app.call(path), 404, "element_resource_non_existing");
    gate.resolve();
    const answer = await sending;
    expect(answer.status).toBe(200);
    await answer.bytes();
    await late.app.settle();
    for (const at of [0, 4000, 298_000]) {
      app.clock.nowMs = START_MS + 1000 + at;
      for (const path of [addressOf(file), ...clips])
        await expectProblem(await app.call(path), 404, "element_resource_non_existing");
    }
  });

  it("of a variant ends its copy; the master, and the variant made again, are copied anew", async () => {
    const { app, cost } = counted();
    const as = principal();
    const picture = await encodePng(gradient(20, 20));
    const file = await stored(app, picture, { as, visibility: "public", query: "?clip=4x4" });
    await app.consume();
    const clip = `${addressOf(file)}/clip-4x4`;
    for (const path of [addressOf(file), clip]) await cost(path);
    app.clock.nowMs += 1000;
    expect((await app.call(`${file.path}/variants?clip=4x4`, { as, method: "DELETE" })).status).toBe(204);
    await expectProblem(await app.call(clip), 404, "element_resource_non_existing");
    expect(await cost(addressOf(file))).toMatchObject({ status: 200, ...MISS });
    app.clock.nowMs += 10_000;
    await expectJson(await app.call(`${file.path}/variants?clip=4x4`, { as, method: "POST" }), 200);
    await app.consume();
    for (const path of [addressOf(file), clip]) {
      expect(await cost(path)).toMatchObject({ status: 200, ...MISS });
      expect(await cost(path)).toMatchObject({ status: 200, ...HIT });
    }
  });

  it("of a variant of many files ends its copies; those of other tenants stay", async () => {
    const { app, cost } = counted();
    const as = principal();
    const picture = await encodePng(gradient(20, 20));
    const options = { visibility: "public", query: "?clip=4x4,5x5" } as const;
    const files = [await stored(app, picture, { as, ...options }), await stored(app, picture, { as, ...options })];
    const other = await stored(app, picture, { as: { ...as, tenant: "globex" }, ...options });
    await app.consume();
    const [clips, rest] = [4, 5].map((side) => files.map((file) => `${addressOf(file)}/clip-${side}x${side}`));
    const foreign = `${addressOf(other)}/clip-4x4`;
    for (const path of [...clips!, ...rest!, foreign]) {
      await cost(path);
      expect(await cost(path)).toMatchObject({ status: 200, ...HIT });
    }
    app.clock.nowMs += 1000;
    const path = "/media/v2/public/bulk/variants?tenant=acme&clip=4x4";
    expect((await app.call(path, { as, method: "DELETE" })).status).toBe(204);
    for (const clip of clips!) await expectProblem(await app.call(clip), 404, "element_resource_non_existing");
    for (const clip of rest!) expect(await cost(clip)).toMatchObject({ status: 200, ...MISS });
    expect(await cost(foreign)).toMatchObject({ status: 200, ...HIT });
  });

  it("of all files ends their copies; other tenants, other clients and later files are copied as before", async () => {
    const { app, cost } = counted();
    const as = principal();
    const inOther = { ...as, tenant: "globex" };
    const stranger = principal();
    const owned = await Promise.all([1, 2].map(() => stored(app, BYTES, { as, ...publicText })));
    const others = await Promise.all([inOther, stranger].map((by) => stored(app, BYTES, { as: by, ...publicText })));
    for (const file of [...owned, ...others]) await cost(addressOf(file));
    app.clock.nowMs += 1000;
    const secretOnly = await app.call("/media/v2/files?tenant=acme", { as, method: "DELETE" });
    expect(secretOnly.status).toBe(202);
    for (const file of owned) expect(await cost(addressOf(file))).toMatchObject({ status: 200, ...HIT });
    const all = await app.call("/media/v2/public/files?tenant=acme", { as, method: "DELETE" });
    expect(all.status).toBe(202);
    for (const file of owned)
      await expectProblem(await app.call(addressOf(file)), 404, "element_resource_non_existing");
    for (const file of others) expect(await cost(addressOf(file))).toMatchObject({ status: 200, ...HIT });
    app.clock.nowMs += 10_000;
    const later = await stored(app, BYTES, { as, ...publicText });
    await cost(addressOf(later));
    expect(await cost(addressOf(later))).toMatchObject({ status: 200, ...HIT });
  });
});

describe("reservations", () => {
  it("limit the bytes and allow one for each key; one that is not released expires", () => {
    const reserve = createReservations(10, 1000);
    const release = reserve("a", 6, 0);
    expect(reserve("a", 1, 0)).toBeUndefined();
    expect(reserve("b", 5, 0)).toBeUndefined();
    expect(reserve("b", 4, 500)).toBeDefined();
    release!();
    expect(reserve("c", 7, 500)).toBeUndefined();
    const second = reserve("a", 6, 500);
    release!();
    expect(reserve("a", 1, 500)).toBeUndefined();
    expect(second).toBeDefined();
    expect(reserve("c", 10, 1500)).toBeDefined();
  });

  it("limit the bytes of one owner", () => {
    const reserve = createReservations(10, 1000, 5);
    const release = reserve("a", 3, 0, "ann");
    expect(reserve("b", 3, 0, "ann")).toBeUndefined();
    expect(reserve("b", 2, 0, "ann")).toBeDefined();
    expect(reserve("c", 5, 0, "bob")).toBeDefined();
    release!();
    expect(reserve("d", 3, 0, "ann")).toBeDefined();
    expect(reserve("e", 6, 5000, "eve")).toBeUndefined();
  });
});
