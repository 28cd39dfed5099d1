import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it } from "vitest";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { shardsOf, type Shard, type Shards } from "../../../src/platform/storage/shards.ts";
import type { TenantObjects } from "../../../src/platform/storage/tenant-objects.ts";
import { aroundMethods, counting } from "../../support/counting.ts";
import { encodePng, gradient } from "../../support/images.ts";
import { expectJson } from "../../support/platform/call.ts";
import { unique } from "../../support/platform/unique.ts";
import { everywhere, inShards, isOwn, shardDb, testObjects } from "../../support/shards.ts";
import { mediaApp, START_MS, type MediaApp } from "../support/media-app.ts";
import { withMethods } from "../support/faults.ts";
import { keptPlacement, MovingTenants, placeTenants } from "../support/moving-tenants.ts";
import { IN_DIRECTORY } from "../support/placement.ts";
import { principal } from "../support/principal.ts";
import { stored, type StoredFile } from "../support/stored-file.ts";

const PICTURE = await encodePng(gradient(8, 8));
/** Its variants fail, which takes less time than to make them. */
const NO_PICTURE = Uint8Array.from(new TextEncoder().encode("no picture"));
const LATE_MS = LIMITS.variantResendMs;

const { sentPerLane } = LIMITS;
const narrow = (most: number): void => void Object.assign(LIMITS, { sentPerLane: most });
afterEach(() => narrow(sentPerLane));

type Caller = ReturnType<typeof principal>;
/** A caller in a tenant of its own. */
const someone = (tenant = unique("t")): Caller => principal({ tenant });
/** A caller whose tenant has at most so many messages at a time. */
function narrowLane(most: number): { app: MediaApp; as: Caller } {
  narrow(most);
  return { app: mediaApp(), as: someone() };
}
const clips = (count: number): string => `clip=${Array.from({ length: count }, (_, at) => `${at + 1}x1`).join(",")}`;

async function ask(app: MediaApp, as: Caller, path: string, method = "POST"): Promise<void> {
  const answer = await app.call(path, { as, method });
  expect([path, answer.status < 300]).toEqual([path, true]);
  await app.settle();
}
const store = (app: MediaApp, as: Caller, query?: string): Promise<StoredFile> =>
  stored(app, PICTURE, { as, ...(query === undefined ? {} : { query: `?${query}` }) });
/** A file whose variants wait, although there is room, as after a release that knows no lanes. */
async function thatWaits(app: MediaApp, as: Caller): Promise<StoredFile> {
  const before = await store(app, as, clips(2));
  app.clock.nowMs += 1;
  const file = await store(app, as, clips(3));
  await everywhere.prepare("UPDATE variant SET state = 'ready' WHERE file_id = ?").bind(before.id).run();
  app.jobs.splice(0);
  return file;
}
const statesOf = async (app: MediaApp, as: Caller, { path }: StoredFile): Promise<string[]> =>
  (await expectJson(await app.call(`${path}/variants`, { as }), 200)).map(({ state }: { state: string }) => state);

/** Delivers one message after the other, as the queue does. Returns their number. */
async function deliver(app: MediaApp, most = Infinity): Promise<number> {
  for (let delivered = 0; ; delivered++) {
    const job = delivered < most ? app.jobs.shift() : undefined;
    if (job === undefined) return delivered;
    expect(await app.consume({ jobs: [job] })).toEqual({ acked: 1, retried: 0 });
  }
}

/** The numbers of a tenant's variants that wait, and of those with a message, which may be removed. */
async function lane({ tenant }: Caller): Promise<readonly [waiting: number, sent: number]> {
  const { results } = await everywhere
    .prepare("SELECT waits FROM variant WHERE state IN ('pending', 'removed') AND lane = ? AND due_at IS NOT NULL")
    .bind(tenant)
    .all<{ waits: number }>();
  const waiting = results.filter(({ waits }) => waits === 1).length;
  return [waiting, results.length - waiting];
}

async function sweep(app: MediaApp, afterMs = 0): Promise<void> {
  app.clock.nowMs += afterMs;
  await app.media.sweep(app.clock.nowMs);
}

/** The databases, in which every batch fails that follows one that took variants from a lane. */
function failingOnceTaken(): { shards: Shards; objects?: TenantObjects } {
  let isDown = false;
  const failing = ({ number, db }: Shard): Shard => {
    const batch = async (statements: D1PreparedStatement[]) => {
      if (isDown) throw new Error("injected");
      const answers = await db.batch<{ nonce?: string }>(statements);
      isDown = answers.some(({ results }) => results.some(({ nonce }) => nonce !== undefined));
      return answers;
    };
    return { number, db: { prepare: (sql: string) => db.prepare(sql), batch } as unknown as D1Database };
  };
  const shards = shardsOf(env).map(failing) as unknown as Shards;
  return isOwn ? { shards, objects: { ...testObjects, at: (number) => failing(testObjects.at(number)) } } : { shards };
}

const times = (count: number, state: string): string[] => Array.from({ length: count }, () => state);

describe("a tenant that starts thousands of variants", () => {
  // shows: media/variants/turns
  it("has a hundred messages at a time: another's variant is made after these, and each that ends sends the next", async () => {
    const app = mediaApp();
    const [busy, other] = [someone(), someone()];
    for (let made = 0; made < 50; made++) {
      const { path } = await stored(app, NO_PICTURE, { as: busy });
      await ask(app, busy, `${path}/variants?${clips(100)}`);
    }
    expect([app.jobs.length, await lane(busy)]).toEqual([100, [4900, 100]]);
    const single = await store(app, other, "clip=4x4");
    expect(app.jobs.length).toBe(101);
    await deliver(app, 101);
    expect(await statesOf(app, other, single)).toEqual(["ready"]);
    expect([app.jobs.length, await lane(busy)]).toEqual([100, [4800, 100]]);
    await ask(app, busy, `/media/v2/files?tenant=${busy.tenant}`, "DELETE");
    while (app.longJobs.length > 0) await app.consume({ jobs: app.longJobs.splice(0) });
    expect(await lane(busy)).toEqual([0, 100]);
    await deliver(app);
    expect(await lane(busy)).toEqual([0, 0]);
  });
});

describe("a tenant that starts variants and deletes them again and again", () => {
  it.each<[string, (app: MediaApp, as: Caller, file: StoredFile) => Promise<void>]>([
    ["alone", (app, as, { path }) => ask(app, as, `${path}/variants`, "DELETE")],
    [
      "in bulk",
      (app, as) => ask(app, as, `/media/v2/bulk/variants?tenant=${as.tenant}&${clips(3)}&pageSize=9`, "DELETE"),
    ],
    ["with their file", (app, as, { path }) => ask(app, as, path, "DELETE")],
    [
      "with their file, of which one was deleted before",
      async (app, as, { path }) => {
        await ask(app, as, `${path}/variants?clip=1x1`, "DELETE");
        await ask(app, as, path, "DELETE");
      },
    ],
    [
      "with all files",
      async (app, as) => {
        await ask(app, as, `/media/v2/files?tenant=${as.tenant}`, "DELETE");
        while (app.longJobs.length > 0) await app.consume({ jobs: app.longJobs.splice(0) });
      },
    ],
  ])("has no more messages than others: %s", async (_, remove) => {
    const { app, as } = narrowLane(2);
    for (let round = 0; round < 4; round++) await remove(app, as, await store(app, as, clips(3)));
    expect([app.jobs.length, await lane(as)]).toEqual([2, [0, 2]]);
    const file = await store(app, as, clips(3));
    expect([app.jobs.length, await lane(as)]).toEqual([2, [3, 2]]);
    await deliver(app);
    expect([await lane(as), await statesOf(app, as, file)]).toEqual([[0, 0], times(3, "ready")]);
    const { results } = await everywhere
      .prepare("SELECT state, due_at FROM variant WHERE lane = ? AND due_at IS NOT NULL")
      .bind(as.tenant)
      .all();
    expect(results).toEqual([]);
  });

  it.each(["the variants", "the file"])(
    "has its turns a quarter of an hour after it deleted %s, if messages are lost",
    async (what) => {
      const { app, as } = narrowLane(2);
      const gone = await store(app, as, clips(3));
      await ask(app, as, what === "the file" ? gone.path : `${gone.path}/variants`, "DELETE");
      const file = await store(app, as, clips(3));
      app.jobs.splice(0);
      await sweep(app, LATE_MS - 1);
      expect(await lane(as)).toEqual([3, 2]);
      await sweep(app, 1);
      await sweep(app);
      await deliver(app);
      expect([await lane(as), await statesOf(app, as, file)]).toEqual([[0, 0], times(3, "ready")]);
    },
  );
});

describe("variants that wait", () => {
  it("are all made, in the order of the requests", async () => {
    const { app, as } = narrowLane(3);
    const files: StoredFile[] = [];
    for (const query of ["clip=1x1,2x2,3x3,4x4", undefined, "crop=1x1,2x2"]) {
      app.clock.nowMs += 1;
      files.push(await store(app, as, query));
    }
    app.clock.nowMs += 1;
    await ask(app, as, `/media/v2/bulk/variants?tenant=${as.tenant}&crop=5x5`);
    expect([app.jobs.length, await lane(as)]).toEqual([3, [6, 3]]);
    const order = app.jobs.map(({ fileId }) => fileId);
    for (let job = app.jobs.shift(); job !== undefined; job = app.jobs.shift()) {
      const before = app.jobs.length;
      await app.consume({ jobs: [job] });
      expect(app.jobs.length).toBeLessThanOrEqual(3);
      order.push(...app.jobs.slice(before).map(({ fileId }) => fileId));
    }
    const [first, second, third] = files.map(({ id }) => id);
    expect(order).toEqual([
      first,
      first,
      first,
      first,
      third,
      third,
      ...[first, second, third].toSorted((a, b) => (a! < b! ? -1 : 1)),
    ]);
    expect(await lane(as)).toEqual([0, 0]);
    for (const [at, count] of [5, 1, 3].entries())
      expect(await statesOf(app, as, files[at]!)).toEqual(times(count, "ready"));
  });

  it("are as many with requests, deletions and jobs at the same time", async () => {
    const { app, as } = narrowLane(2);
    const files = await Promise.all(Array.from({ length: 6 }, () => store(app, as)));
    await Promise.all(files.map(({ path }) => ask(app, as, `${path}/variants?${clips(3)}`)));
    expect([app.jobs.length, await lane(as)]).toEqual([2, [16, 2]]);
    for (let round = 0; app.jobs.length > 0; round++) {
      const jobs = app.jobs.splice(0);
      const { path } = files[round % 6]!;
      await Promise.all([
        app.consume({ jobs: [...jobs, ...jobs] }),
        ask(app, as, `${path}/variants?clip=1x1`, "DELETE"),
        ask(app, as, `${path}/variants?crop=${round + 1}x1`),
      ]);
      await app.settle();
      expect((await lane(as))[1]).toBeLessThanOrEqual(2);
      if (round === 8) break;
    }
    await deliver(app);
    expect(await lane(as)).toEqual([0, 0]);
    for (const file of files) expect(new Set(await statesOf(app, as, file))).toEqual(new Set(["ready"]));
  });

  it("follow one that failed, at once or in every attempt, and one that was deleted", async () => {
    const { app, as } = narrowLane(1);
    const broken = await stored(app, NO_PICTURE, { as, query: "?clip=1x1" });
    app.clock.nowMs += 1;
    const file = await store(app, as, clips(4));
    expect(await deliver(app, 1)).toBe(1);
    expect(await statesOf(app, as, broken)).toEqual(["failed"]);
    await app.consume({ jobs: app.jobs.splice(0), dead: true });
    expect((await statesOf(app, as, file)).toSorted()).toEqual(["failed", ...times(3, "pending")]);
    const { results } = await everywhere
      .prepare("SELECT type || '=' || size AS name FROM variant WHERE state = 'pending' AND waits = 0 AND lane = ?")
      .bind(as.tenant)
      .all<{ name: string }>();
    await ask(app, as, `${file.path}/variants?${results[0]!.name}`, "DELETE");
    expect([app.jobs.length, await lane(as)]).toEqual([1, [2, 1]]);
    await deliver(app, 1);
    expect([app.jobs.length, await lane(as)]).toEqual([1, [1, 1]]);
    await ask(app, as, `/media/v2/bulk/variants?tenant=${as.tenant}&${clips(4)}&pageSize=2`, "DELETE");
    expect(await lane(as)).toEqual([0, 1]);
    const last = await store(app, as, "clip=1x1");
    await deliver(app);
    expect(await statesOf(app, as, last)).toEqual(["ready"]);
  });

  it("follow one that is deleted while its image is found broken, or before its dead letter", async () => {
    for (const isDead of [false, true]) {
      const { app, as } = narrowLane(1);
      const broken = await stored(app, NO_PICTURE, { as, query: "?clip=1x1" });
      app.clock.nowMs += 1;
      const file = await store(app, as, clips(2));
      const jobs = app.jobs.splice(0);
      const remove = () => ask(app, as, `${broken.path}/variants`, "DELETE");
      const get = async (...args: Parameters<R2Bucket["get"]>) => {
        await remove();
        return env.MEDIA.get(...args);
      };
      if (isDead) await remove();
      const other = mediaApp({ bucket: withMethods({ get }) });
      expect(await other.consume({ jobs, dead: isDead })).toEqual({ acked: 1, retried: 0 });
      expect([other.jobs.length, await lane(as)]).toEqual([1, [1, 1]]);
      app.jobs.push(...other.jobs);
      await deliver(app);
      expect([await lane(as), await statesOf(app, as, file)]).toEqual([[0, 0], times(2, "ready")]);
    }
  });

  it("are sent by no repeated commit before their turn", async () => {
    const { app, as } = narrowLane(2);
    const file = await store(app, as, clips(5));
    const [first] = app.jobs;
    await ask(app, as, file.commitLink);
    expect(app.jobs.map(({ nonce }) => nonce).filter((nonce) => nonce === first!.nonce)).toHaveLength(2);
    expect([app.jobs.length, await lane(as)]).toEqual([4, [3, 2]]);
    await deliver(app);
    expect(await statesOf(app, as, file)).toEqual(times(5, "ready"));
  });
});

describe("messages", () => {
  it("of a tenant are few, however often it repeats a commit", async () => {
    const app = mediaApp();
    const as = someone();
    const file = await store(app, as, clips(9));
    for (let repeat = 0; repeat < 3; repeat++) await ask(app, as, file.commitLink);
    expect(app.jobs.length).toBe(18);
    await sweep(app, LATE_MS + 1);
    expect(app.jobs.length).toBe(27);
    await deliver(app);
    expect(await statesOf(app, as, file)).toEqual(times(9, "ready"));
  });

  it("are not sent before their turn, however long it takes to come", async () => {
    const { app, as } = narrowLane(2);
    const file = await store(app, as, clips(9));
    for (let turn = 0; turn < 3; turn++) {
      await sweep(app, LIMITS.variantWaitMs);
      expect([app.jobs.length, await lane(as)]).toEqual([2 * (turn + 2), [7, 2]]);
    }
    await deliver(app);
    expect(await statesOf(app, as, file)).toEqual(times(9, "ready"));
  });
});

describe("nothing is lost", () => {
  // shows: media/variants/turns
  it("with a message, nor with all of them: the sweep sends those on the way again, and they bring the others", async () => {
    const { app, as } = narrowLane(3);
    const file = await store(app, as, clips(9));
    await deliver(app, 1);
    app.jobs.splice(0);
    await sweep(app, LATE_MS - 1);
    expect(app.jobs).toEqual([]);
    await sweep(app, 1);
    expect([app.jobs.length, await lane(as)]).toEqual([3, [5, 3]]);
    await deliver(app);
    expect(await statesOf(app, as, file)).toEqual(times(9, "ready"));
  });

  it("if the queue takes no message, or the answer of a write is lost", async () => {
    narrow(2);
    const state = { isDown: false };
    const app = mediaApp();
    const down = mediaApp({
      jobs: aroundMethods({ sendBatch: async () => {} } as unknown as Queue, (_, call) =>
        state.isDown ? Promise.reject(new Error("injected")) : call(),
      ),
    });
    const as = someone();
    const file = await store(app, as, clips(6));
    state.isDown = true;
    const [job] = app.jobs.splice(0);
    expect(await down.consume({ jobs: [job] })).toEqual({ acked: 0, retried: 1 });
    expect(await down.consume({ jobs: [job] })).toEqual({ acked: 1, retried: 0 });
    expect(await lane(as)).toEqual([3, 2]);
    await sweep(app, LATE_MS);
    expect(app.jobs).toHaveLength(2);
    await deliver(app);
    expect(await statesOf(app, as, file)).toEqual(times(6, "ready"));
  });

  it("if files go whose variants have the messages, by one deletion or with all of a client's", async () => {
    narrow(2);
    for (const how of ["one by one", "with their messages", "all"]) {
      const app = mediaApp();
      const going = someone();
      const staying = someone(going.tenant);
      const gone = [await store(app, going, clips(2)), await store(app, going, clips(2))];
      app.clock.nowMs += 1;
      const file = await store(app, staying, clips(3));
      expect(await lane(staying)).toEqual([5, 2]);
      if (how === "all") {
        await everywhere
          .prepare("UPDATE owner SET erasure_id = 'e' WHERE client = ? AND tenant = ?")
          .bind(going.clientName, going.tenant)
          .run();
        // Their messages find nothing to do, and send those of the others.
        await deliver(app);
      } else {
        for (const { id, path } of gone) {
          // Such files lose the rows of their other variants at once, as after the deletion of one.
          if (how === "with their messages")
            await everywhere.prepare("UPDATE file SET known_places = NULL WHERE id = ?").bind(id).run();
          await ask(app, going, path, "DELETE");
        }
        expect(await lane(staying)).toEqual([3, 2]);
        if (how === "one by one") {
          app.jobs.splice(0);
          await sweep(app, LATE_MS);
          expect(app.jobs).toHaveLength(2);
        }
        await deliver(app);
      }
      expect(await statesOf(app, staying, file)).toEqual(times(3, "ready"));
    }
  });

  it("with a commit that is refused just when there is room", async () => {
    const { app, as } = narrowLane(2);
    const file = await thatWaits(app, as);
    expect((await app.call(`${file.commitLink}?shared=tenant`, { as, method: "POST" })).status).toBe(409);
    await app.settle();
    expect(app.jobs).toHaveLength(2);
    await deliver(app);
    expect(await statesOf(app, as, file)).toEqual(times(3, "ready"));
  });

  it("with a commit whose second batch fails, after the first was refused and took them", async () => {
    const { app, as } = narrowLane(2);
    const file = await thatWaits(app, as);
    const failing = mediaApp(failingOnceTaken());
    expect((await failing.call(`${file.commitLink}?shared=tenant`, { as, method: "POST" })).status).toBe(500);
    await failing.settle();
    expect([failing.jobs.length, await lane(as)]).toEqual([2, [1, 2]]);
  });

  it("of an older release, whose variants are in no lane and whose sweep sends what waited for long", async () => {
    const { app, as } = narrowLane(2);
    const older = await store(app, as, clips(4));
    await deliver(app, 1);
    await everywhere.prepare("UPDATE variant SET lane = NULL, waits = 0 WHERE lane = ?").bind(as.tenant).run();
    const jobs = app.jobs.splice(0);
    const file = await store(app, as, clips(3));
    expect([app.jobs.length, await lane(as)]).toEqual([2, [1, 2]]);
    // It makes variants and sends none after them.
    await everywhere.prepare("UPDATE variant SET state = 'ready' WHERE lane = ? AND waits = 0").bind(as.tenant).run();
    app.jobs.splice(0);
    const due = everywhere.prepare("SELECT due_at FROM variant WHERE lane = ? AND waits = 1").bind(as.tenant);
    expect((await due.all<{ due_at: number }>()).results).toEqual([{ due_at: START_MS + LIMITS.variantWaitMs }]);
    await sweep(app);
    expect(await lane(as)).toEqual([0, 1]);
    app.jobs.push(...jobs);
    await deliver(app);
    expect([await lane(as), await statesOf(app, as, file)]).toEqual([[0, 0], times(3, "ready")]);
    const waited = await store(app, as, clips(5));
    await deliver(app, 1);
    app.jobs.splice(0);
    await sweep(app, LIMITS.variantWaitMs);
    expect(app.jobs.filter(({ fileId }) => fileId === waited.id)).toHaveLength(2);
    expect(await lane(as)).toEqual([2, 2]);
    await deliver(app);
    expect(await statesOf(app, as, waited)).toEqual(times(5, "ready"));
    expect(await statesOf(app, as, older)).toEqual(times(4, "ready"));
  });
});

describe("a tenant that moves", () => {
  it.each([
    ["between shards", 1, 2],
    ["into an object of its own", 2, undefined],
  ])("%s keeps its variants that wait: the sweep wakes them in the new place", async (_, from, to) => {
    narrow(2);
    const as = someone();
    await placeTenants({ [as.tenant]: from });
    const app = mediaApp({ placement: keptPlacement(), objects: testObjects });
    const moving = new MovingTenants(app.media, shardsOf(env), app.clock, testObjects);
    const file = await store(app, as, clips(7));
    await deliver(app, 1);
    await moving.begin(as.tenant, to ?? { near: undefined }, app.clock.nowMs);
    for (let calls = 1; (await moving.underWay()).length > 0; calls++) {
      await moving.run(calls);
      await sweep(app);
      await deliver(app, calls === 1 ? 1 : 0);
    }
    // The old shard's messages find nothing to do.
    await deliver(app);
    expect(await statesOf(app, as, file)).toEqual(times(7, "ready"));
    const place = await env.DB.prepare("SELECT shard FROM tenant_shard WHERE tenant = ?")
      .bind(as.tenant)
      .first("shard");
    expect(place).not.toBe(from);
    const here = shardDb(place as number)
      .prepare("SELECT count(*) AS n FROM variant WHERE file_id = ?")
      .bind(file.id);
    expect(await here.first("n")).toBe(7);
  });

  it.each(["", ", though its second look fails"])(
    "sends what a bulk request that changes nothing has taken in its new place%s",
    async (how) => {
      narrow(2);
      const as = someone();
      await placeTenants({ [as.tenant]: 1 });
      const app = mediaApp({ placement: keptPlacement(), objects: testObjects });
      const moving = new MovingTenants(app.media, shardsOf(env), app.clock, testObjects);
      await moving.begin(as.tenant, 2, app.clock.nowMs);
      for (let calls = 1; (await moving.underWay()).length > 0; calls++) await moving.run(calls);
      const file = await thatWaits(app, as);
      const fails = how !== "";
      const asked = fails ? mediaApp({ placement: keptPlacement(), objects: testObjects, ...failingOnceTaken() }) : app;
      const path = `/media/v2/bulk/variants?tenant=${as.tenant}&clip=1x1`;
      expect((await asked.call(path, { as, method: "POST" })).status >= 500).toBe(fails);
      await asked.settle();
      expect([asked.jobs.length, await lane(as)]).toEqual([2, [1, 2]]);
      if (fails) app.jobs.push(...asked.jobs);
      await deliver(app);
      expect(await statesOf(app, as, file)).toEqual(times(3, "ready"));
    },
  );
});

describe("the turns of a tenant", () => {
  inShards(
    "cost no round trip, and some rows that grow neither with those that wait nor with other tenants",
    async () => {
      const { env: counted, tally, reset } = counting(env);
      const app = mediaApp({ db: counted.DB, bucket: counted.MEDIA });
      const as = someone(IN_DIRECTORY);
      const costs: number[][] = [];
      for (let round = 0; round < 4; round++) {
        const { path } = await stored(app, NO_PICTURE, { as });
        await ask(app, as, `${path}/variants?${clips(100)}`);
        const file = await stored(app, NO_PICTURE, { as });
        reset();
        await ask(app, as, `${file.path}/variants?clip=9x9`);
        const asked = [tally.d1RoundTrips, tally.d1RowsRead];
        reset();
        await deliver(app, 1);
        costs.push([...asked, tally.d1RoundTrips, tally.d1RowsRead]);
        reset();
        await sweep(app);
        costs.at(-1)!.push(tally.d1RowsRead);
      }
      for (const [at, count] of costs[3]!.entries()) expect(Math.abs(count - costs[1]![at]!)).toBeLessThan(10);
      expect(costs[3]!.filter((_, at) => at === 0 || at === 2)).toEqual([2, 2]);
      expect(Math.max(...costs[3]!)).toBeLessThan(300);
    },
  );

  inShards("reads no row of those that an older release has ended", async () => {
    const { env: counted, tally, reset } = counting(env);
    const app = mediaApp({ db: counted.DB, bucket: counted.MEDIA });
    const as = someone(IN_DIRECTORY);
    const rowsRead: number[] = [];
    for (let round = 0; round < 4; round++) {
      const { id, path } = await stored(app, NO_PICTURE, { as });
      await ask(app, as, `${path}/variants?${clips(100)}`);
      // It knows no lanes, so it leaves these columns as they are.
      await env.DB.prepare("UPDATE variant SET state = 'ready', due_at = NULL WHERE file_id = ?").bind(id).run();
      const file = await stored(app, NO_PICTURE, { as });
      reset();
      await ask(app, as, `${file.path}/variants?clip=9x9`);
      rowsRead.push(tally.d1RowsRead);
    }
    expect(Math.abs(rowsRead[3]! - rowsRead[1]!)).toBeLessThan(20);
  });
});
