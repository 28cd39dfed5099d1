import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createKeyRotation } from "../../../src/oauth/tokens/key-rotation.ts";
import { createKeyStore } from "../../../src/oauth/tokens/keys/key-store.ts";
import { makeKey } from "../../../src/oauth/tokens/keys/signing-key.ts";
import { createTrustStore, type TrustStore } from "../../../src/oauth/tokens/trust-store.ts";
import { createTrust } from "../../../src/oauth/tokens/trust.ts";
import { FreshCache } from "../../../src/platform/copies/fresh-cache.ts";
import type { Isolate } from "../../../src/platform/copies/isolate.ts";
import {
  createLocationCache,
  macAddresses,
  textCacheOf,
  throughLocation,
  type LocationCache,
  type TextCache,
} from "../../../src/platform/copies/location-cache.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { createSealer } from "../../../src/platform/secrets/seal.ts";
import { counting } from "../../support/counting.ts";
import { isolate as otherIsolate } from "../../support/isolate.ts";
import { ownIsolate } from "../../support/runtime/own-isolate.ts";
import { makeClient } from "../../support/platform/clients.ts";

const ORIGIN = "https://api.plinth.example";
const sealer = createSealer([{ id: "t", bytes: new Uint8Array(32).fill(3) }], systemRandom);
const NOW_MS = Date.now();
let names = 0;
const newName = () => `record ${++names}`;

/** The real cache of the runtime, and the calls of it. */
function make(changes: Partial<TextCache> = {}) {
  const real = textCacheOf(caches.default);
  const written = new Map<string, string>();
  const work: Promise<unknown>[] = [];
  const warnings: string[] = [];
  const isolate: Isolate = { ...ownIsolate, chance: () => 0, keepAlive: (one) => void work.push(one) };
  const cache: TextCache = {
    get: (address) => real.get(address),
    put: (address, text, maxAgeSec) => {
      written.set(address, text);
      return real.put(address, text, maxAgeSec);
    },
    ...changes,
  };
  const log = { warn: (event: string) => void warnings.push(event) };
  const addressOf = macAddresses(sealer);
  const location = createLocationCache({ cache, origin: ORIGIN, sealer, addressOf, isolate, log });
  return { location, written, warnings, isolate, settled: () => Promise.all(work) };
}

const WITHIN = { nowMs: NOW_MS, maxAgeMs: 10_000, sinceMs: Number.NEGATIVE_INFINITY };
/** Reads through the cache, and counts the reads of the source behind it. */
function reader(location: LocationCache, name: string) {
  let reads = 0;
  const sourceAt = (nowMs: number) =>
    throughLocation(location, {
      name,
      nowMs,
      maxAgeMs: 10_000,
      read: async () => `value ${++reads}`,
      valueOf: (text) => text,
    });
  const read = async (nowMs: number, sinceMs = Number.NEGATIVE_INFINITY) => {
    const source = sourceAt(nowMs);
    return (await source.copy?.(nowMs, sinceMs)) ?? source.ask();
  };
  return { read, sourceAt, reads: () => reads };
}

describe("The cache of a location", () => {
  it("gives other isolates a copy with the time of its reading, until it is too old", async () => {
    const { location, settled } = make();
    const { read, reads } = reader(location, newName());
    expect(await read(NOW_MS)).toEqual({ value: "value 1", readAtMs: NOW_MS });
    await settled();
    expect(await read(NOW_MS + 9_999)).toEqual({ value: "value 1", readAtMs: NOW_MS });
    expect(reads()).toBe(1);
    expect(await read(NOW_MS + 10_000)).toEqual({ value: "value 2", readAtMs: NOW_MS + 10_000 });
  });

  it("uses no copy from before a change of the isolate that asks, and none from the future", async () => {
    const { location, settled } = make();
    const { read, reads } = reader(location, newName());
    await read(NOW_MS);
    await settled();
    await read(NOW_MS + 2_000, NOW_MS + 1_500);
    expect(reads()).toBe(2);
    await settled();
    await read(NOW_MS - 60_000);
    expect(reads()).toBe(3);
  });

  it("reveals neither the content of copies nor the names of records", async () => {
    const { location, written, settled } = make();
    const { read } = reader(location, "client and tenant:acme.app");
    await read(NOW_MS);
    await settled();
    const [[address, text]] = [...written] as [[string, string]];
    expect(address).toMatch(/^https:\/\/api\.plinth\.example\/edge-cache\/v1\/copy\/[A-Za-z0-9_-]{43}$/);
    expect(`${address} ${text}`).not.toContain("acme");
    expect(text).not.toContain("value");
  });

  it("ignores a copy that was changed, or moved from another name", async () => {
    const { location, written, settled } = make();
    const [one, two] = [newName(), newName()];
    location.put(one, { value: "forged", readAtMs: NOW_MS }, 10_000);
    location.put(two, { value: "true", readAtMs: NOW_MS }, 10_000);
    await settled();
    const [[firstAddress, first], [secondAddress]] = [...written] as [[string, string], [string, string]];
    const real = textCacheOf(caches.default);
    await real.put(secondAddress, first, 10);
    expect(await location.find(two, WITHIN)).toBeUndefined();
    await real.put(firstAddress, `${first.slice(0, -2)}AA`, 10);
    expect(await location.find(one, WITHIN)).toBeUndefined();
  });

  it("lets one isolate ask for a record, and the next one at once if no copy comes", async () => {
    const { location, settled } = make();
    const claim = (name: string, nowMs: number) => location.claim(name, { nowMs, forMs: 2_000 });
    const name = newName();
    expect(await claim(name, NOW_MS)).toBe(true);
    await settled();
    expect(await claim(name, NOW_MS + 1_999)).toBe(false);
    expect(await claim(newName(), NOW_MS)).toBe(true);
    expect(await claim(name, NOW_MS + 2_000)).toBe(true);
    await settled();
    location.release(name);
    await settled();
    expect(await claim(name, NOW_MS + 2_001)).toBe(true);
  });

  it("lets only one isolate probe if several come at the same moment", async () => {
    const { location } = make();
    const name = newName();
    const claims = [0, 1, 2].map((ms) => location.claim(name, { nowMs: NOW_MS + ms, forMs: 4_000, isAlone: true }));
    expect((await Promise.all(claims)).filter((isMine) => isMine)).toHaveLength(1);
  });

  it("counts as a miss if it fails", async () => {
    const broken = () => Promise.reject(new Error("no cache here"));
    const { location, warnings, settled } = make({ get: broken, put: broken });
    const { read } = reader(location, newName());
    expect((await read(NOW_MS)).value).toBe("value 1");
    await settled();
    expect((await read(NOW_MS)).value).toBe("value 2");
    expect(new Set(warnings)).toEqual(new Set(["the location's cache failed"]));
  });
});

describe("A copy of a record in an isolate", () => {
  it("is as old as the location's copy that it comes from", async () => {
    const { location, isolate, settled } = make();
    const { read, sourceAt, reads } = reader(location, newName());
    await read(NOW_MS - 9_000);
    await settled();
    const cache = new FreshCache<string, string>({ ttlMs: 30_000, maxEntries: 10 }, isolate);
    const get = (nowMs: number) => cache.getFrom("key", nowMs, sourceAt(nowMs));
    expect(await get(NOW_MS)).toBe("value 1");
    expect(await get(NOW_MS + 20_900)).toBe("value 1");
    await settled();
    expect(await get(NOW_MS + 21_000)).toBe("value 2");
    expect(reads()).toBe(2);
  });

  it("comes from the isolate that asks first, unless that one keeps no copy", async () => {
    const { location, isolate, settled } = make();
    const name = newName();
    let reads = 0;
    let land: (text: string) => void = () => undefined;
    const read = () => (reads++, new Promise<string>((resolve) => (land = resolve)));
    const get = (keeps: boolean) => {
      const cache = new FreshCache<string, string>({ ttlMs: 30_000, maxEntries: 10 }, isolate);
      const nowMs = Date.now();
      const shared = { name, nowMs, maxAgeMs: 10_000, read, valueOf: (text: string) => text, keeps: () => keeps };
      return cache.getFrom("key", nowMs, throughLocation(location, shared));
    };
    for (const keeps of [false, true]) {
      reads = 0;
      const first = get(keeps);
      await scheduler.wait(20);
      const second = get(keeps);
      await scheduler.wait(20);
      expect(reads).toBe(1);
      land("asked once");
      expect(await first).toBe("asked once");
      await settled();
      if (!keeps) {
        await scheduler.wait(60);
        expect(reads).toBe(2);
        land("asked once");
      }
      expect(await second).toBe("asked once");
      expect(reads).toBe(keeps ? 1 : 2);
    }
  });

  it("comes from D1 after a change in this isolate", async () => {
    const { location, isolate, settled } = make();
    const { read, sourceAt } = reader(location, newName());
    await read(NOW_MS);
    await settled();
    const cache = new FreshCache<string, string>({ ttlMs: 30_000, maxEntries: 10 }, isolate);
    const get = (nowMs: number) => cache.getFrom("key", nowMs, sourceAt(nowMs));
    expect(await get(NOW_MS)).toBe("value 1");
    cache.clear();
    expect(await get(NOW_MS)).toBe("value 2");
  });
});

describe("Keys and revocations", () => {
  const noAudit = { statement: () => env.DB.prepare("SELECT 1"), note: async () => {} };
  const rotation = createKeyRotation(createKeyStore(env.DB), (alg) => makeKey(alg, sealer), noAudit);
  const trustAt = (location: LocationCache, store: TrustStore, own: Isolate) =>
    createTrust({ store, makeFirstKey: rotation.makeFirst, sealer, isolate: own, onFault() {}, location });
  const token = (tokenId: string) => ({
    tokenId,
    grantId: "g",
    sessionId: "s",
    clientId: "c",
    clientTenant: undefined,
    tenant: "t",
    org: "",
    user: "u",
    recordsAsOfMs: 0,
    userAsOfMs: 0,
  });

  it("reach a new isolate from the location, at most 5 s after D1 was asked", async () => {
    const { location, isolate, settled } = make();
    const store = createTrustStore(env.DB);
    let reads = 0;
    const counted = { ...store, readUpdate: (...args: [number, number]) => (reads++, store.readUpdate(...args)) };
    const newTrust = () => trustAt(location, counted, isolate);
    const expiresSec = Math.ceil(NOW_MS / 1000) + 3_600;
    await store.revoke([{ kind: "token", key: "first", expiresSec }], []);

    const one = newTrust();
    await one.ensure(NOW_MS, "recent");
    await settled();
    expect(reads).toBe(1);
    const two = newTrust();
    await two.ensure(NOW_MS + 1_000, "recent");
    expect([reads, two.isRevoked(token("first"))]).toEqual([1, true]);

    // The first isolate brings the change to the location, for one with an older copy and for a new one.
    await store.revoke([{ kind: "token", key: "second", expiresSec }], []);
    await one.ensure(NOW_MS + 5_001, "recent");
    await settled();
    expect(reads).toBe(2);
    expect([one, two].map((trust) => trust.isRevoked(token("second")))).toEqual([true, false]);
    await two.ensure(NOW_MS + 5_200, "recent");
    const three = newTrust();
    await three.ensure(NOW_MS + 5_300, "recent");
    expect(reads).toBe(2);
    expect([two, three].map((trust) => trust.isRevoked(token("second")))).toEqual([true, true]);
    expect(three.isRevoked(token("first"))).toBe(true);

    // The copy of 5,001 ms is 5 s old then, though this isolate has it for less.
    const before = reads;
    await two.ensure(NOW_MS + 10_002, "recent");
    expect(reads).toBe(before + 1);
  });

  it("are read from D1 after a change whose outcome is unknown, and if an answer must be current", async () => {
    const { location, isolate, settled } = make();
    const store = createTrustStore(env.DB);
    let reads = 0;
    const counted = { ...store, readUpdate: (...args: [number, number]) => (reads++, store.readUpdate(...args)) };
    const trust = trustAt(location, counted, isolate);
    const at = NOW_MS + 100_000;
    await trust.ensure(at, "recent");
    await settled();
    trust.markStale();
    await trust.ensure(at + 10, "recent");
    await trust.ensure(at + 20, "now");
    expect(reads).toBe(3);
  });
});

describe("A new isolate of a deployed platform", () => {
  it("issues and checks a token without D1 if another isolate of its location did so before", async () => {
    const client = await makeClient();
    const ask = async () => {
      const counted = counting(env);
      const response = await otherIsolate({ ...counted.env, PUBLIC_URL: "https://api.plinth.example" }).token(client);
      expect(response.status).toBe(200);
      return counted.tally.d1RoundTrips;
    };
    expect(await ask()).toBeGreaterThan(0);
    await scheduler.wait(50);
    expect(await ask()).toBe(0);
  });
});
