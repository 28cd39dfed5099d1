import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { createDeps } from "../../src/deps.ts";
import { shardBinding, shardsOf } from "../../src/platform/storage/shards.ts";
import { systemClock } from "../../src/platform/runtime/clock.ts";
import { createCopyStore } from "../../src/shards/copy-store.ts";
import { createPlacementStore } from "../../src/shards/placement-store.ts";
import { createShardRoom } from "../../src/shards/service.ts";
import { aroundMethods } from "../support/counting.ts";
import { heardLog } from "../support/runtime/heard-log.ts";
import { isolate } from "../support/isolate.ts";
import { ownIsolate } from "../support/runtime/own-isolate.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { makeTenant, makeTenantIn, placeOf } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { shardDb } from "../support/shards.ts";

const copyOf = (shard: number, tenant: string) =>
  shardDb(shard)
    .prepare("SELECT disabled, quota_files AS files FROM tenant WHERE id = ?")
    .bind(tenant)
    .first<{ disabled: number; files: number | null }>();
const ONE = { shards: [{ number: 0, db: env.DB }], clock: systemClock } as const;
const described = (tenant: string, more: object) => ({ organization: `${tenant}-org`, name: "x", ...more });

async function storeFile(client: Awaited<ReturnType<typeof makeClient>>): Promise<string> {
  const token = await tokenFor(client);
  const body = new TextEncoder().encode("x");
  const path = "/media/v2/public/files";
  const answer = await call(path, { token, method: "POST", body, headers: { "content-type": "text/plain" } });
  return (await expectJson(answer, 202)).id as string;
}

describe("the shard of a new tenant", () => {
  it("is the emptiest, and that of a tenant of the same name before it", async () => {
    const tenants: string[] = [];
    for (let at = 0; at < 8; at++) tenants.push(await makeTenant({ subscribed: false }));
    const places = await Promise.all(tenants.map(placeOf));
    expect([0, 1, 2, 3].map((shard) => places.filter((place) => place === shard).length)).toEqual([2, 2, 2, 2]);
    const [again] = tenants;
    const token = await tokenFor(OPERATOR);
    expect((await call(`/admin/v1/tenants/${again}`, { token, method: "DELETE" })).status).toBe(204);
    await put(`tenants/${again}`, described(again!, {}));
    expect(await placeOf(again!)).toBe(places[0]);
  });

  it("is the first one on a platform of one database, without a row", async () => {
    const room = createShardRoom({ ...ONE, objects: undefined, isolate: ownIsolate, log: heardLog });
    expect(room.placeStatements("any", 0)).toEqual([]);
    expect(await room.placement.shardOf("any", 0)).toBe(0);
  });
});

describe("a change of a tenant", () => {
  // shows: operator/shards/copy
  it("holds in its shard when it is answered: content of a disabled tenant is gone, a quota is full", async () => {
    const tenant = await makeTenantIn(2);
    const client = await makeClient({ tenant });
    const id = await storeFile(client);
    const content = () => call(`/media/v2/content/${id}`);
    expect((await content()).status).toBe(200);
    await put(`tenants/${tenant}`, described(tenant, { disabled: true }));
    expect(await copyOf(2, tenant)).toEqual({ disabled: 1, files: null });
    expect((await call(`/media/v2/public/files/${id}`)).status).toBe(404);
    await put(`tenants/${tenant}`, described(tenant, { disabled: false, quota: { files: 1 } }));
    const json = { "content-type": "application/json" };
    const token = await tokenFor(client);
    const full = await call("/media/v2/files", { token, method: "POST", json: {}, headers: json });
    expect([full.status, await copyOf(2, tenant)]).toEqual([413, { disabled: 0, files: 1 }]);
    expect(await copyOf(0, tenant)).toMatchObject({ files: 1 });
    expect(await copyOf(1, tenant)).toBeNull();
  });

  it("is copied by the cron where its shard did not answer, and the operator hears of it", async () => {
    const tenant = await makeTenantIn(3, { subscribed: false });
    const failing = aroundMethods(shardDb(3), (method, run) =>
      method === "batch" ? Promise.reject(new Error("injected")) : run(),
    );
    const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" };
    const body = JSON.stringify(described(tenant, { quota: { files: 5 } }));
    const own = isolate({ [shardBinding(3)]: failing });
    expect((await own.fetch(`/admin/v1/tenants/${tenant}`, { method: "PUT", headers, body })).status).toBe(503);
    expect(await copyOf(0, tenant)).toMatchObject({ files: 5 });
    expect((await copyOf(3, tenant))?.files ?? null).toBeNull();
    await createDeps(env).shards.copies.sweep();
    expect(await copyOf(3, tenant)).toMatchObject({ files: 5 });
    expect(await createPlacementStore(env.DB).due(10)).toEqual([]);
  });

  it.each(["sweep", "copyAll"] as const)(
    "is copied by %s though another shard is down and has 1,200 due",
    async (how) => {
      const many = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1200)`;
      const tenant = await makeTenantIn(3, { subscribed: false });
      // In the order of their names, the others come first.
      await env.DB.batch([
        env.DB.prepare("UPDATE tenant SET quota_files = 6 WHERE id = ?").bind(tenant),
        env.DB.prepare(`${many} INSERT INTO tenant_shard (tenant, shard) SELECT '0' || i, 1 FROM n`),
      ]);
      let asked = 0;
      const down = aroundMethods(shardDb(1), (method, run) => {
        if (method !== "batch") return run();
        asked += 1;
        return Promise.reject(new Error("injected"));
      });
      const silenced = vi.spyOn(console, "error").mockReturnValue();
      const own = createDeps({ ...env, [shardBinding(1)]: down });
      await expect(own.shards.copies[how](Date.now())).rejects.toThrow("no copies of tenants in 1 shards");
      silenced.mockRestore();
      expect([await copyOf(3, tenant), asked]).toMatchObject([{ files: 6 }, 1]);
      // Once it is up again, its copies are written too.
      for (let run = 0; run < 3; run++) await createDeps(env).shards.copies.sweep();
      const copied = shardDb(1).prepare("SELECT count(*) AS n FROM tenant WHERE id BETWEEN '0' AND '0~'");
      expect([await copied.first("n"), await createPlacementStore(env.DB).due(10)]).toEqual([1_200, []]);
      await env.DB.prepare("DELETE FROM tenant_shard WHERE tenant BETWEEN '0' AND '0~'").run();
      await shardDb(1).prepare("DELETE FROM tenant WHERE id BETWEEN '0' AND '0~'").run();
    },
  );

  it("is copied by the cron, if more are due after a restore than a request may write", async () => {
    const most = 4_000;
    const many = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ${most + 200})`;
    await env.DB.prepare(`${many} INSERT INTO tenant_shard (tenant, shard) SELECT '0' || i, 1 FROM n`).run();
    const { copies } = createDeps(env).shards;
    await copies.copyAll(Date.now());
    expect((await createPlacementStore(env.DB).due(most)).length).toBeGreaterThanOrEqual(200);
    await copies.sweep();
    expect(await createPlacementStore(env.DB).due(10)).toEqual([]);
    await env.DB.prepare("DELETE FROM tenant_shard WHERE tenant BETWEEN '0' AND '0~'").run();
    await shardDb(1).prepare("DELETE FROM tenant WHERE id BETWEEN '0' AND '0~'").run();
  });

  it("is not undone by an older copy that comes late", async () => {
    const tenant = await makeTenantIn(1, { subscribed: false });
    const store = createPlacementStore(env.DB);
    await env.DB.prepare("UPDATE tenant SET quota_files = 7 WHERE id = ?").bind(tenant).run();
    const [old] = await store.dueOf(tenant);
    await put(`tenants/${tenant}`, described(tenant, { quota: { files: 9 } }));
    await createCopyStore(shardsOf(env)[1]!).write([old!]);
    await store.copied([old!]);
    expect(await copyOf(1, tenant)).toMatchObject({ files: 9 });
  });

  it("is copied to all shards again after a restore, whatever they have", async () => {
    const tenant = await makeTenantIn(1, { subscribed: false });
    await put(`tenants/${tenant}`, described(tenant, { quota: { files: 9 } }));
    await shardDb(1).batch([
      shardDb(1).prepare("UPDATE tenant SET quota_files = 1 WHERE id = ?").bind(tenant),
      shardDb(1).prepare("UPDATE tenant_copy SET version = 99 WHERE tenant = ?").bind(tenant),
    ]);
    await createDeps(env).shards.copies.copyAll(Date.now());
    expect(await copyOf(1, tenant)).toMatchObject({ files: 9 });
  });
});

it("tests are of four shards", () => expect(shardsOf(env)).toHaveLength(4));
