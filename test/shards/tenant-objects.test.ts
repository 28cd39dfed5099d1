import {
  createExecutionContext,
  createMessageBatch,
  getQueueResult,
  runDurableObjectAlarm,
  runInDurableObject,
} from "cloudflare:test";
import { env, waitUntil } from "cloudflare:workers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createDeps } from "../../src/deps.ts";
import { createLeavingStore } from "../../src/media/moves/leaving-store.ts";
import { isFileId, newErasureId, newFileId, shardOfId } from "../../src/media/model/file.ts";
import { createIsolate } from "../../src/platform/copies/isolate.ts";
import { HOUR_MS, systemClock } from "../../src/platform/runtime/clock.ts";
import { StoreUnavailable } from "../../src/platform/storage/database.ts";
import { systemRandom } from "../../src/platform/runtime/random.ts";
import { shardObjectName } from "../../src/platform/storage/shards.ts";
import { FIRST_TENANT_OBJECT, MOST_NUMBERS, OBJECT_SWEEP } from "../../src/platform/storage/tenant-objects.ts";
import { createPlacement } from "../../src/shards/placement.ts";
import { createPlacementStore } from "../../src/shards/placement-store.ts";
import { WAKE } from "../../src/shards/shard-database.do.ts";
import { isolate, type Isolate } from "../support/isolate.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { ALL_SCOPES, makeClient, type TestClient } from "../support/platform/clients.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { makeTenant, makeTenantIn, placeOf } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { everywhere, shardDb, testObjects } from "../support/shards.ts";
import { makeMovesDue, move, storePrivate, storePublic } from "./support.ts";

const operator = () => tokenFor(OPERATOR);
const objectAt = (shard: number) => env.SHARD_DATABASE.getByName(shardObjectName(shard));
const rowsIn = (shard: number, sql: string) =>
  runInDurableObject(objectAt(shard), (_, { storage }) => storage.sql.exec(sql).toArray());

/** Moves a tenant to an object of its own, and returns the object's number. */
async function moveHome(tenant: string, near?: string): Promise<number> {
  await expectJson(await move(tenant, { shard: "own", ...(near === undefined ? {} : { near }) }), 202);
  return untilMoved(tenant);
}

/** Waits until the tenant works in its new shard, and returns that. */
async function untilMoved(tenant: string): Promise<number> {
  for (let step = 0; step < 50; step++) {
    const { state, to } = await expectJson(
      await call(`/admin/v1/tenants/${tenant}/move`, { token: await operator() }),
      200,
    );
    if (state === "cleaning" || state === "done") return to;
    await scheduler.wait(20);
  }
  throw new Error("the move does not end");
}

/** Makes a tenant with an object of its own. */
async function tenantAtHome(): Promise<{ tenant: string; home: number }> {
  const tenant = await makeTenant();
  return { tenant, home: await moveHome(tenant) };
}

describe("the id of a file", () => {
  it("names a shard of the deployment or a tenant object", () => {
    for (const shard of [0, 1, 17, 239, FIRST_TENANT_OBJECT, 241, 65_535, 65_536, MOST_NUMBERS - 1])
      for (let round = 0; round < 50; round++) {
        const id = newFileId(Date.now(), systemRandom, shard);
        expect(id).toMatch(/^[0-9a-f]{24}$/);
        expect(shardOfId(id)).toBe(shard);
      }
    expect(new Set(Array.from({ length: 1_000 }, () => newFileId(0, systemRandom, 300))).size).toBe(1_000);
  });

  it("of a deletion is in the order of time, to the millisecond", () => {
    const begin = Date.UTC(2026, 0, 1);
    for (const shard of [0, 1, 239, FIRST_TENANT_OBJECT, 65_535, MOST_NUMBERS - 1]) {
      const ids = Array.from({ length: 2_000 }, (_, ms) => newErasureId(begin + ms, systemRandom, shard));
      expect(ids).toEqual(ids.toSorted());
      for (const id of ids) expect([isFileId(id), shardOfId(id)]).toEqual([true, shard]);
      const atOnce = Array.from({ length: 1_000 }, () => newErasureId(begin + 999, systemRandom, shard));
      expect(new Set(atOnce).size).toBe(1_000);
    }
  });

  it("leads nowhere, and creates no object, if no tenant has that object", async () => {
    const { results } = await env.DB.prepare("SELECT max(number) AS last FROM tenant_object").all<{ last: number }>();
    const unused = Math.max(results[0]!.last ?? 0, FIRST_TENANT_OBJECT) + 7;
    const id = newFileId(Date.now(), systemRandom, unused);
    expect((await call(`/media/v2/public/files/${id}`)).status).toBe(404);
    expect((await call(`/media/v2/content/${id}`)).status).toBe(404);
    expect(await rowsIn(unused, "SELECT name FROM sqlite_schema WHERE name = 'file'")).toEqual([]);
  });
});

describe("an object of a tenant's own", () => {
  it("is not taken for a fault of the database, which all tenants ask, if it fails", async () => {
    const own = createIsolate(systemClock, systemRandom, waitUntil);
    const objects = {
      store: { find: async () => undefined },
      place: () => undefined,
      copy: () => Promise.reject(new StoreUnavailable("injected")),
    };
    const places = {
      find: async (tenant: string) =>
        ({ shard: tenant === "other" ? 1 : FIRST_TENANT_OBJECT, near: null, isUncopied: 1 }) as const,
    };
    const placement = createPlacement({ store: places, shards: 2, objects, isolate: own });
    const nowMs = Date.now();
    for (const tenant of ["a", "b", "c", "d"]) await expect(placement.shardOf(tenant, nowMs)).rejects.toThrow();
    expect(own.database.isFailing(nowMs)).toBe(false);
    expect(await placement.shardOf("other", nowMs)).toBe(1);
  });

  // shows: operator/shards/own-object
  it("has the tenant's files, their lists, metadata, links and deletions", async () => {
    const tenant = await makeTenant();
    const home = await moveHome(tenant, "weur");
    expect(home).toBeGreaterThanOrEqual(FIRST_TENANT_OBJECT);
    const client = await makeClient({ tenant });
    const token = await tokenFor(client);
    const [own, shared] = [await storePrivate(client), await storePublic(client, "y")];
    expect([own, shared].map(shardOfId)).toEqual([home, home]);
    expect(await rowsIn(home, "SELECT count(*) AS n FROM file")).toEqual([{ n: 2 }]);
    expect(await env.DB.prepare("SELECT 1 FROM file WHERE id = ?").bind(own).first()).toBeNull();
    expect((await call(`/media/v2/public/files/${shared}`)).status).toBe(302);
    expect(await (await call(`/media/v2/content/${shared}`)).text()).toBe("y");
    const json = { color: "red" };
    expect((await call(`/media/v2/files/${own}/metadata`, { token, method: "PUT", json })).status).toBe(200);
    expect(await expectJson(await call(`/media/v2/files?q=color:red&tenant=${tenant}`, { token }), 200)).toMatchObject([
      { id: own },
    ]);
    const removed = await call(`/media/v2/files/${own}`, { token, method: "DELETE" });
    expect(removed.status).toBe(204);
    expect(shardOfId(removed.headers.get("location")!.split("/").at(-1)!)).toBe(home);
    expect((await call(`/media/v2/files/${own}`, { token })).status).toBe(404);
    expect(await env.DB.prepare("SELECT near FROM tenant_object WHERE number = ?").bind(home).first("near")).toBe(
      "weur",
    );
  });

  it("has the tenant's quota and its state when the change is answered", async () => {
    const { tenant, home } = await tenantAtHome();
    const client = await makeClient({ tenant });
    const id = await storePublic(client);
    const described = { organization: `${tenant}-org`, name: "x", quota: { files: 1 } };
    await put(`tenants/${tenant}`, described);
    expect(await rowsIn(home, "SELECT id, quota_files AS files FROM tenant")).toEqual([{ id: tenant, files: 1 }]);
    const headers = { "content-type": "text/plain" };
    const body = new TextEncoder().encode("y");
    const full = await call("/media/v2/files", { token: await tokenFor(client), method: "POST", body, headers });
    expect(full.status).toBe(413);
    await put(`tenants/${tenant}`, { ...described, disabled: true });
    expect((await call(`/media/v2/content/${id}`)).status).toBe(404);
  });

  // shows: operator/shards/own-object-move
  it("takes a tenant with its files, and gives it back: links work all the time", async () => {
    const tenant = await makeTenantIn(1);
    const client = await makeClient({ tenant });
    const [first, secret] = [await storePublic(client, "first"), await storePrivate(client, "secret")];
    const home = await moveHome(tenant);
    const second = await storePublic(client, "second");
    expect([first, second].map(shardOfId)).toEqual([1, home]);
    const readAll = async () => {
      expect(await (await call(`/media/v2/content/${first}`)).text()).toBe("first");
      expect(await (await call(`/media/v2/content/${second}`)).text()).toBe("second");
      expect((await call(`/media/v2/files/${secret}`, { token: await tokenFor(client) })).status).toBe(200);
    };
    await readAll();
    await makeMovesDue();
    await createDeps(env).moves.sweep();
    await readAll();
    expect(await shardDb(1).prepare("SELECT 1 FROM file WHERE id = ?").bind(first).first()).toBeNull();
    await expectJson(await move(tenant, { shard: 2 }), 202);
    await untilMoved(tenant);
    await readAll();
    await makeMovesDue();
    await createDeps(env).moves.sweep();
    await readAll();
    expect(await placeOf(tenant)).toBe(2);
    expect(await moveHome(tenant)).toBe(home);
    await readAll();
  });

  it("is left by a hundred files with the longest metadata that there may be, also when all of them change", async () => {
    const { tenant, home } = await tenantAtHome();
    const client = await makeClient({ tenant });
    // Each quote is a character of JSON in JSON, twice.
    const quotes = Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`${at}`, '"'.repeat(508)]));
    expect(JSON.stringify(quotes).length).toBeGreaterThan(65_000);
    const body = new FormData();
    body.set("file", new File(["x"], "x.txt", { type: "text/plain" }));
    body.set("metadata", JSON.stringify(quotes));
    const token = await tokenFor(client);
    const id: string = (await expectJson(await call("/media/v2/files", { token, method: "POST", body }), 202)).id;
    // More than a hundred rows as the Worker made this one.
    const copies = [id.slice(0, 21), `${id.slice(0, 21)}~`];
    onTestFinished(
      async () =>
        void (await everywhere
          .prepare("DELETE FROM file WHERE id BETWEEN ? AND ? AND id <> ?")
          .bind(...copies, id)
          .run()),
    );
    const named = await rowsIn(home, "SELECT group_concat(name) AS names FROM pragma_table_info('file') WHERE pk = 0");
    const columns = named[0]!["names"] as string;
    await rowsIn(
      home,
      `WITH RECURSIVE n (at) AS (SELECT 100 UNION ALL SELECT at + 1 FROM n WHERE at < 220)
        INSERT INTO file (id, ${columns}) SELECT substr(id, 1, 21) || at, ${columns} FROM file JOIN n
        WHERE substr(id, 1, 21) || at <> id LIMIT 120`,
    );
    const leaving = createLeavingStore(testObjects.at(home).db, home);
    const run = { tenant, move: "m", turn: 1 };
    await leaving.begin(run);
    await rowsIn(home, "UPDATE file SET metadata = metadata");
    const followed = new Set<string>();
    for (;;) {
      const { changes, files } = await leaving.changes(tenant, { files: 100, rowChars: 2_000_000 });
      if (changes.length === 0) break;
      expect(files.map((file) => file.id)).toEqual(changes.map(({ fileId }) => fileId));
      for (const { fileId } of changes) followed.add(fileId);
      await leaving.followed(run, changes);
    }
    expect(followed.size).toBe(121);
    await rowsIn(home, "DELETE FROM moving_tenant");
    // The move that brought the tenant here ends.
    await makeMovesDue();
    await createDeps(env).moves.sweep();
    await expectJson(await move(tenant, { shard: 1 }), 202);
    expect(await untilMoved(tenant)).toBe(1);
    const moved = shardDb(1).prepare("SELECT count(*) AS n FROM file WHERE id BETWEEN ? AND ?");
    expect(await moved.bind(...copies).first("n")).toBe(121);
  });

  it("is refused beyond 32 tenants with files that left a shard, and for a tenant without files never", async () => {
    const tenant = await makeTenantIn(1);
    const client = await makeClient({ tenant });
    await shardDb(1).prepare("DELETE FROM departed_to").run();
    const many = Array.from({ length: 32 }, (_, at) => 100_000 + at);
    const insert = shardDb(1).prepare("INSERT INTO departed_to (shard) SELECT value FROM json_each(?)");
    await insert.bind(JSON.stringify(many)).run();
    const empty = await makeTenantIn(1);
    await moveHome(empty);
    expect(await shardDb(1).prepare("SELECT count(*) AS n FROM departed_to").first("n")).toBe(32);
    await storePrivate(client);
    const expectCrowded = async () =>
      expect((await expectJson(await move(tenant, { shard: "own" }), 409)).details[0].type).toBe("crowded");
    await expectCrowded();
    // A move that has not ended counts as one that has, however many others are under way.
    await shardDb(1).prepare("DELETE FROM departed_to WHERE shard = 100000").run();
    const begun = env.DB.prepare(
      `INSERT INTO tenant_move (tenant, move, from_shard, to_shard, state, begun_at, due_at)
        SELECT '~' || value, 'm', iif(value < 150, 3, 1), iif(value < 150, 2, 100000), 'copying', 1, 9000000000000000 + value
        FROM json_each(?)`,
    );
    await begun.bind(JSON.stringify(Array.from({ length: 151 }, (_, at) => at))).run();
    await expectCrowded();
    await env.DB.prepare("DELETE FROM tenant_move WHERE tenant LIKE '~%'").run();
    // The tenant without files has left, although its move has not ended.
    const next = await makeTenantIn(1);
    await storePrivate(await makeClient({ tenant: next }));
    const other = await moveHome(next);
    // Files of shard 2 are looked for in shard 1 too, and in the objects of both.
    await shardDb(1).prepare("DELETE FROM departed_to WHERE shard > 100000").run();
    const more = shardDb(2).prepare("INSERT INTO departed_to (shard) SELECT value FROM json_each(?)");
    await more.bind(JSON.stringify([1, ...many])).run();
    await expectCrowded();
    await everywhere.prepare("DELETE FROM departed_to WHERE shard >= 100000 OR shard = 1").run();
    const home = await moveHome(tenant);
    // A tenant that came back may return to its object, where files are looked for anyway.
    const end = async () => {
      await makeMovesDue();
      await createDeps(env).moves.sweep();
    };
    await end();
    await expectJson(await move(tenant, { shard: 1 }), 202);
    await untilMoved(tenant);
    await end();
    await shardDb(1).prepare("DELETE FROM departed_to WHERE shard NOT IN (?, ?)").bind(home, other).run();
    await insert.bind(JSON.stringify(many.slice(2))).run();
    expect(await moveHome(tenant)).toBe(home);
    await everywhere.prepare("DELETE FROM departed_to WHERE shard >= 100000").run();
  });

  it("is refused where the deployment has none, and a place without it", async () => {
    const tenant = await makeTenant();
    const asked = async (own: Isolate, json: object) => {
      const headers = { authorization: `Bearer ${await operator()}`, "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(json) };
      return own.fetch(`/admin/v1/tenants/${tenant}/move`, init);
    };
    expect((await asked(isolate({ TENANT_OBJECTS: "" }), { shard: "own" })).status).toBe(400);
    for (const wrong of [
      { shard: 2, near: "weur" },
      { shard: "own", near: "mars" },
      { shard: "other" },
      { shard: 240 },
    ])
      expect((await asked(isolate(), wrong)).status).toBe(400);
  });

  it("is that of each new tenant, if the setting says so; a tenant of the same name gets it again", async () => {
    const own = isolate({ TENANT_OBJECTS: "new:apac" });
    const [tenant, organization] = [unique("t"), unique("o")];
    const send = async (path: string, method: string, json?: object) => {
      const headers = { authorization: `Bearer ${await operator()}`, "content-type": "application/json" };
      const body = json === undefined ? {} : { body: JSON.stringify(json) };
      return (await own.fetch(`/admin/v1/${path}`, { method, headers, ...body })).status;
    };
    await put(`organizations/${organization}`, { name: "x" });
    expect(await send(`tenants/${tenant}`, "PUT", { organization, name: "x" })).toBe(201);
    const place = await placeOf(tenant);
    expect(place).toBeGreaterThanOrEqual(FIRST_TENANT_OBJECT);
    const near = env.DB.prepare("SELECT near FROM tenant_object WHERE tenant = ?").bind(tenant);
    expect(await near.first("near")).toBe("apac");
    expect(await rowsIn(place!, "SELECT id FROM tenant")).toEqual([{ id: tenant }]);
    expect(await send(`tenants/${tenant}`, "DELETE")).toBe(204);
    expect(await send(`tenants/${tenant}`, "PUT", { organization, name: "y" })).toBe(201);
    expect(await placeOf(tenant)).toBe(place);
    expect(await send(`tenants/${await makeTenantIn(2)}`, "PUT", { organization, name: "z" })).toBe(200);
  });
});

describe("a number that a restored directory gives out again", () => {
  /** Makes tenants with objects that the directory forgets, as a restore to a time before them does. */
  async function lose(count: number): Promise<readonly { tenant: string; home: number }[]> {
    const lost: { tenant: string; home: number }[] = [];
    for (let n = 0; n < count; n++) lost.push(await tenantAtHome());
    for (const { tenant } of lost)
      for (const table of ["tenant_object", "tenant_move", "tenant_shard"])
        await env.DB.prepare(`DELETE FROM ${table} WHERE tenant = ?`).bind(tenant).run();
    return lost;
  }
  const untouched = async (lost: Awaited<ReturnType<typeof lose>>) => {
    for (const { tenant, home } of lost) expect(await rowsIn(home, "SELECT id FROM tenant")).toEqual([{ id: tenant }]);
  };

  // shows: operator/shards/own-object-claim
  it("is not given to a tenant that moves elsewhere meanwhile, nor at another place than the move's", async () => {
    const tenant = await makeTenant();
    const from = await placeOf(tenant);
    await expectJson(await move(tenant, { shard: from === 2 ? 3 : 2 }), 202);
    const refused = await expectJson(await move(tenant, { shard: "own" }), 409);
    expect(refused.message).toMatch(/moves to shard [23] \(\w+\)\. Wait until its state is done/);
    const listed = () => env.DB.prepare("SELECT near FROM tenant_object WHERE tenant = ?").bind(tenant).all();
    expect((await listed()).results).toEqual([]);
    const backup = await call("/admin/v1/backups", { token: await operator(), method: "POST" });
    expect((await expectJson(backup, 409)).message).toMatch(/^Tenant \S+ moves to another shard \(\w+\)/);
    await untilMoved(tenant);
    await env.DB.prepare("UPDATE tenant_move SET state = 'done', due_at = NULL WHERE tenant = ?").bind(tenant).run();

    await expectJson(await move(tenant, { shard: "own", near: "apac" }), 202);
    expect((await listed()).results).toEqual([{ near: "apac" }]);
    for (const same of [{}, { near: "apac" }]) await expectJson(await move(tenant, { shard: "own", ...same }), 202);
    await expectJson(await move(tenant, { shard: "own", near: "weur" }), 409);
    await untilMoved(tenant);
  });

  it("is passed over by a move if its object is another tenant's", async () => {
    const lost = await lose(4);
    const { tenant, home } = await tenantAtHome();
    expect(home).toBeGreaterThan(lost.at(-1)!.home);
    expect(await rowsIn(home, "SELECT id FROM tenant")).toEqual([{ id: tenant }]);
    await storePrivate(await makeClient({ tenant }));
    await untouched(lost);
  });

  it("is passed over by a move of the same tenant: its old object has files of a time that was undone", async () => {
    const [lost] = await lose(1);
    const { tenant, home } = lost!;
    await rowsIn(home, "INSERT INTO owner (client, tenant, visibility) VALUES ('undone', '" + tenant + "', 'private')");
    const next = await moveHome(tenant);
    expect(next).not.toBe(home);
    expect(await rowsIn(next, "SELECT id FROM tenant")).toEqual([{ id: tenant }]);
    expect(await rowsIn(next, "SELECT client FROM owner")).toEqual([]);
    // With its number known, the tenant comes back to its object as before.
    expect(await moveHome(tenant)).toBe(next);
  });

  it("is passed over by a new tenant: before the answer, by the cron, or by its first file", async () => {
    const lost = await lose(2);
    const own = isolate({ TENANT_OBJECTS: "new:auto" });
    const [tenant, organization] = [unique("t"), unique("o")];
    await put(`organizations/${organization}`, { name: "x" });
    const headers = { authorization: `Bearer ${await operator()}`, "content-type": "application/json" };
    const body = JSON.stringify({ organization, name: "x" });
    expect((await own.fetch(`/admin/v1/tenants/${tenant}`, { method: "PUT", headers, body })).status).toBe(201);
    const place = (await placeOf(tenant))!;
    expect(place).toBeGreaterThan(lost.at(-1)!.home);
    expect(await rowsIn(place, "SELECT id FROM tenant")).toEqual([{ id: tenant }]);

    // The object did not answer before the answer to the operator.
    await put(`tenants/${tenant}/subscriptions/platform`, {});
    const client = await makeClient({ tenant });
    for (const by of [async () => createDeps(env).shards.copies.sweep(), async () => storePrivate(client)]) {
      const { home: taken } = lost[0]!;
      await env.DB.batch([
        env.DB.prepare("DELETE FROM tenant_object WHERE tenant = ?").bind(tenant),
        env.DB.prepare("INSERT INTO tenant_object (number, tenant) VALUES (?, ?)").bind(taken, tenant),
        env.DB.prepare("UPDATE tenant_shard SET shard = ?, copied = 0 WHERE tenant = ?").bind(taken, tenant),
      ]);
      await by();
      const next = (await placeOf(tenant))!;
      expect(next).not.toBe(taken);
      expect(await rowsIn(next, "SELECT id FROM tenant")).toEqual([{ id: tenant }]);
      expect(await createPlacementStore(env.DB).dueOf(tenant)).toEqual([]);
      expect(await rowsIn(taken, "SELECT id FROM file")).toEqual([]);
      await untouched(lost);
    }
  });
});

describe("the sweep of a tenant object", () => {
  const attempt = async (shard: number): Promise<readonly string[]> => {
    const body = { ...OBJECT_SWEEP, shard };
    const batch = createMessageBatch("plinth-media-jobs", [{ id: "1", timestamp: new Date(), attempts: 1, body }]);
    await createDeps(env).media.consume(batch, () => {});
    return (await getQueueResult(batch, createExecutionContext())).explicitAcks;
  };
  const sweep = async (shard: number): Promise<void> => expect(await attempt(shard)).toEqual(["1"]);
  const alarmOf = (shard: number) => runInDurableObject(objectAt(shard), (_, { storage }) => storage.getAlarm());

  // shows: operator/shards/own-object-sweep
  it("comes after a change, expires what is due, reports to the directory, and sleeps until something is due", async () => {
    const { tenant, home } = await tenantAtHome();
    const client = await makeClient({ tenant });
    await sweep(home);
    expect(await alarmOf(home)).toBeNull();
    const id = await storePrivate(client, "four");
    const soon = await alarmOf(home);
    expect(soon! - Date.now()).toBeGreaterThan(200_000);
    expect(soon! - Date.now()).toBeLessThanOrEqual(WAKE.afterMs);
    const { media } = createDeps(env);
    expect((await media.storedByTenant(tenant, `${tenant}~`)).filter((one) => one.tenant === tenant)).toEqual([]);
    await sweep(home);
    expect(await media.storedByTenant(tenant, `${tenant}~`)).toEqual([{ tenant, files: 1, bytes: 4 }]);
    expect(await alarmOf(home)).toBeNull();
    const before = await media.stored();

    const token = await tokenFor(client);
    const pending = await expectJson(
      await call("/media/v2/files", { token, json: { "Content-Type": "text/plain" } }),
      200,
    );
    await sweep(home);
    const day = 24 * 3_600_000;
    expect((await alarmOf(home))! - Date.now()).toBeGreaterThan(day - 60_000);
    await runInDurableObject(objectAt(home), (_, { storage }) => {
      storage.sql.exec(
        "UPDATE file SET created_at = created_at - ?, id = '00' || substr(id, 3) WHERE id = ?",
        2 * day,
        pending.id,
      );
    });
    await sweep(home);
    expect(await rowsIn(home, "SELECT state FROM file ORDER BY state")).toEqual([
      { state: "committed" },
      { state: "removed" },
    ]);
    expect((await call(`/media/v2/files/${id}`, { token, method: "DELETE" })).status).toBe(204);
    await sweep(home);
    const after = await media.stored();
    expect([before.files - after.files, before.bytes - after.bytes]).toEqual([1, 4]);
  });

  it("comes five minutes after a change, although the next thing is due much later", async () => {
    const { tenant, home } = await tenantAtHome();
    const client = await makeClient({ tenant });
    await rowsIn(
      home,
      "INSERT INTO erasure (id, tenant, visibility, kind, requested_at, files, bytes) " +
        `VALUES ('e', '${tenant}', 'private', 'all', ${Date.now()}, 0, 0)`,
    );
    await sweep(home);
    expect((await alarmOf(home))! - Date.now()).toBeGreaterThan(300 * 24 * 3_600_000);
    await storePrivate(client);
    const soon = await alarmOf(home);
    expect(soon! - Date.now()).toBeLessThanOrEqual(WAKE.afterMs);
    await storePrivate(client);
    expect(await alarmOf(home)).toBe(soon);
  });

  it("comes after a change although an earlier alarm was due long ago and never came", async () => {
    const { tenant, home } = await tenantAtHome();
    const client = await makeClient({ tenant });
    await storePrivate(client);
    onTestFinished(() => void vi.useRealTimers());
    const now = Date.now() + 10 * HOUR_MS;
    vi.useFakeTimers({ toFake: ["Date"], now });
    await storePrivate(client);
    expect((await alarmOf(home))! - now).toBeGreaterThan(200_000);
  });

  it("rests before it reports, so that a change after the report has an alarm", async () => {
    const { tenant, home } = await tenantAtHome();
    await storePrivate(await makeClient({ tenant }));
    await env.DB.exec("ALTER TABLE tenant_object RENAME COLUMN reported_at TO gone");
    const acks = await attempt(home);
    await env.DB.exec("ALTER TABLE tenant_object RENAME COLUMN gone TO reported_at");
    expect(acks).toEqual([]);
    expect(await rowsIn(home, "SELECT state FROM file")).toEqual([{ state: "committed" }]);
    expect(await alarmOf(home)).toBeNull();
  });

  it("is asked for by the alarm, again and again until a sweep ends", async () => {
    const { tenant, home } = await tenantAtHome();
    await storePrivate(await makeClient({ tenant }));
    await runDurableObjectAlarm(objectAt(home));
    const again = await alarmOf(home);
    expect(again! - Date.now()).toBeGreaterThan(WAKE.againMs - 60_000);
    await expect
      .poll(async () => env.DB.prepare("SELECT files FROM tenant_object WHERE number = ?").bind(home).first("files"))
      .toBe(1);
  });

  // shows: operator/shards/own-object-overdue
  it("is due in the directory from the alarm on, so that a lost job and a killed sweep are seen", async () => {
    const { tenant, home } = await tenantAtHome();
    await storePrivate(await makeClient({ tenant }));
    await sweep(home);
    const alarm = (bindings: object) =>
      runInDurableObject(objectAt(home), async (object) => {
        const bound = Reflect.get(object, "env") as object;
        Reflect.set(object, "env", { ...bound, ...bindings });
        await object.alarm();
        Reflect.set(object, "env", bound);
      });
    const dueAt = () =>
      env.DB.prepare("SELECT due_at FROM tenant_object WHERE number = ?").bind(home).first<number>("due_at");
    const now = Date.now();
    await alarm({ MEDIA_JOBS: { send: async () => undefined } });
    const first = (await dueAt())!;
    expect(first).toBeGreaterThanOrEqual(now);
    expect((await alarmOf(home))! - now).toBeGreaterThan(WAKE.afterMs + 60_000);

    await vi.waitUntil(() => Date.now() > first);
    const refused = vi.fn<() => Promise<void>>(async () => Promise.reject(new Error("the queue is full")));
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
    await alarm({ MEDIA_JOBS: { send: refused } });
    expect(await dueAt()).toBe(first);
    expect((await alarmOf(home))! - Date.now()).toBeLessThanOrEqual(WAKE.afterMs);
    expect(JSON.parse(String(logged.mock.lastCall))).toMatchObject({
      event: "sweep of an object not sent",
      shard: home,
    });

    // The job is sent although the directory does not answer.
    const sent = vi.fn<() => Promise<void>>(async () => undefined);
    await alarm({ MEDIA_JOBS: { send: sent }, DB: { prepare: () => ({ bind: () => ({ run: refused }) }) } });
    expect(sent).toHaveBeenCalledOnce();
    expect((await alarmOf(home))! - Date.now()).toBeLessThanOrEqual(WAKE.afterMs);
    logged.mockRestore();
    await sweep(home);
    expect(await dueAt()).toBeNull();
  });

  // shows: operator/shards/own-object-overdue
  it("tells the directory when the next one is due, and a failing one that it is", async () => {
    const { tenant, home } = await tenantAtHome();
    const client = await makeClient({ tenant });
    const dueAt = () =>
      env.DB.prepare("SELECT due_at FROM tenant_object WHERE number = ?").bind(home).first<number>("due_at");
    await storePrivate(client);
    await sweep(home);
    expect(await dueAt()).toBeNull();

    const now = Date.now();
    await rowsIn(home, "ALTER TABLE dead_work RENAME TO gone");
    expect(await attempt(home)).toEqual([]);
    const failedAt = await dueAt();
    expect(failedAt).toBeGreaterThanOrEqual(now);
    const reported = env.DB.prepare("SELECT reported_at FROM tenant_object WHERE number = ?").bind(home);
    expect(await reported.first("reported_at")).toBe(failedAt);
    expect(await attempt(home)).toEqual([]);
    expect(await dueAt()).toBe(failedAt);
    await rowsIn(home, "ALTER TABLE gone RENAME TO dead_work");

    await expectJson(
      await call("/media/v2/files", { token: await tokenFor(client), json: { "Content-Type": "text/plain" } }),
      200,
    );
    await sweep(home);
    const day = 24 * HOUR_MS;
    expect((await dueAt())! - now).toBeGreaterThan(day - 60_000);
    // Its message is sent again and again, and yet nothing proves it.
    await rowsIn(
      home,
      `INSERT INTO erasure (id, tenant, visibility, kind, requested_at, due_at, files, bytes)
       VALUES ('stuck', '${tenant}', 'private', 'all', ${now - 3 * day}, ${now + 0.2 * day}, 1, 1)`,
    );
    await sweep(home);
    expect(await dueAt()).toBe(now - day);
    await rowsIn(home, "DELETE FROM erasure");

    // A restore holds what expires, for as long as the operator wants.
    await rowsIn(home, "UPDATE file SET created_at = 1, id = '00' || substr(id, 3) WHERE state = 'pending'");
    for (const due of ["NULL", "1"]) {
      await rowsIn(home, `UPDATE file SET due_at = ${due} WHERE state = 'pending'`);
      await env.DB.exec(`UPDATE restore_point SET restored_to = ${now}, held = 1`);
      await sweep(home);
      await env.DB.exec("UPDATE restore_point SET held = 0");
      expect(await rowsIn(home, "SELECT count(*) AS n FROM file WHERE state = 'pending'")).toEqual([{ n: 1 }]);
      expect(await dueAt()).toBeGreaterThanOrEqual(now);
    }
  });

  it("reports each time, so that an operator knows which objects have changed since", async () => {
    const { tenant, home } = await tenantAtHome();
    const client = await makeClient({ tenant });
    const id = await storePrivate(client);
    await sweep(home);
    const reportedAt = async () =>
      env.DB.prepare("SELECT reported_at FROM tenant_object WHERE number = ?").bind(home).first<number>("reported_at");
    const before = (await reportedAt())!;
    await vi.waitUntil(() => Date.now() > before);
    const json = { name: "other" };
    const token = await tokenFor(client);
    expect((await call(`/media/v2/files/${id}/metadata`, { token, method: "PUT", json })).status).toBe(200);
    await sweep(home);
    expect(await reportedAt()).toBeGreaterThan(before);
  });

  it("is not needed to read: an object that is only read has no alarm", async () => {
    const { tenant, home } = await tenantAtHome();
    const client = await makeClient({ tenant });
    await sweep(home);
    await expectJson(await call(`/media/v2/files?tenant=${tenant}`, { token: await tokenFor(client) }), 200);
    expect(await alarmOf(home)).toBeNull();
  });
});

describe("a client with files in tenant objects", () => {
  const described = (tenant: string, name: string) => ({
    tenant,
    confidential: true,
    grantTypes: ["client_credentials"],
    scopes: ALL_SCOPES,
    name,
  });
  const pendingOf = async (client: TestClient) =>
    expectJson(
      await call("/media/v2/files", { token: await tokenFor(client), json: { "Content-Type": "text/plain" } }),
      200,
    );

  // shows: operator/shards/own-object-clients
  it("takes its pending files along when it is renamed; the next one of the name finds nothing", async () => {
    const { tenant, home } = await tenantAtHome();
    const client = await makeClient({ tenant });
    const file = await pendingOf(client);
    const name = `${unique("n")}.renamed`;
    await put(`clients/${client.clientId}`, described(tenant, name));
    expect(await rowsIn(home, "SELECT client FROM owner")).toEqual([{ client: name }]);
    expect(await rowsIn(home, "SELECT * FROM closing")).toEqual([]);
    const next = await makeClient({ tenant, name: client.clientId });
    const commit = async (as: TestClient) => call(file.commitLink, { token: await tokenFor(as), method: "POST" });
    expect(
      (await call(file.uploadLink, { method: "PUT", body: "x", headers: { "content-type": "text/plain" } })).status,
    ).toBe(200);
    expect((await commit(next)).status).toBe(404);
    expect((await commit(client)).status).toBe(202);
    const noted = env.DB.prepare("SELECT count(*) AS n FROM client_object WHERE client = ? AND number = ?");
    expect(await noted.bind(name, home).first("n")).toBe(1);
  });

  it("cannot be renamed or removed while a file is committed there, and is gone there after its removal", async () => {
    const { tenant, home } = await tenantAtHome();
    const client = await makeClient({ tenant });
    const id = await storePrivate(client);
    const token = await operator();
    const path = `clients/${client.clientId}`;
    const remove = () => call(`/admin/v1/${path}`, { token, method: "DELETE" });
    const renamed = await call(`/admin/v1/${path}`, {
      token,
      method: "PUT",
      json: described(tenant, `${tenant}.${unique("n")}`),
    });
    expect([renamed.status, (await remove()).status]).toEqual([409, 409]);
    expect((await call(`/admin/v1/tenants/${tenant}`, { token, method: "DELETE" })).status).toBe(409);
    expect((await call(`/media/v2/files/${id}`, { token: await tokenFor(client), method: "DELETE" })).status).toBe(204);
    await pendingOf(client);
    expect((await remove()).status).toBe(204);
    expect(await rowsIn(home, "SELECT client FROM owner WHERE erasure_id IS NULL AND tenant = ''")).toEqual([]);
    expect(await rowsIn(home, "SELECT client FROM requester")).toEqual([]);
  });

  it("is noted again by the sweep of the object, after a restore of the directory to an earlier time", async () => {
    const { tenant, home } = await tenantAtHome();
    const client = await makeClient({ tenant });
    await pendingOf(client);
    const noted = env.DB.prepare("SELECT count(*) AS n FROM client_object WHERE number = ?").bind(home);
    expect(await noted.first("n")).toBe(1);
    await env.DB.prepare("DELETE FROM client_object WHERE number = ?").bind(home).run();
    const body = { ...OBJECT_SWEEP, shard: home };
    const batch = createMessageBatch("plinth-media-jobs", [{ id: "1", timestamp: new Date(), attempts: 1, body }]);
    await createDeps(env).media.consume(batch, () => {});
    expect(await noted.first("n")).toBe(1);
  });

  it("writes nothing in a new object while it is being changed: 503", async () => {
    const { tenant, home } = await tenantAtHome();
    const client = await makeClient({ tenant });
    const closing =
      "INSERT INTO closing (kind, name, client, tenant, change, begun_at) VALUES ('client', ?1, ?1, ?2, 'c', 0)";
    await env.DB.prepare(closing).bind(client.clientId, tenant).run();
    const token = await tokenFor(client);
    const create = () => call("/media/v2/files", { token, json: { "Content-Type": "text/plain" } });
    expect((await create()).status).toBe(503);
    expect(await rowsIn(home, "SELECT client FROM owner")).toEqual([]);
    await env.DB.prepare("DELETE FROM closing").run();
    expect((await create()).status).toBe(200);
  });

  it("changes everywhere although the change breaks off before an object: its sweep ends it", async () => {
    const { tenant, home } = await tenantAtHome();
    const client = await makeClient({ tenant });
    await pendingOf(client);
    const name = `${unique("n")}.renamed`;
    const insert =
      "INSERT INTO closing (kind, name, client, tenant, change, begun_at) VALUES ('client', ?, ?, ?, 'c', 1)";
    await runInDurableObject(objectAt(home), (_, { storage }) => {
      storage.sql.exec(insert, client.clientId, client.clientId, tenant);
    });
    await env.DB.prepare("UPDATE client SET name = ? WHERE id = ?").bind(name, client.clientId).run();
    const body = { ...OBJECT_SWEEP, shard: home };
    const batch = createMessageBatch("plinth-media-jobs", [{ id: "1", timestamp: new Date(), attempts: 1, body }]);
    await createDeps(env).media.consume(batch, () => {});
    expect(await rowsIn(home, "SELECT client FROM owner")).toEqual([{ client: name }]);
    expect(await rowsIn(home, "SELECT * FROM closing")).toEqual([]);
  });
});

describe("the operator", () => {
  it("lists tenant objects, a page at a time, or that of one tenant; nobody else does", async () => {
    const [one, other] = [await tenantAtHome(), await tenantAtHome()];
    const token = await operator();
    const list = async (query: string) => call(`/admin/v1/tenant-objects${query}`, { token });
    const { databaseBytes, ...shown } = (await expectJson(await list(`?tenant=${one.tenant}`), 200))[0];
    expect(shown).toEqual({ number: one.home, tenant: one.tenant, near: null, files: 0, bytes: 0, reportedAt: null });
    expect(databaseBytes).toBe(0);
    expect(await expectJson(await list("?tenant=nosuch"), 200)).toEqual([]);
    const numbers: number[] = [];
    for (let path: string | undefined = "/admin/v1/tenant-objects?pageSize=2"; path !== undefined;) {
      const page = await call(path, { token });
      numbers.push(...(await expectJson<{ number: number }[]>(page, 200)).map(({ number }) => number));
      path = /<([^>]*)>; rel="next"/.exec(page.headers.get("link") ?? "")?.[1];
    }
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(numbers).toEqual(expect.arrayContaining([one.home, other.home]));
    expect((await list("?cursor=WyJ4Il0")).status).toBe(400);
    const stranger = await makeClient();
    expect((await call("/admin/v1/tenant-objects", { token: await tokenFor(stranger) })).status).toBe(403);
  });

  it("sums what the last sweeps of all tenant objects found; nobody else does", async () => {
    const { home } = await tenantAtHome();
    const sums = async () =>
      expectJson<Record<string, number>>(await call("/admin/v1/tenant-objects/sum", { token: await operator() }), 200);
    const before = await sums();
    const report = "UPDATE tenant_object SET files = 2, bytes = 7, database_bytes = 4096 WHERE number = ?";
    await env.DB.prepare(report).bind(home).run();
    const { objects: count, files, bytes, databaseBytes } = await sums();
    const added = { files: files! - before["files"]!, bytes: bytes! - before["bytes"]! };
    expect(added).toEqual({ files: 2, bytes: 7 });
    expect([count, databaseBytes! - before["databaseBytes"]!]).toEqual([before["objects"], 4096]);
    const token = await tokenFor(await makeClient());
    expect((await call("/admin/v1/tenant-objects/sum", { token })).status).toBe(403);
  });

  it("finds files of tenant objects by name, with or without the tenant", async () => {
    const { tenant } = await tenantAtHome();
    const client = await makeClient({ tenant });
    const id = await storePrivate(client);
    const token = await tokenFor(client);
    const name = unique("Plan");
    const json = { name };
    expect((await call(`/media/v2/files/${id}/metadata`, { token, method: "PUT", json })).status).toBe(200);
    for (const query of [`q=${name}`, `q=${name}&tenant=${tenant}`])
      expect(await expectJson(await call(`/admin/v1/files?${query}`, { token: await operator() }), 200)).toMatchObject({
        files: [{ id, tenant, name }],
        more: false,
      });
  });

  // shows: operator/shards/own-object-comparison
  it("compares R2 with tenant objects: orphans, missing bytes and variants, and repairs them", async () => {
    const { tenant, home } = await tenantAtHome();
    const { tenant: other, home: otherHome } = await tenantAtHome();
    const client = await makeClient({ tenant });
    const good = await storePrivate(client, "good");
    const came = await storePrivate(await makeClient({ tenant: other }), "came");
    const moved = await makeTenantIn(2);
    const left = await storePrivate(await makeClient({ tenant: moved }), "left");
    await moveHome(moved);
    await makeMovesDue();
    await createDeps(env).moves.sweep();
    const lost = await storePrivate(client, "lost");
    await env.MEDIA.delete(`blob/${lost}`);
    const orphans = [newFileId(0, systemRandom, home), newFileId(0, systemRandom, otherHome)].map((id) => `blob/${id}`);
    for (const key of orphans) await env.MEDIA.put(key, "whose?");
    const found = async () => {
      const { media } = createDeps(env);
      const atMs = Date.now() + 3_600_000;
      const run = await media.consistency.start({ actor: "x", requestId: "r", nowMs: atMs });
      if (!run.ok) throw new Error("a repair runs");
      const { id } = run.value;
      for (let step = 0; step < 200; step++) {
        if ((await media.consistency.find(id))!.state !== "running") break;
        await media.consistency.step(id, atMs);
      }
      const findings = await media.consistency.findings(id, 0, 100, 0);
      return { id, media, atMs, kinds: findings.map(({ kind, key }) => `${kind} ${key}`).toSorted() };
    };
    const first = await found();
    expect(first.kinds).toEqual(
      [`missing_bytes blob/${lost}`, ...orphans.map((key) => `orphan_object ${key}`)].toSorted(),
    );
    await first.media.consistency.repair(first.id, { actor: "x", requestId: "r", nowMs: first.atMs });
    for (let step = 0; step < 50; step++) await first.media.consistency.step(first.id, first.atMs);
    expect((await found()).kinds).toEqual([]);
    expect(await rowsIn(home, `SELECT state FROM file WHERE id = '${lost}'`)).toEqual([{ state: "removed" }]);
    for (const id of [good, came, left]) expect(await env.MEDIA.head(`blob/${id}`)).not.toBeNull();
    for (const key of orphans) expect(await env.MEDIA.head(key)).toBeNull();
  });
});
