import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { createDeps } from "../../src/deps.ts";
import { shardObjectName } from "../../src/platform/storage/shards.ts";
import { MOVE_LIMITS } from "../../src/shards/moves.ts";
import { createRestoreShard } from "../../src/shards/restore.ts";
import { isolate } from "../support/isolate.ts";
import { expectJson } from "../support/platform/call.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { moveToOwnObject } from "../support/platform/own-objects.ts";
import { makeTenant, makeTenantIn } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { shardDb } from "../support/shards.ts";

const SHARD = 3;
const organizations = async () =>
  (await shardDb(SHARD).prepare("SELECT id FROM organization ORDER BY id").all<{ id: string }>()).results.map(
    ({ id }) => id,
  );
const add = (id: string) => shardDb(SHARD).prepare("INSERT INTO organization VALUES (?1, ?1, 0)").bind(id).run();

async function restore(shard: string, bindings: Partial<typeof env>, to: object = { timeMs: 1 }): Promise<any> {
  const authorization = `Bearer ${await tokenFor(OPERATOR)}`;
  const body = JSON.stringify({ to });
  const headers = { authorization, "content-type": "application/json" };
  const answer = await isolate(bindings).fetch(`/admin/v1/shards/${shard}/restore`, { method: "POST", body, headers });
  return expectJson(answer, answer.status);
}

// shows: operator/shards/past
it("a shard that is an object goes back to an earlier time, and its callers go on", async () => {
  await add("before");
  await add("after");
  // The platform's part is played: the next session begins as the tables were before the last row.
  const stub = env.SHARD_DATABASE.getByName(shardObjectName(SHARD)) as unknown as DurableObjectStub;
  await runInDurableObject(stub, (_, { storage }) => {
    storage.getBookmarkForTime = async () => "then";
    storage.onNextSessionRestoreBookmark = async () => {
      storage.sql.exec("DELETE FROM organization WHERE id = 'after'");
      return "now";
    };
  });
  const { shards, moves } = createDeps(env);
  const { exists } = shards.placement;
  const restoreShard = createRestoreShard(env.SHARD_DATABASE, new Map([[SHARD, undefined]]), exists, moves.movedSince);
  expect(await restoreShard(SHARD, { timeMs: 1 }, 1)).toEqual({ kind: "prepared", undo: "now" });
  expect(await organizations()).toEqual(["before"]);
  await add("later");
  expect(await organizations()).toEqual(["before", "later"]);
  expect(await restoreShard(1, { timeMs: 1 }, 1)).toBeUndefined();
});

it("after a restore of the directory, nobody waits for sweeps that it believes to be due", async () => {
  const home = await moveToOwnObject(await makeTenant());
  await env.DB.prepare("UPDATE tenant_object SET due_at = 1 WHERE number = ?").bind(home).run();
  await createDeps(env).shards.copies.copyAll(Date.now());
  const due = env.DB.prepare("SELECT due_at FROM tenant_object WHERE number = ?").bind(home);
  expect(await due.first("due_at")).toBeNull();
  // The copy of the tenant is a change: the sweep after it says when the next one is due.
  const stub = env.SHARD_DATABASE.getByName(shardObjectName(home)) as unknown as DurableObjectStub;
  expect(await runInDurableObject(stub, (_, { storage }) => storage.getAlarm())).not.toBeNull();
});

// shows: operator/shards/past-of-one-tenant
it("a tenant's own object goes back alone, if a tenant has an object of this number", async () => {
  const maintained = { MAINTENANCE: "true" };
  const home = await moveToOwnObject(await makeTenant());
  expect(await restore(String(home + 1), maintained)).toMatchObject({ status: 404 });
  // This is the answer of an object on a machine of one's own.
  const answer = await restore(String(home), maintained, { timeMs: Date.now() });
  expect(answer).toMatchObject({ status: 409, details: [{ type: "no_past" }] });
  expect(answer.message).not.toContain("moved");
  // The operator is told the cause, and not where in the code it was thrown.
  expect(answer.message).toMatch(/point-in-time recovery\.$/);
});

// shows: operator/shards/past-before-move
it("no object goes back alone behind a move of a tenant, also one that has moved again since", async () => {
  const tenant = await makeTenantIn(SHARD);
  const home = await moveToOwnObject(tenant);
  const { moves } = createDeps(env);
  const { begunAt, doneAt } = (await moves.find(tenant))!;
  const known = async (timeMs: number) => {
    const moved = [];
    for (const shard of [SHARD, home, 1]) moved.push((await moves.movedSince(shard, timeMs)) === tenant);
    return moved;
  };
  expect([await known(begunAt - 1), await known(doneAt!)]).toEqual([
    [true, true, false],
    [false, false, false],
  ]);
  const answer = await restore(String(home), { MAINTENANCE: "true" });
  expect(answer).toMatchObject({ status: 409, details: [{ type: "no_past" }] });
  expect(answer.message).toContain(`tenant ${tenant} has moved`);
  const { kind } = await moves.begin(tenant, 1, Date.now() + 1, () => env.DB.prepare("SELECT 1"));
  expect([kind, await known(begunAt - 1)]).toEqual(["begun", [true, true, true]]);
  // The first move began before this time and ended after it.
  expect(await known(begunAt)).toEqual([true, true, true]);
  // The directory goes back first: then these moves have never been.
  await env.DB.prepare("DELETE FROM tenant_move WHERE tenant = ?").bind(tenant).run();
  expect(await known(begunAt - 1)).toEqual([false, false, false]);
});

// shows: operator/shards/past-before-move
it("the bookmark of a restore takes no object back behind a move since", async () => {
  const tenant = await makeTenantIn(SHARD);
  const home = await moveToOwnObject(tenant);
  const { moves } = createDeps(env);
  const undo = "00000085-0000024c";
  const stub = env.SHARD_DATABASE.getByName(shardObjectName(home)) as unknown as DurableObjectStub;
  await runInDurableObject(stub, (_, { storage }) => {
    storage.getBookmarkForTime = async () => "then";
    storage.onNextSessionRestoreBookmark = async () => undo;
  });
  const maintained = { MAINTENANCE: "true" };
  expect(await restore(String(home), maintained, { timeMs: Date.now() })).toMatchObject({ undo });
  // The object began anew, and has no past. But nothing else is in the way of the bookmark.
  const free = await restore(String(home), maintained, { bookmark: undo });
  expect([free.status, free.message.includes("moved")]).toEqual([409, false]);
  await moves.begin(tenant, 1, Date.now() + 1, () => env.DB.prepare("SELECT 1"));
  const behind = await restore(String(home), maintained, { bookmark: undo });
  expect(behind).toMatchObject({ status: 409, details: [{ type: "no_past" }] });
  expect(behind.message).toContain(`tenant ${tenant} has moved`);
  // Nobody knows where a bookmark leads that no restore gave.
  const unknown = await restore(String(home), maintained, { bookmark: `${undo}-ff` });
  expect([unknown.status, unknown.message.includes("moved")]).toEqual([409, false]);
  await env.DB.prepare("DELETE FROM tenant_move WHERE tenant = ?").bind(tenant).run();
});

// shows: operator/shards/past-before-move
it.each([
  ["copying", MOVE_LIMITS.leaseMs],
  ["cleaning", MOVE_LIMITS.graceMs],
])("no object goes back alone behind the last step of a move that is under way: %s", async (state, waitsMs) => {
  const tenant = await makeTenantIn(SHARD);
  const { moves } = createDeps(env);
  const nowMs = Date.now();
  await moves.begin(tenant, 1, nowMs, () => env.DB.prepare("SELECT 1"));
  const known = async (timeMs: number) => (await moves.movedSince(SHARD, timeMs)) === tenant;
  expect([await known(nowMs - 1), await known(nowMs)]).toEqual([true, false]);
  // A directory that went back to the time of a step says the same of it. Then the shards may follow.
  const stepMs = nowMs + 3_600_000;
  await env.DB.prepare("UPDATE tenant_move SET state = ?2, due_at = ?3 WHERE tenant = ?1")
    .bind(tenant, state, stepMs + waitsMs)
    .run();
  expect([await known(nowMs), await known(stepMs - 1), await known(stepMs)]).toEqual([true, true, false]);
  await env.DB.prepare("DELETE FROM tenant_move WHERE tenant = ?").bind(tenant).run();
});

it("only in maintenance, only an object, and a machine of one's own says that it keeps no past", async () => {
  const maintained = { MAINTENANCE: "true" };
  expect(await restore("3", {})).toMatchObject({ status: 409, details: [{ type: "maintenance_off" }] });
  expect(await restore("0", maintained)).toMatchObject({ status: 404 });
  expect(await restore("9", maintained)).toMatchObject({ status: 404 });
  expect(await restore("131071", maintained)).toMatchObject({ status: 404 });
  expect(await restore("3", maintained)).toMatchObject({ status: 409, details: [{ type: "no_past" }] });
  expect(createDeps(env).restore.routes.map(({ operation }) => operation)).toContain("restoreShard");
});
