import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { createComingStore } from "../../../src/media/moves/coming-store.ts";
import { createLeavingStore } from "../../../src/media/moves/leaving-store.ts";
import type { MediaJob } from "../../../src/media/model/job.ts";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { createMovedStore } from "../../../src/media/shards/moved-store.ts";
import { guardDatabase } from "../../../src/platform/storage/database.ts";
import { shardsOf, type Shards } from "../../../src/platform/storage/shards.ts";
import { FIRST_TENANT_OBJECT } from "../../../src/platform/storage/tenant-objects.ts";
import { MOVE_LIMITS } from "../../../src/shards/moves.ts";
import { createPlacementStore } from "../../../src/shards/placement-store.ts";
import { databaseWith } from "../../support/directory.ts";
import { encodePng, gradient } from "../../support/images.ts";
import { casesOf } from "../../support/model-runs.ts";
import { unique } from "../../support/platform/unique.ts";
import { everywhere, shardDb, testObjects } from "../../support/shards.ts";
import { keysOf } from "../support/keys-of.ts";
import { mediaApp, START_MS, type MediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { collection, stored, uploaded } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { keptPlacement, MovingTenants, placeTenants } from "../support/moving-tenants.ts";
import { DAY_MS } from "../../../src/platform/runtime/clock.ts";

const PICTURE = await encodePng(gradient(8, 8));
const [FROM, TO] = [1, 2];
const FILES = collection("private");
/** The shards with the same guards as in the Worker. */
const guarded = shardsOf(env).map((shard) => ({ ...shard, db: guardDatabase(shard.db) })) as unknown as Shards;

let tenant: string;
let as: ReturnType<typeof principal>;
let app: MediaApp;
let moving: MovingTenants;

beforeEach(async () => {
  tenant = unique("t");
  await placeTenants({ [tenant]: FROM });
  as = principal({ tenant });
  app = mediaApp({ shards: guarded, placement: keptPlacement() });
  moving = new MovingTenants(app.media, guarded, app.clock);
});

const rowsIn = async (shard: number, table: string): Promise<number> =>
  (await shardDb(shard)
    .prepare(
      table === "owner"
        ? "SELECT count(*) AS n FROM owner WHERE tenant = ?"
        : `SELECT count(*) AS n FROM file JOIN owner ON owner.id = file.owner_id AND owner.tenant = ?
           ${table === "file" ? "" : `JOIN ${table} ON ${table}.file_id = file.id`} WHERE file.state = 'committed'`,
    )
    .bind(tenant)
    .first<number>("n")) ?? 0;
const stateIn = (shard: number) =>
  shardDb(shard).prepare("SELECT state FROM moving_tenant WHERE tenant = ?").bind(tenant).first<string>("state");
const listOf = async (of: MediaApp, query = ""): Promise<any[]> =>
  expectJson(await of.call(`${FILES}?tenant=${tenant}${query}`, { as }), 200);
const list = (query = ""): Promise<any[]> => listOf(app, query);
const idsOf = (files: readonly { id: string }[]): string[] => files.map(({ id }) => id).sort();
const move = async (to: number): Promise<void> => {
  await moving.begin(tenant, to, app.clock.nowMs);
  await moving.rest();
};
const erased = (path: string) => app.call(path, { as, method: "DELETE" });

/** Runs the move step by step until this holds. */
async function runUntil(holds: () => Promise<boolean>): Promise<void> {
  await moving.begin(tenant, TO, app.clock.nowMs);
  for (let calls = 1; !(await holds()); calls++) {
    if (calls > 60) throw new Error("it does not come to that");
    await moving.run(calls);
  }
}

describe("a tenant that moves", () => {
  // shows: operator/shards/tenant-move
  it("has everything in the new shard: files, index, renditions, usage, uploads on their way, reports", async () => {
    const files = [];
    for (let at = 0; at < 5; at++)
      files.push(await stored(app, PICTURE, { as, query: "?clip=4x4", metadata: { at, ünï: ["a", at % 2] } }));
    await app.consume();
    const waiting = await uploaded(app, PICTURE, { as, query: "?crop=2x2" });
    const [gone, ...kept] = files;
    expect((await erased(gone!.path)).status).toBe(204);
    await app.settle();
    const before = { list: await list(), usage: await app.media.usage(tenant), reports: await reports() };
    expect(before.usage).toEqual({ files: 4, bytes: 4 * PICTURE.length, pending: { files: 1, bytes: 0 } });
    await move(TO);
    expect((await createPlacementStore(env.DB).find(tenant))?.shard).toBe(TO);
    // The isolate has the old place cached, and still works.
    expect({ list: await list(), usage: await app.media.usage(tenant), reports: await reports() }).toEqual(before);
    expect(idsOf(await list(`&q=${encodeURIComponent("ünï:1")}`))).toEqual(idsOf([files[1]!, files[3]!]));
    for (const { id, path } of kept) {
      const shown = await app.call(`${path}?clip=4x4`, { as });
      const { link } = await expectJson(shown, 200);
      expect((await app.call(link)).status).toBe(200);
      expect((await expectJson(await app.call(`${path}/variants`, { as }), 200))[0].state).toBe("ready");
      expect(await keysOf(id)).toHaveLength(2);
    }
    await expectJson(await app.call(waiting.commitLink, { as, method: "POST" }), 202);
    await app.consume();
    expect(await list()).toHaveLength(5);
    expect([await rowsIn(FROM, "attribute"), await rowsIn(FROM, "variant")]).toEqual([0, 0]);
    expect([await rowsIn(TO, "file"), await rowsIn(TO, "variant")]).toEqual([5, 5]);
    const made = await stored(app, PICTURE, { as });
    expect(Number.parseInt(made.id.slice(8, 10), 16)).toBe(TO);
    await expectProblem(await app.call(gone!.path, { as }), 404, "element_resource_non_existing");
  });

  it("can move back and on, and its files end with a proof wherever they were", async () => {
    const files = [];
    for (let at = 0; at < 3; at++) {
      files.push(await stored(app, PICTURE, { as, query: "?clip=4x4", metadata: { at } }));
      await move([TO, FROM, 3][at]!);
      expect(idsOf(await list())).toEqual(idsOf(files));
    }
    await app.consume();
    expect((await erased(files[0]!.path)).status).toBe(204);
    expect((await erased(`${FILES}?tenant=${tenant}`)).status).toBe(202);
    await app.settle();
    expect(await list()).toEqual([]);
    for (const ms of [0, DAY_MS, 2 * DAY_MS, 3 * DAY_MS]) {
      app.clock.nowMs = START_MS + ms;
      await app.media.sweep(app.clock.nowMs);
      while (app.longJobs.length > 0) await app.consume();
    }
    const proofs = (await reports()).map(({ state, files: counts }) => `${counts.verified} ${state}`);
    expect(proofs.toSorted()).toEqual(["1 verified", "2 verified"]);
    const { results } = await everywhere.prepare("SELECT owner.tenant FROM owner").all<{ tenant: string }>();
    expect(results.filter((owner) => owner.tenant === tenant)).toEqual([]);
    for (const { id } of files) expect(await keysOf(id)).toEqual([]);
  });

  it("has a rendition whose job met only the closed shards, however often it was tried", async () => {
    const file = await stored(app, PICTURE, { as, query: "?clip=4x4" });
    const [first] = app.jobs.splice(0);
    await runUntil(async () => (await stateIn(FROM)) === "closed");
    await app.consume({ jobs: [first] });
    await runUntil(async () => (await stateIn(TO)) === "arrived");
    // The job of the copied row, which the sweep sent before the files arrived.
    const copied = shardDb(TO).prepare("SELECT nonce FROM variant WHERE file_id = ?").bind(file.id);
    const sent: MediaJob[] = [{ fileId: file.id, nonce: (await copied.first("nonce"))!, shard: TO }];
    const dead: MediaJob[] = [];
    for (const job of [...app.jobs.splice(0), ...sent]) {
      let attempts = 1;
      while (attempts <= 5 && (await app.consume({ jobs: [job], attempts })).retried === 1) attempts++;
      if (attempts > 5) dead.push(job);
    }
    await moving.rest();
    await app.consume({ jobs: dead, dead: true });
    await app.consume();
    expect((await expectJson(await app.call(`${file.path}/variants`, { as }), 200))[0].state).toBe("ready");
  });

  it("has one message for each rendition, however long the move lasts and however often the commit is repeated", async () => {
    const { id, commitLink } = await uploaded(app, PICTURE, { as, query: "?clip=4x4" });
    const commit = async () => expect((await app.call(commitLink, { as, method: "POST" })).status).toBe(202);
    await commit();
    await app.settle();
    for (const [shard, state] of [
      [FROM, "closed"],
      [TO, "arrived"],
    ] as const) {
      await runUntil(async () => (await stateIn(shard)) === state);
      const before = app.jobs.length;
      for (let turn = 0; turn < 3; turn++) {
        app.clock.nowMs += LIMITS.variantResendMs;
        await app.media.sweep(app.clock.nowMs);
        await commit();
        await app.consume();
      }
      expect([state, app.jobs.length <= Math.max(1, before)]).toEqual([state, true]);
    }
    await moving.rest();
    app.clock.nowMs += LIMITS.variantResendMs;
    await app.media.sweep(app.clock.nowMs);
    while (app.jobs.length > 0) await app.consume();
    expect(await keysOf(id)).toHaveLength(2);
  });

  it("takes all its pending files along, however many, and they count for its quota", async () => {
    const first = await uploaded(app, PICTURE, { as, query: "?crop=2x2" });
    await shardDb(FROM)
      .prepare(
        `WITH RECURSIVE more (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < 1100)
         INSERT INTO file (id, owner_id, state, content_type, created_at, reserved_for, known_places)
         SELECT printf('%s%08d', substr(file.id, 1, 16), n), owner_id, state, content_type, created_at, reserved_for, 1
         FROM file, more WHERE file.id = ?`,
      )
      .bind(first.id)
      .run();
    await everywhere.prepare("UPDATE tenant SET quota_files = 1101 WHERE id = ?").bind(tenant).run();
    await runUntil(async () => (await stateIn(TO)) === "arrived");
    await moving.rest();
    expect((await app.media.usage(tenant)).pending.files).toBe(1101);
    await expectProblem(await app.call(FILES, { as, json: {} }), 413, "bad_payload_size", [{ type: "quota_exceeded" }]);
    await expectJson(await app.call(first.commitLink, { as, method: "POST" }), 202);
    await app.consume();
    const shown = await expectJson(await app.call(`${FILES}/${first.id}/variants`, { as }), 200);
    expect(shown[0].state).toBe("ready");
  });

  it("moves although a file that left before is on its way to a shard that is down", async () => {
    const [waiting, other] = [await uploaded(app, PICTURE, { as }), await uploaded(app, PICTURE, { as })];
    const caller = { client: as.clientName, visibility: "private", tenant, isPerson: false } as const;
    await createMovedStore(shardDb(FROM), FROM).leave(other.id, caller, undefined, 3, START_MS);
    const down = databaseWith(shardDb(3), { batch: () => Promise.reject(new Error("injected")) });
    const shards = guarded.map((shard) => (shard.number === 3 ? { ...shard, db: guardDatabase(down) } : shard));
    const failing = mediaApp({ shards: shards as unknown as Shards, placement: keptPlacement() });
    moving = new MovingTenants(failing.media, guarded, app.clock);
    await move(TO);
    expect((await createPlacementStore(env.DB).find(tenant))?.shard).toBe(TO);
    await expectJson(await app.call(waiting.commitLink, { as, method: "POST" }), 202);
    await expectJson(await app.call(other.commitLink, { as, method: "POST" }), 202);
  });

  it("accepts no changes for a moment, and can always be read", async () => {
    const file = await stored(app, PICTURE, { as });
    const other = await uploaded(app, PICTURE, { as });
    for (const [shard, state] of [
      [FROM, "closed"],
      [TO, "arrived"],
    ] as const) {
      await runUntil(async () => (await stateIn(shard)) === state);
      expect(idsOf(await list())).toEqual([file.id]);
      expect((await app.call(file.path, { as })).status).toBe(200);
      for (const refused of [
        await app.call(`${file.path}/metadata`, { as, method: "PUT", json: { a: 1 } }),
        await app.call(`${file.path}/variants?clip=4x4`, { as, method: "POST" }),
        await erased(file.path),
        await erased(`${FILES}?tenant=${tenant}`),
        await app.call(other.commitLink, { as, method: "POST" }),
      ]) {
        await expectProblem(refused, 503, "service_temporarily_unavailable");
        expect(refused.headers.get("retry-after")).not.toBeNull();
      }
    }
    await moving.rest();
    await expectJson(await app.call(other.commitLink, { as, method: "POST" }), 202);
    expect(await list()).toHaveLength(2);
  });

  it("loses no change that comes while it is copied", async () => {
    const files = [];
    for (let at = 0; at < 4; at++) files.push(await stored(app, PICTURE, { as, metadata: { at } }));
    await runUntil(async () => (await rowsIn(TO, "file")) === 4);
    expect(await stateIn(FROM)).toBe("leaving");
    await app.call(`${files[0]!.path}/metadata`, { as, method: "PUT", json: { at: 9 } });
    await erased(files[1]!.path);
    await app.call(`${files[2]!.path}/variants?clip=4x4`, { as, method: "POST" });
    files.push(await stored(app, PICTURE, { as, metadata: { at: 5 } }));
    await moving.rest();
    expect(
      (await list()).map(({ metadata, variants }) => [metadata.at, variants.length]).toSorted(([a], [b]) => a - b),
    ).toEqual([
      [2, 1],
      [3, 0],
      [5, 0],
      [9, 0],
    ]);
    expect(idsOf(await list("&q=at:9"))).toEqual([files[0]!.id]);
    expect(await list("&q=at:0")).toEqual([]);
    await app.media.sweep(app.clock.nowMs + 3_600_000);
    await app.consume();
    expect((await expectJson(await app.call(`${files[2]!.path}/variants`, { as }), 200))[0].state).toBe("ready");
  });

  it("takes a file in one request, by its bytes or a form, from an isolate with its old place", async () => {
    const form = new FormData();
    form.set("file", new File([PICTURE], "a.png", { type: "image/png" }));
    const bytes = new Blob([PICTURE], { type: "image/png" });
    for (const [to, body] of [
      [TO, bytes.stream()],
      [FROM, form],
    ] as const) {
      await list();
      await move(to);
      const headers: Record<string, string> =
        body === form ? {} : { "content-type": "image/png", "content-length": String(bytes.size) };
      await expectJson(await app.call(FILES, { as, method: "POST", body, headers }), 202);
      expect(await rowsIn(to, "file")).toBe(await app.media.usage(tenant).then(({ files }) => files));
    }
    expect(await list()).toHaveLength(2);
  });

  it("leaves out owners whose files were all deleted while it was copied", async () => {
    await stored(app, PICTURE, { as });
    await runUntil(async () => (await rowsIn(TO, "file")) === 1);
    expect((await erased(`${FILES}?tenant=${tenant}`)).status).toBe(202);
    await app.settle();
    const again = await stored(app, PICTURE, { as });
    await moving.rest();
    expect(idsOf(await list())).toEqual([again.id]);
    expect(await app.media.usage(tenant)).toMatchObject({ files: 1, bytes: PICTURE.length });
    expect(await rowsIn(TO, "file")).toBe(1);
  });

  it("keeps the bytes of a rendition when its message comes once more to an old shard, after any move", async () => {
    const file = await stored(app, PICTURE, { as, query: "?clip=4x4" });
    const messages = [...app.jobs];
    await app.consume();
    const keys = await keysOf(file.id);
    expect(keys).toHaveLength(2);
    await runUntil(async () => (await createLeavingState()) === "gone");
    await app.consume({ jobs: messages });
    expect(await keysOf(file.id)).toEqual(keys);
    await moving.rest();
    for (const next of [3, FROM, TO]) {
      await app.consume({ jobs: messages });
      await app.consume({ jobs: messages, dead: true });
      expect([next, await keysOf(file.id)]).toEqual([next, keys]);
      await move(next);
    }
  });

  it("deletes the bytes that a late attempt wrote for a rendition that was given up before the move", async () => {
    const file = await stored(app, PICTURE, { as, query: "?clip=4x4" });
    const jobs = app.jobs.splice(0);
    const before = await keysOf(file.id);
    await app.consume({ jobs, dead: true });
    await env.MEDIA.put(`variant/${file.id}/${jobs[0]!.nonce}`, "late");
    await move(TO);
    await app.consume({ jobs });
    expect(await keysOf(file.id)).toEqual(before);
  });

  it("answers a commit in the shard of the file's id as before: again for its client, 404 for another one", async () => {
    const file = await stored(app, PICTURE, { as, metadata: { at: 1 } });
    const waiting = await uploaded(app, PICTURE, { as });
    await move(TO);
    const again = { method: "POST", json: { at: 1 } };
    await expectJson(await app.call(file.commitLink, { as, ...again }), 202);
    for (const { commitLink } of [file, waiting])
      await expectProblem(
        await app.call(commitLink, { as: principal({ tenant }), ...again }),
        404,
        "element_resource_non_existing",
      );
  });

  it("commits and deletes a file that came from another shard, although older notes lead back there", async () => {
    const served = unique("t");
    await placeTenants({ [tenant]: FROM, [served]: TO });
    app.actsFor.add(`${as.clientId} ${served}`);
    const file = await uploaded(app, PICTURE, { as });
    const commit = () => app.call(`${file.commitLink}?tenant=${served}`, { as, method: "POST" });
    await expectJson(await commit(), 202);
    // The note in the first shard still says that the file left for the second one.
    for (const to of [FROM, 3]) {
      await moving.begin(served, to, app.clock.nowMs);
      await moving.rest();
    }
    await expectJson(await commit(), 202);
    expect((await app.call(`${file.path}?tenant=${served}`, { as, method: "DELETE" })).status).toBe(204);
  });

  it("is not removed or renamed away meanwhile", async () => {
    await stored(app, PICTURE, { as });
    await runUntil(async () => (await rowsIn(TO, "file")) === 1);
    await expect(
      app.media.ownerChanges.removeTenant(tenant, () => Promise.reject(new Error("it was written"))),
    ).rejects.toThrow("in the way");
    await expect(env.DB.prepare("DELETE FROM tenant WHERE id = ?").bind(tenant).run()).rejects.toThrow("moves");
    const closing = { kind: "client", name: as.clientName, client: "c", tenant, change: "x" } as const;
    const { createOwnerStore } = await import("../../../src/media/shards/owner-store.ts");
    expect(await createOwnerStore(shardDb(TO), false).close(closing, "", 0)).toBe(false);
    await moving.rest();
    expect(await list()).toHaveLength(1);
  });
});

/** Makes bindings in which the tenant moves before or after each statement that contains `sql`, in these shards. */
function movingMeanwhile(at: "before" | "after", sql: string, moves: Record<number, readonly number[]>): MediaApp {
  const left = new Map(Object.entries(moves).map(([shard, to]) => [Number(shard), [...to]]));
  const shards = guarded.map(({ number, db }) => {
    let isAsked = false;
    const perhaps = async <T>(run: () => Promise<T>): Promise<T> => {
      const to = isAsked ? left.get(number)?.shift() : undefined;
      isAsked = false;
      if (at === "before" && to !== undefined) await move(to);
      const answer = await run();
      if (at === "after" && to !== undefined) await move(to);
      return answer;
    };
    const asking = (statement: D1PreparedStatement): D1PreparedStatement =>
      new Proxy(statement, {
        get: (target, name) =>
          name === "bind"
            ? (...values: unknown[]) => asking(target.bind(...values))
            : name === "first"
              ? () => perhaps(() => target.first())
              : Reflect.get(target, name, target),
      });
    const prepare = (text: string) => {
      if (!text.includes(sql)) return db.prepare(text);
      isAsked = true;
      // A batch needs the database's own statements.
      return at === "before" ? asking(db.prepare(text)) : db.prepare(text);
    };
    return { number, db: { prepare, batch: (all: D1PreparedStatement[]) => perhaps(() => db.batch(all)) } };
  });
  return mediaApp({ shards: shards as unknown as Shards, placement: keptPlacement() });
}

describe("a file of a tenant that stays, when another tenant leaves its shard", () => {
  const answer = async (found: Response) => {
    const { message } = await expectJson(found, 404);
    return { message, retryAfter: found.headers.get("retry-after") };
  };
  const links = async (visibility: "private" | "public") => {
    const file = await stored(app, PICTURE, { as, visibility, query: "?clip=4x4&crop=2x2" });
    const [jobs, content] = [app.jobs.splice(0), `/media/v2/content/${file.id}`];
    const { results } = await shardDb(FROM)
      .prepare("SELECT nonce FROM variant WHERE file_id = ? AND type = 'crop'")
      .bind(file.id)
      .all<{ nonce: string }>();
    await app.consume({ jobs: jobs.filter(({ nonce }) => nonce === results[0]!.nonce), dead: true });
    const ofFile = ["clip=4x4", "crop=2x2", "clip=3x3"].map((query) => `${file.path}?${query}`);
    return visibility === "private" ? ofFile : [...ofFile, `${content}/clip-4x4`, `${content}/crop-2x2`];
  };

  it.each(["private", "public"] as const)(
    "answers as before for variants that are not made: %s",
    async (visibility) => {
      const goes = unique("t");
      await placeTenants({ [tenant]: FROM, [goes]: FROM });
      await stored(app, PICTURE, { as: principal({ tenant: goes }) });
      const asked = await links(visibility);
      const all = async () => {
        const answers = [];
        for (const path of asked) answers.push(await answer(await app.call(path, { as })));
        return answers;
      };
      const before = await all();
      expect(before.slice(0, 2)).toEqual([
        { message: "This variant is still being made.", retryAfter: "2" },
        { message: expect.stringContaining("could not be made"), retryAfter: null },
      ]);
      await moving.begin(goes, TO, app.clock.nowMs);
      await moving.rest();
      expect(await all()).toEqual(before);
    },
  );
});

describe("an id without a file", () => {
  it("is 404, however many tenants left its shard, and the shards that they went to", async () => {
    const path = `${FILES}/${(await uploaded(app, PICTURE, { as })).id.slice(0, 12)}${"0".repeat(12)}`;
    const { departures } = MOVE_LIMITS;
    const objects = Array.from({ length: 2 * departures }, (_, at) => FIRST_TENANT_OBJECT + at);
    const leave = (from: number, to: readonly number[]) =>
      shardDb(from)
        .prepare("INSERT INTO departed_to (shard) SELECT value FROM json_each(?)")
        .bind(JSON.stringify(to))
        .run();
    await leave(FROM, [TO, 0, ...objects.slice(departures)]);
    await leave(TO, [FROM, 0, ...objects.slice(0, departures)]);
    await leave(0, [FROM, TO]);
    const withObjects = mediaApp({ shards: guarded, placement: keptPlacement(), objects: testObjects });
    await expectProblem(await withObjects.call(path, { as }), 404, "element_resource_non_existing");
  });
});

describe("a tenant that moves twice within one request", () => {
  // shows: operator/shards/tenant-move-twice
  it("has its files, wherever the search for one has been before", async () => {
    const file = await stored(app, PICTURE, { as, metadata: { at: 1 } });
    await move(TO);
    // The search asks FROM (the file is gone), TO (it has gone back), FROM (it is gone again), TO.
    const slow = movingMeanwhile("after", "FROM departed_to", { [FROM]: [FROM], [TO]: [TO] });
    expect((await slow.call(file.path, { as })).status).toBe(200);
    expect((await createPlacementStore(env.DB).find(tenant))?.shard).toBe(TO);
  });

  it("has its list, even if its old shard is right again when that is asked", async () => {
    const file = await stored(app, PICTURE, { as });
    const slow = movingMeanwhile("before", "FROM ended_move", { [FROM]: [FROM] });
    expect(idsOf(await listOf(slow))).toEqual([file.id]);
    await move(TO);
    // The isolate has the old place cached. It reads the list there, then the tenant returns, then it asks the shard.
    expect(idsOf(await listOf(slow))).toEqual([file.id]);
    expect((await createPlacementStore(env.DB).find(tenant))?.shard).toBe(FROM);
    await expectProblem(await slow.call(`${FILES}/${"0".repeat(32)}`, { as }), 404, "element_resource_non_existing");
  });
});

describe("a run of a move", () => {
  it("that breaks off after any call is continued by another one, and every answer is right meanwhile", async () => {
    const file = await stored(app, PICTURE, { as, query: "?clip=4x4", metadata: { at: 0 } });
    await app.consume();
    let to = TO;
    for (const calls of casesOf([3, 9, 6, 12, 1, 2, 4, 5, 7, 8, 10, 11, 13, 14], 2)) {
      await moving.begin(tenant, to, app.clock.nowMs);
      for (let round = 0; (await moving.underWay()).length > 0; round++) {
        await moving.run(round > 30 ? Infinity : calls + (round % 3));
        expect(idsOf(await list())).toEqual([file.id]);
        expect((await app.call(`${file.path}?clip=4x4`, { as })).status).toBe(200);
        expect((await app.media.usage(tenant)).files).toBe(1);
        const changed = await app.call(`${file.path}/metadata`, { as, method: "PUT", json: { at: round } });
        if (changed.status !== 200) expect(changed.status).toBe(503);
        else expect(await list(`&q=at:${round}`)).toHaveLength(1);
      }
      expect((await createPlacementStore(env.DB).find(tenant))?.shard).toBe(to);
      to = to === TO ? FROM : TO;
    }
  });

  it("that another one has overtaken writes nothing any more", async () => {
    const file = await stored(app, PICTURE, { as, metadata: { at: 1 } });
    const [leaving, coming] = [createLeavingStore(shardDb(FROM), FROM), createComingStore(shardDb(TO), TO)];
    const old = { tenant, move: "m1", turn: 1 };
    const next = { ...old, turn: 2 };
    expect([await coming.begin(old), await leaving.begin(old)]).toEqual(["coming", "leaving"]);
    const most = { files: 10, rowChars: 100_000 };
    const { files: page } = await leaving.page(tenant, 0, "", most);
    expect(page.map(({ id }) => id)).toEqual([file.id]);
    await app.call(`${file.path}/metadata`, { as, method: "PUT", json: { at: 2 } });
    expect([await coming.begin(next), await leaving.begin(next)]).toEqual(["coming", "leaving"]);
    const { changes, files } = await leaving.changes(tenant, most);
    expect(await coming.put(next, FROM, [file.id], files)).toBe(true);
    await leaving.followed(old, changes);
    expect((await leaving.changes(tenant, most)).changes).toEqual(changes);
    expect(await coming.put(old, FROM, [file.id], page)).toBe(false);
    const copied = "SELECT metadata FROM file WHERE id = ?";
    expect(await shardDb(TO).prepare(copied).bind(file.id).first("metadata")).toBe('{"at":2}');
    expect(await leaving.close(old, TO, 0)).toBe(false);
    expect(await coming.arrive(old, [], [])).toBe(false);
    expect([await coming.begin(old), await leaving.begin(old)]).toEqual([undefined, undefined]);
    await leaving.followed(next, changes);
    expect(await leaving.close(next, TO, 0)).toBe(true);
    const { owners } = await leaving.closed(tenant);
    expect(await coming.arrive(next, owners, [FROM])).toBe(true);
    expect([await leaving.depart(old, TO), await leaving.depart(next, TO), await leaving.depart(next, TO)]).toEqual([
      false,
      true,
      true,
    ]);
    expect([await coming.open(old), await coming.open(next), await coming.open(next)]).toEqual([false, true, true]);
    // A late call does not begin a move.
    expect([await coming.begin({ ...next, turn: 9 }), await leaving.begin({ ...next, turn: 9 })]).toEqual([
      undefined,
      undefined,
    ]);
    expect([await stateIn(FROM), await stateIn(TO)]).toEqual([null, null]);
  });
});

async function reports(): Promise<any[]> {
  return expectJson(await app.call(`/media/v2/erasures?tenant=${tenant}`, { as }), 200);
}

async function createLeavingState(): Promise<string | null> {
  const gone = await shardDb(FROM).prepare("SELECT 1 FROM departed_tenant WHERE tenant = ?").bind(tenant).first();
  return gone === null ? stateIn(FROM) : "gone";
}
