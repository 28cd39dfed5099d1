import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createDeps } from "../../src/deps.ts";
import { MOVE_LIMITS } from "../../src/shards/moves.ts";
import { isolate } from "../support/isolate.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { makeTenantIn, placeOf } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { shardDb } from "../support/shards.ts";
import { makeMovesDue, move, storePublic } from "./support.ts";

const show = async (tenant: string) =>
  call(`/admin/v1/tenants/${tenant}/move`, { token: await tokenFor(OPERATOR), method: "GET" });
const detailOf = async (answer: Response): Promise<string> => (await expectJson(answer, 409)).details[0].type;
const quotaIn = (shard: number, tenant: string) =>
  shardDb(shard).prepare("SELECT quota_files AS files FROM tenant WHERE id = ?").bind(tenant).first<number>("files");

async function until(tenant: string, state: string): Promise<any> {
  for (let step = 0; step < 50; step++) {
    const now = await expectJson(await show(tenant), 200);
    if (now.state === state) return now;
    await scheduler.wait(20);
  }
  throw new Error(`the move does not become ${state}`);
}

/** A backup job in this state. */
const jobOf = (stateOf: () => string | Promise<string>) =>
  ({
    getByName: () => ({
      read: async () => JSON.stringify({ state: await stateOf() }),
      start: async () => ({ started: false, job: "{}" }),
    }),
  }) as unknown as typeof env.BACKUP_JOB;

async function moveBy(own: ReturnType<typeof isolate>, tenant: string): Promise<Response> {
  const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" };
  return own.fetch(`/admin/v1/tenants/${tenant}/move`, { method: "POST", headers, body: JSON.stringify({ shard: 2 }) });
}

describe("POST /tenants/{id}/move", () => {
  // shows: operator/shards/tenant-move-begin
  it("moves a tenant with its files and its quota, and the cron ends it", async () => {
    const tenant = await makeTenantIn(1);
    const client = await makeClient({ tenant });
    const id = await storePublic(client);
    await put(`tenants/${tenant}`, { organization: `${tenant}-org`, name: "x", quota: { files: 7 } });
    const begun = await expectJson(await move(tenant, { shard: 3 }), 202);
    expect(begun).toMatchObject({ tenant, from: 1, to: 3, doneAt: null });
    expect(await until(tenant, "cleaning")).toMatchObject({ files: 1 });
    expect([await placeOf(tenant), await quotaIn(3, tenant)]).toEqual([3, 7]);
    expect((await call(`/media/v2/content/${id}`)).status).toBe(200);
    await put(`tenants/${tenant}`, { organization: `${tenant}-org`, name: "x", quota: { files: 8 } });
    expect([await quotaIn(3, tenant), await quotaIn(1, tenant)]).toEqual([8, 7]);
    await makeMovesDue();
    await createDeps(env).moves.sweep();
    expect(await expectJson(await show(tenant), 200)).toMatchObject({ state: "done", doneAt: expect.any(Number) });
    expect(await shardDb(1).prepare("SELECT 1 FROM file WHERE id = ?").bind(id).first()).toBeNull();
    const audit = await env.DB.prepare("SELECT action, reason FROM audit_entry WHERE subject = ? AND action = 'move'")
      .bind(`tenants/${tenant}`)
      .all();
    expect(audit.results).toEqual([{ action: "move", reason: "to shard 3" }]);
  });

  it("moves to and from the directory itself", async () => {
    const tenant = await makeTenantIn(0);
    const client = await makeClient({ tenant });
    const ids = [await storePublic(client)];
    for (const to of [2, 0]) {
      await expectJson(await move(tenant, { shard: to }), 202);
      await until(tenant, "cleaning");
      await makeMovesDue();
      await createDeps(env).moves.sweep();
      ids.push(await storePublic(client));
      for (const id of ids) expect((await call(`/media/v2/content/${id}`)).status).toBe(200);
    }
    expect(
      await env.DB.prepare("SELECT organization FROM tenant WHERE id = ?").bind(tenant).first("organization"),
    ).toBe(`${tenant}-org`);
  });

  it("refuses what cannot be, and a repeat is no second move", async () => {
    const tenant = await makeTenantIn(1);
    expect((await move("nosuch", { shard: 1 })).status).toBe(404);
    expect((await show(tenant)).status).toBe(404);
    for (const shard of [4, 256, -1, "1", undefined]) expect((await move(tenant, { shard })).status).toBe(400);
    expect(await detailOf(await move(tenant, { shard: 1 }))).toBe("already_there");
    const token = await tokenFor(OPERATOR);
    await expectJson(await move(tenant, { shard: 2 }), 202);
    await until(tenant, "cleaning");
    await expectJson(await move(tenant, { shard: 2 }), 202);
    expect(await detailOf(await move(tenant, { shard: 3 }))).toBe("move_under_way");
    expect((await call(`/admin/v1/tenants/${tenant}/subscriptions/platform`, { token, method: "DELETE" })).status).toBe(
      204,
    );
    await env.DB.prepare("UPDATE tenant_move SET state = 'copying' WHERE tenant = ?").bind(tenant).run();
    const refused = await call(`/admin/v1/tenants/${tenant}`, { token, method: "DELETE" });
    expect((await expectJson(refused, 409)).message).toContain("move");
    await env.DB.prepare("UPDATE tenant_move SET state = 'cleaning' WHERE tenant = ?").bind(tenant).run();
    await makeMovesDue();
    await createDeps(env).moves.sweep();
    expect(await detailOf(await move(tenant, { shard: 2 }))).toBe("already_there");
  });

  it("excludes a backup, and a backup it", async () => {
    const tenant = await makeTenantIn(1, { subscribed: false });
    let state = "running";
    const own = isolate({ BACKUP_JOB: jobOf(() => state) });
    const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" };
    const ask = (path: string, body: object) =>
      own.fetch(`/admin/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    expect(await detailOf(await ask(`/tenants/${tenant}/move`, { shard: 2 }))).toBe("job_under_way");
    expect((await show(tenant)).status).toBe(404);
    state = "done";
    await expectJson(await ask(`/tenants/${tenant}/move`, { shard: 2 }), 202);
    expect(await detailOf(await ask("/backups", {}))).toBe("tenant_moves");
    // No cron ends the move in maintenance.
    const resting = isolate({ MAINTENANCE: "true", BACKUP_JOB: jobOf(() => state) });
    const refused = await resting.fetch("/admin/v1/backups", { method: "POST", headers, body: "{}" });
    expect((await expectJson(refused, 409)).message).toContain("Moves rest in maintenance");
    expect(MOVE_LIMITS.graceMs).toBeGreaterThan(0);
  });

  it("leaves no audit row of a move that a backup refuses", async () => {
    const tenant = await makeTenantIn(1, { subscribed: false });
    const own = isolate({ BACKUP_JOB: jobOf(() => "running") });
    expect(await detailOf(await moveBy(own, tenant))).toBe("job_under_way");
    const rows = await env.DB.prepare("SELECT count(*) AS n FROM audit_entry WHERE subject = ? AND action = 'move'")
      .bind(`tenants/${tenant}`)
      .first("n");
    expect(rows).toBe(0);
  });

  it("waits for the end of a backup that began first, even if the cron runs it at once", async () => {
    const tenant = await makeTenantIn(1, { subscribed: false });
    let state = "done";
    const job = jobOf(() => state);
    const cron = createDeps({ ...env, BACKUP_JOB: job }).moves;
    const meanwhile = jobOf(async () => {
      if ((await show(tenant)).status === 404) return "done";
      // The backup has begun just before the move. The cron finds the move before the request looks for the backup.
      state = "running";
      await cron.sweep();
      return state;
    });
    await expectJson(await moveBy(isolate({ BACKUP_JOB: meanwhile }), tenant), 202);
    await makeMovesDue();
    await cron.sweep();
    expect(await expectJson(await show(tenant), 200)).toMatchObject({ state: "copying" });
    expect(await placeOf(tenant)).toBe(1);
    state = "done";
    await makeMovesDue();
    await cron.sweep();
    expect(await expectJson(await show(tenant), 200)).toMatchObject({ state: "cleaning" });
    expect(await placeOf(tenant)).toBe(2);
  });
});
