import { evictAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { startFresh } from "../support/runtime/fresh-start.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { tokenFor } from "../support/platform/tokens.ts";

/** A test file finds nothing of the previous one. */
describe("a fresh start", () => {
  it("empties the tables and keeps them", async () => {
    await makeClient();
    await startFresh();
    const { results } = await env.DB.prepare("SELECT count(*) AS rows FROM client").all();
    expect(results).toEqual([{ rows: 0 }]);
  });

  // shows: asvs/v6-authentication/6.3.2
  it("has no account: no migration makes a user or a client", async () => {
    await startFresh();
    for (const table of ["user", "client"])
      expect(await env.DB.prepare(`SELECT count(*) AS n FROM ${table}`).first("n")).toBe(0);
  });

  it("empties the bucket", async () => {
    await env.MEDIA.put("left-behind", "bytes");
    expect((await env.MEDIA.list()).objects).toHaveLength(1);
    await startFresh();
    expect((await env.MEDIA.list()).objects).toEqual([]);
    expect(await env.MEDIA.get("left-behind")).toBeNull();
  });

  it("ends every object with its storage and alarm", async () => {
    const object = () => env.LOGIN_ATTEMPTS.getByName("left-behind");
    await runInDurableObject(object(), async (_, { storage }) => {
      await storage.put("left", "behind");
      await storage.setAlarm(Date.now() + 60_000);
    });
    await startFresh();
    await runInDurableObject(object(), async (_, { storage }) => {
      expect(await storage.get("left")).toBeUndefined();
      expect(await storage.getAlarm()).toBeNull();
    });
  });

  it("empties objects that are not in memory too", async () => {
    const url = "https://edge.test/asleep";
    await makeClient();
    await env.MEDIA.put("asleep", "bytes");
    await caches.default.put(url, new Response("bytes", { headers: { "cache-control": "max-age=60" } }));
    await evictAllDurableObjects();
    await startFresh();
    const { results } = await env.DB.prepare("SELECT count(*) AS rows FROM client").all();
    expect(results).toEqual([{ rows: 0 }]);
    expect(await env.MEDIA.get("asleep")).toBeNull();
    expect(await caches.default.match(url)).toBeUndefined();
  });

  it("empties the cache at the edge", async () => {
    const url = "https://edge.test/left-behind";
    await caches.default.put(url, new Response("bytes", { headers: { "cache-control": "max-age=60" } }));
    expect(await caches.default.match(url)).toBeDefined();
    await startFresh();
    expect(await caches.default.match(url)).toBeUndefined();
  });

  it("makes the Worker drop its keys, so that older tokens are not valid", async () => {
    const token = await tokenFor(await makeClient());
    const info = () => call(`/oauth2/v1/tokeninfo?access_token=${token}`);
    await expectJson(await info(), 200);
    await startFresh();
    expect((await info()).status).not.toBe(200);
  });

  it("loads modules anew", async () => {
    const before = await import("../../src/worker.ts");
    await startFresh();
    expect(await import("../../src/worker.ts")).not.toBe(before);
  });

  it("lets the clock run", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 0 });
    expect(Date.now()).toBe(0);
    await startFresh();
    expect(Date.now()).toBeGreaterThan(1_700_000_000_000);
  });
});
