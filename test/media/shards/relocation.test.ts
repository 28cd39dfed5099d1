import { env } from "cloudflare:workers";
import { describe, expect, it, onTestFinished } from "vitest";
import { shardOfId } from "../../../src/media/model/file.ts";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { shardsOf, type Shards } from "../../../src/platform/storage/shards.ts";
import { createMovedStore } from "../../../src/media/shards/moved-store.ts";
import { counting } from "../../support/counting.ts";
import { databaseWith } from "../../support/directory.ts";
import { heardLog } from "../../support/runtime/heard-log.ts";
import { encodePng, gradient } from "../../support/images.ts";
import { runs, strideOf } from "../../support/model-runs.ts";
import { allDatabases, everywhere, inShards, shardDb } from "../../support/shards.ts";
import { faultAt } from "../support/faults.ts";
import { keysOf } from "../support/keys-of.ts";
import { mediaApp, START_MS, type MediaApp } from "../support/media-app.ts";
import { IN_DIRECTORY, testPlacement } from "../support/placement.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { collection, stored, uploaded } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { DAY_MS, MINUTE_MS } from "../../../src/platform/runtime/clock.ts";

const PICTURE = await encodePng(gradient(8, 8));
/** The files of these tenants lie in different shards. */
const [HERE, THERE] = ["acme", "globex"];

/** Returns the shards that have a row of this file. */
async function placesOf(id: string): Promise<number[]> {
  const found = await Promise.all(
    allDatabases().map(async ({ number, db }) => {
      const row = await db.prepare("SELECT 1 FROM file WHERE id = ?").bind(id).first();
      return row === null ? [] : [number];
    }),
  );
  return found.flat();
}

/** Makes a client of one tenant that serves the other. */
function serving(app: MediaApp, as = principal({ tenant: HERE })) {
  app.actsFor.add(`${as.clientId} ${THERE}`);
  return as;
}

const commitFor = (app: MediaApp, commitLink: string, tenant: string, as: ReturnType<typeof principal>) =>
  app.call(`${commitLink}?tenant=${tenant}`, { as, method: "POST" });

const bucketWith = (methods: Partial<R2Bucket>): R2Bucket =>
  new Proxy(env.MEDIA, {
    get: (target, name) => {
      const method = Reflect.get(methods, name) ?? Reflect.get(target, name, target);
      return (method as (...args: unknown[]) => unknown).bind(target);
    },
  });

async function finish(app: MediaApp): Promise<void> {
  for (const ms of [0, DAY_MS, DAY_MS + LIMITS.lastWriteMs, 3 * DAY_MS]) {
    app.clock.nowMs = START_MS + ms;
    await app.media.sweep(app.clock.nowMs);
    while (app.longJobs.length > 0) await app.consume();
  }
}

describe("files of two tenants", () => {
  // shows: operator/shards/place
  it("lie in two databases, each with all that belongs to it, and their ids say which", async () => {
    const app = mediaApp();
    for (const tenant of [HERE, THERE]) {
      const file = await stored(app, PICTURE, { as: principal({ tenant }), query: "?clip=4x4", metadata: { a: 1 } });
      const shard = await testPlacement.shardOf(tenant, 0);
      expect(shard).toBeGreaterThan(0);
      expect([await placesOf(file.id), shardOfId(file.id)]).toEqual([[shard], shard]);
      for (const table of ["variant", "attribute"]) {
        const rows = `SELECT count(*) AS n FROM ${table} WHERE file_id = ?`;
        expect(await shardDb(shard).prepare(rows).bind(file.id).first("n")).toBeGreaterThan(0);
        expect(await env.DB.prepare(rows).bind(file.id).first("n")).toBe(0);
      }
    }
    expect(await testPlacement.shardOf(HERE, 0)).not.toBe(await testPlacement.shardOf(THERE, 0));
  });

  inShards("cost no more round trips than those of one database", async () => {
    const { env: counted, tally, reset } = counting(env);
    const app = mediaApp({ shards: shardsOf(counted), bucket: counted.MEDIA });
    const as = principal({ tenant: HERE });
    const trips = async (work: () => Promise<unknown>): Promise<number> => {
      reset();
      await work();
      return tally.d1RoundTrips;
    };
    // The first file of a client in a tenant makes their owners, which takes a round trip more.
    await stored(app, PICTURE, { as });
    let file!: Awaited<ReturnType<typeof uploaded>>;
    expect(await trips(async () => (file = await uploaded(app, PICTURE, { as })))).toBe(2);
    expect(await trips(() => app.call(file.commitLink, { as, method: "POST" }))).toBe(1);
    expect(await trips(() => app.call(file.path, { as }))).toBe(1);
    expect(await trips(() => app.call(`${collection()}?tenant=${HERE}`, { as }))).toBe(2);
  });
});

describe("a file that is committed for a tenant of another shard", () => {
  it("moves there, and is found by its id, in the list, by its variants, and deleted with its report", async () => {
    const app = mediaApp();
    const as = serving(app);
    const file = await uploaded(app, PICTURE, { as, query: "?clip=4x4" });
    expect(await placesOf(file.id)).toEqual([await testPlacement.shardOf(HERE, 0)]);
    expect((await commitFor(app, file.commitLink, THERE, as)).status).toBe(202);
    await app.settle();
    expect(await placesOf(file.id)).toEqual([await testPlacement.shardOf(THERE, 0)]);
    // The commit is repeated, as after a lost answer.
    expect((await commitFor(app, file.commitLink, THERE, as)).status).toBe(202);
    expect(await app.consume()).toMatchObject({ retried: 0 });
    const there = { ...as, tenant: THERE };
    expect((await app.call(`${file.path}?clip=4x4`, { as: there })).status).toBe(200);
    const listed = await expectJson(await app.call(`${collection()}?tenant=${THERE}`, { as }), 200);
    expect(listed.map(({ id }: { id: string }) => id)).toEqual([file.id]);
    expect(await expectJson(await app.call(`${collection()}?tenant=${HERE}`, { as }), 200)).toEqual([]);
    expect(await app.media.operatedFiles.ownerOf(file.id)).toMatchObject({ tenant: THERE });
    const deleted = await app.call(file.path, { as: there, method: "DELETE" });
    expect(deleted.status).toBe(204);
    await app.settle();
    const report = deleted.headers.get("location")!;
    expect(await expectJson(await app.call(report, { as }), 200)).toMatchObject({ tenant: THERE, state: "deleted" });
    await finish(app);
    expect(await expectJson(await app.call(report, { as }), 200)).toMatchObject({ state: "verified" });
    expect([await placesOf(file.id), await keysOf(file.id)]).toEqual([[], []]);
    const notes = everywhere.prepare("SELECT count(*) AS n FROM moved_file WHERE id = ?").bind(file.id);
    expect(await notes.first("n")).toBe(0);
  });

  it("stays where it is if the client may not act for that tenant, or is another one", async () => {
    const app = mediaApp();
    const as = principal({ tenant: HERE });
    const file = await uploaded(app, PICTURE, { as });
    await expectProblem(await commitFor(app, file.commitLink, THERE, as), 404, "element_resource_non_existing");
    const stranger = serving(app);
    const refused = await commitFor(app, file.commitLink, THERE, stranger);
    await expectProblem(refused, 404, "element_resource_non_existing");
    expect(await placesOf(file.id)).toEqual([await testPlacement.shardOf(HERE, 0)]);
    expect((await app.call(file.commitLink, { as, method: "POST" })).status).toBe(202);
  });

  it("moves on, and back, while it is pending", async () => {
    const app = mediaApp();
    const as = serving(app);
    await shardDb(await testPlacement.shardOf(THERE, 0)).batch([
      shardDb(await testPlacement.shardOf(THERE, 0)).prepare("INSERT INTO organization VALUES ('o', 'o', 0)"),
      shardDb(await testPlacement.shardOf(THERE, 0))
        .prepare("INSERT INTO tenant (id, organization, name, created_at, quota_files) VALUES (?, 'o', 'x', 0, 0)")
        .bind(THERE),
    ]);
    const file = await uploaded(app, PICTURE, { as });
    await expectProblem(await commitFor(app, file.commitLink, THERE, as), 413, "bad_payload_size", [
      { type: "quota_exceeded" },
    ]);
    expect((await app.call(file.commitLink, { as, method: "POST" })).status).toBe(202);
    expect(await placesOf(file.id)).toEqual([await testPlacement.shardOf(HERE, 0)]);
    expect((await app.call(file.path, { as })).status).toBe(200);
    await everywhere.prepare("UPDATE tenant SET quota_files = NULL WHERE id = ?").bind(THERE).run();
  });

  // shows: operator/shards/move-refused
  it("is back if the commit is refused, so it counts for its tenant as before", async () => {
    const app = mediaApp();
    const as = serving(app);
    const here = shardDb(await testPlacement.shardOf(HERE, 0));
    const before = await app.media.usage(HERE);
    await here.batch([
      here.prepare("INSERT INTO organization VALUES ('o', 'o', 0) ON CONFLICT DO NOTHING"),
      here
        .prepare("INSERT INTO tenant (id, organization, name, created_at, quota_files) VALUES (?1, 'o', 'x', 0, ?2)")
        .bind(HERE, 1 + before.files + before.pending.files),
    ]);
    onTestFinished(
      async () => void (await here.prepare("UPDATE tenant SET quota_files = NULL WHERE id = ?").bind(HERE).run()),
    );
    const create = () => app.call(collection(), { as, json: { "Content-Type": "image/png" } });
    const { id, uploadLink, commitLink } = await expectJson(await create(), 200);
    // Nothing was uploaded.
    expect((await commitFor(app, commitLink, THERE, as)).status).toBe(409);
    expect((await app.media.usage(HERE)).pending.files).toBe(before.pending.files + 1);
    expect((await create()).status).toBe(413);
    const headers = { "content-type": "image/png" };
    expect((await app.call(uploadLink, { method: "PUT", body: PICTURE, headers })).status).toBe(200);
    expect((await commitFor(app, commitLink, THERE, as)).status).toBe(202);
    expect(await placesOf(id)).toEqual([await testPlacement.shardOf(THERE, 0)]);
  });

  inShards("waits for its first shard with its proof, and other files do not, and the log says so once", async () => {
    const app = mediaApp();
    // Its first shard answers: the directory.
    const near = principal({ tenant: IN_DIRECTORY });
    app.actsFor.add(`${near.clientId} ${THERE}`);
    const as = serving(app);
    const files = [await uploaded(app, PICTURE, { as }), await uploaded(app, PICTURE, { as: near })];
    const [held, moved] = files;
    expect((await commitFor(app, held!.commitLink, THERE, as)).status).toBe(202);
    expect((await commitFor(app, moved!.commitLink, THERE, near)).status).toBe(202);
    const other = await stored(app, PICTURE, { as: { ...as, tenant: THERE } });
    for (const client of [as, near])
      expect(
        (await app.call(`${collection()}?tenant=${THERE}`, { as: { ...client, tenant: THERE }, method: "DELETE" }))
          .status,
      ).toBe(202);
    await app.settle();
    while (app.longJobs.length > 0) await app.consume();
    const [first, home] = await Promise.all([HERE, THERE].map((tenant) => testPlacement.shardOf(tenant, 0)));
    for (const { id } of [...files, other]) expect(await placesOf(id)).toEqual([home]);

    const shards = shardsOf(env).map(({ number, db }) => {
      const prepare = (sql: string) => {
        if (number === first && sql.startsWith("DELETE FROM moved_file")) throw new Error("injected");
        return db.prepare(sql);
      };
      return { number, db: { prepare, batch: db.batch.bind(db) } as unknown as D1Database };
    }) as unknown as Shards;
    const said: string[] = [];
    const log = { ...heardLog, error: (message: string) => void said.push(message) };
    const down = mediaApp({ shards, log });
    const dueAt = START_MS + DAY_MS;
    for (let run = 0; run < 3; run++) {
      down.clock.nowMs = dueAt + run * MINUTE_MS;
      await down.media.sweep(down.clock.nowMs);
      while (down.longJobs.length > 0) expect((await down.consume()).retried).toBe(0);
    }
    expect([await placesOf(held!.id), await placesOf(moved!.id), await placesOf(other.id)]).toEqual([[home], [], []]);
    expect(said).toEqual(["proofs of deletions wait for shards that do not answer"]);
    await app.media.sweep(dueAt + LIMITS.verifyAgainMs);
    expect(await placesOf(held!.id)).toEqual([]);
  });

  // shows: operator/shards/move-refused
  inShards("is back if the commit fails there", async () => {
    const home = await testPlacement.shardOf(THERE, 0);
    const state = { isFailing: true };
    const shards = shardsOf(env).map(({ number, db }) => {
      const prepare = (sql: string) => {
        const isCommit = sql.includes("SET owner_id = ") && sql.includes("commit_digest = ");
        if (number === home && state.isFailing && isCommit) throw new Error("injected");
        return db.prepare(sql);
      };
      const batch = (statements: D1PreparedStatement[]) => db.batch(statements);
      return { number, db: { prepare, batch } as unknown as D1Database };
    }) as unknown as Shards;
    const app = mediaApp({ shards });
    const as = serving(app);
    const file = await uploaded(app, PICTURE, { as });
    const pending = async () => (await app.media.usage(HERE)).pending.files;
    const before = await pending();
    expect((await commitFor(app, file.commitLink, THERE, as)).status).toBe(500);
    expect([await placesOf(file.id), await pending()]).toEqual([[await testPlacement.shardOf(HERE, 0)], before]);
    state.isFailing = false;
    expect((await commitFor(app, file.commitLink, THERE, as)).status).toBe(202);
    expect(await placesOf(file.id)).toEqual([home]);
  });

  it("is committed once by one of two requests at once for tenants of two shards, and lies in that one's", async () => {
    const app = mediaApp();
    for (let round = 0; round < runs(3); round++) {
      const as = serving(app);
      const file = await uploaded(app, PICTURE, { as });
      const answers = await Promise.all([HERE, THERE].map((tenant) => commitFor(app, file.commitLink, tenant, as)));
      const statuses = answers.map(({ status }) => status);
      expect(statuses.toSorted((one, other) => one - other)).toEqual([202, 409]);
      const tenant = statuses[0] === 202 ? HERE : THERE;
      expect(await placesOf(file.id)).toEqual([await testPlacement.shardOf(tenant, 0)]);
      expect(await app.media.operatedFiles.ownerOf(file.id)).toMatchObject({ tenant });
    }
  });

  it("is committed by one of several requests that take it from each other; the others get 409", async () => {
    const bucket = bucketWith({
      async head(key: string) {
        await scheduler.wait(30);
        return env.MEDIA.head(key);
      },
    });
    const app = mediaApp({ bucket });
    for (const others of [[THERE], [THERE, "zero"]]) {
      const tenants = [HERE, ...others];
      const as = serving(app);
      for (const tenant of others) app.actsFor.add(`${as.clientId} ${tenant}`);
      const file = await uploaded(app, PICTURE, { as });
      const answers = await Promise.all(tenants.map((tenant) => commitFor(app, file.commitLink, tenant, as)));
      const statuses = answers.map(({ status }) => status);
      expect(statuses.toSorted((one, other) => one - other)).toEqual([202, ...others.map(() => 409)]);
      const winner = tenants[statuses.indexOf(202)]!;
      expect(await placesOf(file.id)).toEqual([await testPlacement.shardOf(winner, 0)]);
    }
  });

  describe("and that other requests move meanwhile", () => {
    /** Moves the pending file, as a request of its client for a tenant of the other shard does. */
    async function carry(client: string, id: string, from: number, to: number): Promise<void> {
      const [here, there] = [from, to].map((number) => createMovedStore(shardDb(number), number));
      const caller = { client, visibility: "private", tenant: HERE, isPerson: false } as const;
      const place = await here!.leave(id, caller, undefined, to, START_MS);
      await there!.arrive([place!], START_MS);
      await here!.arrived([place!]);
    }

    /**
     * `steps`: what happens at the first look at the bytes, and before and after the first look for the file's place.
     */
    function meanwhile(steps: Partial<Record<"bytes" | "before" | "after", () => Promise<void>>>) {
      const left = new Map<string, () => Promise<void>>();
      const begin = (): void => Object.entries(steps).forEach(([name, todo]) => left.set(name, todo));
      const step = async (name: string): Promise<void> => {
        const todo = left.get(name);
        left.delete(name);
        await todo?.();
      };
      const bucket = bucketWith({
        async head(key: string) {
          await step("bytes");
          return env.MEDIA.head(key);
        },
      });
      const shards = shardsOf(env).map(({ number, db }) => {
        let isLook = false;
        const watched = databaseWith(db, {
          prepare(sql) {
            isLook ||= sql.includes("departed_to");
            return db.prepare(sql);
          },
          async batch(statements) {
            const isWatched = isLook && !left.has("bytes");
            isLook = false;
            if (isWatched) await step("before");
            const results = await db.batch(statements);
            if (isWatched) await step("after");
            return results;
          },
        });
        return { number, db: watched };
      });
      return { app: mediaApp({ bucket, shards: shards as unknown as Shards }), begin };
    }

    const places = async () => [await testPlacement.shardOf(HERE, 0), await testPlacement.shardOf(THERE, 0)] as const;

    it("is committed if it left and came back", async () => {
      const [here, there] = await places();
      const as = principal({ tenant: HERE });
      const carried = (from: number, to: number) => () => carry(as.clientName, file.id, from, to);
      const { app, begin } = meanwhile({
        bytes: carried(here, there),
        before: carried(there, here),
      });
      const file = await uploaded(app, PICTURE, { as: serving(app, as) });
      begin();
      expect((await commitFor(app, file.commitLink, HERE, as)).status).toBe(202);
      expect(await placesOf(file.id)).toEqual([here]);
    });

    it("is not committed in the shard of another tenant", async () => {
      const [here, there] = await places();
      const as = principal({ tenant: HERE });
      const carried = (from: number, to: number) => () => carry(as.clientName, file.id, from, to);
      const { app, begin } = meanwhile({
        bytes: carried(there, here),
        before: carried(here, there),
        after: carried(there, here),
      });
      const file = await uploaded(app, PICTURE, { as: serving(app, as) });
      begin();
      expect((await commitFor(app, file.commitLink, THERE, as)).status).toBe(202);
      expect(await placesOf(file.id)).toEqual([there]);
    });
  });

  // shows: operator/shards/move
  inShards("is 404 and leaves no bytes if it is deleted during its upload, after it was in another shard", () =>
    goesDuringUpload(async (app, as, id) => {
      expect((await app.call(`${collection()}/${id}`, { as, method: "DELETE" })).status).toBe(204);
      await app.settle();
    }),
  );

  inShards("is 404 too if its client is deleted then", () =>
    goesDuringUpload(
      async (_, { clientName }) =>
        void (await everywhere.prepare("DELETE FROM owner WHERE client = ? AND tenant = ''").bind(clientName).run()),
    ),
  );

  async function goesDuringUpload(
    goes: (app: MediaApp, as: ReturnType<typeof principal>, id: string) => Promise<void>,
  ): Promise<void> {
    const app = mediaApp();
    const as = serving(app);
    const created = await app.call(collection(), { as, json: { "Content-Type": "image/png" } });
    const { id, uploadLink, commitLink } = await expectJson(created, 200);
    // It goes there and back.
    expect((await commitFor(app, commitLink, THERE, as)).status).toBe(409);
    const bucket = bucketWith({
      put: (async (key: string, ...args: [ArrayBuffer]) => {
        await env.MEDIA.put(key, ...args);
        racing.clock.nowMs += 1_000;
        // The removal deletes the bytes just before they arrive.
        await env.MEDIA.delete(key);
        await goes(app, as, id);
        return env.MEDIA.put(key, PICTURE);
      }) as unknown as R2Bucket["put"],
    });
    const racing = mediaApp({ bucket });
    const headers = { "content-type": "image/png" };
    expect((await racing.call(uploadLink, { method: "PUT", body: PICTURE, headers })).status).toBe(404);
    expect(await keysOf(id)).toEqual([]);
  }

  // shows: operator/shards/move-comparison
  inShards("keeps its bytes if they are compared and repaired while it is on its way", async () => {
    const app = mediaApp();
    const as = serving(app);
    const file = await uploaded(app, PICTURE, { as });
    const [here, there] = [await testPlacement.shardOf(HERE, 0), await testPlacement.shardOf(THERE, 0)];
    const caller = { client: as.clientName, visibility: "private", tenant: HERE, isPerson: false } as const;
    await createMovedStore(shardDb(here), here).leave(file.id, caller, undefined, there, START_MS);
    expect(await placesOf(file.id)).toEqual([]);
    const by = { actor: "x", requestId: "r", nowMs: Date.now() + DAY_MS };
    const { consistency } = app.media;
    const started = await consistency.start(by);
    const { id } = started.ok ? started.value : { id: "" };
    const finishAs = async (state: string): Promise<void> => {
      while ((await consistency.find(id))?.state !== state) await consistency.step(id, by.nowMs);
    };
    await finishAs("done");
    const keys = (await consistency.findings(id, 0, 1_000, 0)).map(({ key }) => key);
    expect(keys.filter((key) => key.includes(file.id))).toEqual([]);
    await consistency.repair(id, by);
    await finishAs("repaired");
    expect(await keysOf(file.id)).toHaveLength(1);
    expect((await commitFor(app, file.commitLink, THERE, as)).status).toBe(202);
  });

  it.each(["before", "after"] as const)(
    "arrives once, whichever call of a database fails %s it is done: a repeated commit finds it",
    async (when) => {
      const faults = faultAt();
      for (let number = 0; ; number += strideOf(11)) {
        faults.arm(Infinity, when);
        const app = mediaApp({ shards: faults.shards });
        const as = serving(app);
        const file = await uploaded(app, PICTURE, { as, query: "?clip=4x4" });
        faults.arm(number, when);
        const first = await commitFor(app, file.commitLink, THERE, as);
        await app.settle().catch(() => undefined);
        const isOver = faults.seen() <= number;
        faults.arm(Infinity, when);
        expect([number, [202, 503].includes(first.status)]).toEqual([number, true]);
        expect([number, (await commitFor(app, file.commitLink, THERE, as)).status]).toEqual([number, 202]);
        expect([number, await placesOf(file.id)]).toEqual([number, [await testPlacement.shardOf(THERE, 0)]]);
        const shown = await app.call(`${file.path}/variants`, { as: { ...as, tenant: THERE } });
        expect(await expectJson(shown, 200)).toHaveLength(1);
        if (isOver) return;
      }
    },
  );

  inShards(
    "arrives by the sweep if its move broke off, and is deleted with its bytes if nobody commits it",
    async () => {
      const faults = faultAt();
      faults.arm(Infinity, "after");
      const app = mediaApp({ shards: faults.shards });
      const as = serving(app);
      const file = await uploaded(app, PICTURE, { as });
      faults.arm(0, "after");
      expect((await commitFor(app, file.commitLink, THERE, as)).status).toBe(503);
      expect(await placesOf(file.id)).toEqual([]);
      faults.arm(Infinity, "after");
      await app.media.sweep(START_MS + 120_000);
      expect(await placesOf(file.id)).toEqual([await testPlacement.shardOf(THERE, 0)]);
      await finish(app);
      expect([await placesOf(file.id), await keysOf(file.id)]).toEqual([[], []]);
    },
  );

  inShards("arrives by the sweep though many files wait for a shard that is down, and those arrive later", async () => {
    const DOWN = 3;
    const faults = faultAt();
    const refuse = () => Promise.reject(new Error("down"));
    const statement = { bind: () => statement, first: refuse, all: refuse, run: refuse };
    const down = { prepare: () => statement, batch: refuse } as unknown as D1Database;
    faults.arm(Infinity, "after");
    const shards = faults.shards.map((one) => (one.number === DOWN ? { ...one, db: down } : one)) as unknown as Shards;
    const app = mediaApp({ shards });
    const as = serving(app);
    const file = await uploaded(app, PICTURE, { as });
    faults.arm(0, "after");
    expect((await commitFor(app, file.commitLink, THERE, as)).status).toBe(503);
    faults.arm(Infinity, "after");
    const from = shardDb(await testPlacement.shardOf(HERE, 0));
    await from
      .prepare(
        `INSERT INTO moved_file (id, shard, hop, moved_at, row)
         SELECT 'waiting' || value, ?2, 1, 1, row FROM moved_file, json_each(?3) WHERE moved_file.id = ?1`,
      )
      .bind(file.id, DOWN, JSON.stringify([...Array(LIMITS.sweepRows).keys()]))
      .run();
    const waiting = () => from.prepare("SELECT count(*) AS n FROM moved_file WHERE row IS NOT NULL").first("n");
    await expect(app.media.sweep(START_MS + 120_000)).rejects.toThrow("failed");
    expect(await placesOf(file.id)).toEqual([await testPlacement.shardOf(THERE, 0)]);
    expect(await waiting()).toBe(LIMITS.sweepRows);
    await mediaApp().media.sweep(START_MS + 120_000);
    expect(await waiting()).toBe(0);
    await finish(mediaApp());
  });
});
