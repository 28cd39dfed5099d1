import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { createDeps } from "../../src/deps.ts";
import { HOUR_MS, systemClock } from "../../src/platform/runtime/clock.ts";
import { shardBinding, shardsOf } from "../../src/platform/storage/shards.ts";
import { createShardSizes } from "../../src/shards/sizes.ts";
import { createSizeStore } from "../../src/shards/size-store.ts";
import { body as subscription } from "../events/support/push/subscription-body.ts";
import { aroundMethods } from "../support/counting.ts";
import { heardLog } from "../support/runtime/heard-log.ts";
import { isolate } from "../support/isolate.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { makeTenant, makeTenantIn, placeOf } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { addressIn, shardDb } from "../support/shards.ts";

const GB = 1_000_000_000;
const store = createSizeStore(env.DB);
const shards = shardsOf(env);
const sizes = createShardSizes({ shards, store, clock: systemClock, log: heardLog });

const refuse = () => Promise.reject(new Error("injected"));
const DEAD_STATEMENT = { bind: () => DEAD_STATEMENT, all: refuse, first: refuse, run: refuse };
/** A database that does not answer. */
const DEAD = { prepare: () => DEAD_STATEMENT, batch: refuse } as unknown as D1Database;

/** What the directory knows, by shard; `tenants` of each are none unless said. */
async function know(bytes: readonly number[], tenants: readonly number[] = [], measuredAt = Date.now()): Promise<void> {
  for (const [shard, size] of bytes.entries())
    await env.DB.prepare("INSERT INTO shard_size (shard, bytes, tenants, measured_at) VALUES (?, ?, ?, ?)")
      .bind(shard, size, tenants[shard] ?? 0, measuredAt)
      .run();
}
const known = async () => new Map((await store.all()).map((size) => [size.shard, size]));
const newPlace = async () => placeOf(await makeTenant({ subscribed: false }));

/** Subscribes a client to a topic of its own whose push records lie in this shard. */
async function subscribeIn(shard: number, { clientId }: TestClient, token: string): Promise<void> {
  const topic = addressIn(shard, () => `${clientId}.${unique("order")}`);
  const eventType = topic.slice(clientId.length + 1);
  expect((await call("/pubsub/v1/topics", { token, json: { eventType } })).status).toBe(201);
  await expectJson(
    await call(`/pubsub/v1/topics/${clientId}/${eventType}/subscriptions`, { token, json: subscription() }),
    201,
  );
}

beforeEach(async () => void (await env.DB.exec("DELETE FROM shard_size")));

describe("a new tenant gets", () => {
  it("the smallest database, not the one with the fewest tenants", async () => {
    await know([5 * GB, 2 * GB, 1 * GB, 4 * GB], [10, 10, 50, 1]);
    // 12 GB of 71 tenants: 50 of them are expected to need more than shard 2 has.
    expect(await newPlace()).toBe(1);
    await env.DB.exec("UPDATE shard_size SET tenants = 3 WHERE shard = 2");
    expect(await newPlace()).toBe(2);
  });

  it("another one once so many came that their files will fill it as the others, whatever is measured", async () => {
    await know([2 * GB, 2 * GB, 2 * GB, 0], [2, 2, 2, 0]);
    const places: (number | null)[] = [];
    for (let at = 0; at < 8; at++) places.push(await newPlace());
    expect(places.filter((place) => place === 3).length).toBeGreaterThanOrEqual(2);
    expect(places.slice(0, 2)).toEqual([3, 3]);
    expect(new Set(places).size).toBe(4);
  });

  it("the one with the fewest tenants of equal ones, and is counted at once", async () => {
    const places: (number | null)[] = [];
    for (let at = 0; at < 8; at++) places.push(await newPlace());
    expect(places).toEqual([0, 1, 2, 3, 0, 1, 2, 3]);
    expect([...(await known()).values()].map(({ tenants }) => tenants)).toEqual([2, 2, 2, 2]);
  });

  it("no shard that could not be measured for hours, while there is another", async () => {
    await know([3 * GB, 3 * GB, 3 * GB]);
    await env.DB.prepare("INSERT INTO shard_size VALUES (3, 0, 0, ?)")
      .bind(Date.now() - 4 * HOUR_MS)
      .run();
    expect(await newPlace()).toBe(0);
    await env.DB.exec("UPDATE shard_size SET measured_at = 1");
    expect(await newPlace()).toBe(3);
  });
});

describe("the cron", () => {
  it("measures each database once an hour, and counts its tenants", async () => {
    const tenant = await makeTenantIn(2, { subscribed: false });
    const nowMs = Date.now();
    await sizes.sweep(nowMs);
    const first = await known();
    for (const { number, db } of shards) {
      const { size_after } = (await db.prepare("SELECT 1").all()).meta;
      expect(first.get(number)).toMatchObject({ bytes: size_after, measuredAt: nowMs });
    }
    await env.DB.prepare("DELETE FROM tenant WHERE id = ?").bind(tenant).run();
    await sizes.sweep(nowMs + HOUR_MS - 1);
    expect(await known()).toEqual(first);
    await sizes.sweep(nowMs + HOUR_MS);
    expect((await known()).get(2)!.tenants).toBe(first.get(2)!.tenants - 1);
  });

  it("keeps what it measured where a database does not answer, and fails", async () => {
    await know([1, 1, 1, 7], [], 1);
    const failing = createShardSizes({
      shards: [shards[0], shards[1]!, shards[2]!, { number: 3, db: DEAD }],
      store,
      clock: systemClock,
      log: heardLog,
    });
    await expect(failing.sweep(Date.now())).rejects.toThrow("1 shards were not measured");
    expect((await known()).get(3)).toMatchObject({ bytes: 7, measuredAt: 1 });
    expect((await known()).get(1)!.bytes).toBeGreaterThan(1);
  });

  it("sees that deleted rows leave room", async () => {
    const sizeOf = async () => (await shardDb(1).prepare("SELECT 1").all()).meta.size_after;
    await shardDb(1).prepare("CREATE TABLE filler (text TEXT)").run();
    const before = await sizeOf();
    await shardDb(1).prepare("INSERT INTO filler VALUES (?)").bind("x".repeat(1_000_000)).run();
    expect(await sizeOf()).toBeGreaterThan(before + 900_000);
    await shardDb(1).prepare("DELETE FROM filler").run();
    expect(await sizeOf()).toBe(before);
    await shardDb(1).prepare("DROP TABLE filler").run();
  });
});

describe("GET /shards", () => {
  // shows: operator/shards/status
  it("shows size, tenants, files, push subscriptions and round trips of each", async () => {
    const tenant = await makeTenantIn(1);
    const client = await makeClient({ tenant });
    const token = await tokenFor(client);
    const list = async () => expectJson(await call("/admin/v1/shards", { token: await tokenFor(OPERATOR) }), 200);
    const before = await list();
    const body = new TextEncoder().encode("four");
    const headers = { "content-type": "text/plain" };
    const path = "/media/v2/public/files";
    await expectJson(await call(path, { token, method: "POST", body, headers }), 202);
    await subscribeIn(1, client, token);
    await createDeps(env).shards.sweep(Date.now());
    const after = await list();
    expect(after.map(({ shard }: any) => shard)).toEqual([0, 1, 2, 3]);
    const { files, storedBytes, pushSubscriptions, roundTrips } = before[1];
    expect(after[1]).toEqual({
      shard: 1,
      tenants: before[1].tenants,
      files: files + 1,
      storedBytes: storedBytes + 4,
      pushSubscriptions: pushSubscriptions + 1,
      databaseBytes: (await shardDb(1).prepare("SELECT 1").all()).meta.size_after,
      measuredAt: expect.any(Number),
      answerMs: expect.any(Number),
      roundTrips: expect.any(Number),
      isNext: expect.any(Boolean),
    });
    expect(after[1].roundTrips).toBeGreaterThanOrEqual(roundTrips);
    for (const at of [0, 2, 3]) expect(after[at].pushSubscriptions).toBe(before[at].pushSubscriptions);
    const next = after.filter(({ isNext }: any) => isNext);
    expect(next).toHaveLength(1);
    expect(await newPlace()).toBe(next[0].shard);
  });

  it("shows one that does not answer with what was measured last, and the others", async () => {
    await know([1, 2, 3, 4], [], 5);
    const own = isolate({ [shardBinding(3)]: DEAD });
    const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}` };
    const seen = await (await own.fetch("/admin/v1/shards", { headers })).json<any[]>();
    const unknown = { answerMs: null, files: null, storedBytes: null, pushSubscriptions: null };
    expect(seen[3]).toMatchObject({ databaseBytes: 4, measuredAt: 5, ...unknown });
    expect(seen[2].answerMs).not.toBeNull();
  });

  it.each([
    ["do not answer", () => new Promise<never>(() => undefined)],
    ["fail", refuse],
  ])(
    "shows all but the round trips if the metrics %s",
    async (_, roundTrips) => {
      const ports = {
        stored: () => Promise.resolve({ files: 7, bytes: 0 }),
        countPushSubscriptions: (shard: number) => shardDb(shard).prepare("SELECT 0 AS n"),
        roundTrips,
      };
      const seen = await sizes.status(ports, Date.now());
      expect(seen.map(({ shard, files, roundTrips: trips }) => [shard, files, trips])).toEqual(
        [0, 1, 2, 3].map((shard) => [shard, 7, null]),
      );
    },
    6_000,
  );

  it("asks each database twice, at the same time", async () => {
    let trips = 0;
    const counted = aroundMethods(shardDb(2), (_, run) => {
      trips++;
      return run();
    });
    const own = isolate({ [shardBinding(2)]: counted });
    const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}` };
    expect((await own.fetch("/admin/v1/shards", { headers })).status).toBe(200);
    expect(trips).toBe(2);
  });
});
