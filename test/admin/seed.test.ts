import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { shardsOf } from "../../src/platform/storage/shards.ts";
import { ALL_SCOPES, makeClient } from "../support/platform/clients.ts";
import { put } from "../support/platform/operator.ts";
import { makeTenant, makeTenantIn } from "../support/platform/tenants.ts";
import { unique } from "../support/platform/unique.ts";
import { APP_URI, makeApp } from "../support/sign-in.ts";
import { makeUser } from "../support/users.ts";

const TABLES = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB '_cf_*' AND name NOT GLOB 'sqlite_*'`;
const OF_REQUESTS = /^(audit|outbox)/;

/**
 * Returns the rows about a name in all databases. It replaces values that differ by name, and leaves out tables about
 * requests.
 */
async function rowsOf(name: string): Promise<string[]> {
  const rows: string[] = [];
  for (const { number, db } of shardsOf(env)) {
    const tables = (await db.prepare(TABLES).all<{ name: string }>()).results.filter(
      (one) => !OF_REQUESTS.test(one.name),
    );
    const answers = await db.batch<Record<string, unknown>>(
      tables.map((table) => db.prepare(`SELECT * FROM "${table.name}"`)),
    );
    answers.forEach(({ results }, at) => {
      for (const row of results.filter((one) => JSON.stringify(one).includes(name)))
        rows.push(`${number} ${tables[at]!.name} ${shapeOf(row, name)}`);
    });
  }
  return rows.toSorted();
}

const shapeOf = (row: Record<string, unknown>, name: string): string =>
  JSON.stringify(
    Object.entries(row).map(([column, value]) => {
      if (/(_at|digest|password_hash)$/.test(column) && value !== null) return [column, typeof value];
      if (column === "id" && /^[0-9a-f]{32}$/.test(String(value))) return [column, "random"];
      return [
        column,
        typeof value === "string" ? value.replaceAll(name, "name").replaceAll(/role\w+/g, "role") : value,
      ];
    }),
  );

/** Makes the same records by the operator service. */
async function operated(wishes: { subscribed: boolean; shard: number }): Promise<string> {
  const tenant = unique("t");
  await env.DB.prepare("INSERT INTO tenant_shard (tenant, shard) VALUES (?, ?)").bind(tenant, wishes.shard).run();
  await put(`organizations/${tenant}-org`, { name: `Organization of ${tenant}` });
  await put(`tenants/${tenant}`, { organization: `${tenant}-org`, name: `Tenant ${tenant}` });
  if (wishes.subscribed) await put(`tenants/${tenant}/subscriptions/platform`, {});
  return tenant;
}

describe("what tests begin with is stored as the operator's requests store it", () => {
  it.each([
    { subscribed: true, shard: 0 },
    { subscribed: false, shard: 1 },
    { subscribed: true, shard: 3 },
  ])("a tenant: %o", async (wishes) => {
    const rows = await rowsOf(await makeTenantIn(wishes.shard, wishes));
    expect(rows).toEqual(await rowsOf(await operated(wishes)));
    expect(rows.length).toBeGreaterThan(2);
  });

  it("the place of a tenant: each shard has as many as the others", async () => {
    for (let n = 0; n < 4; n++) await makeTenant();
    const { results } = await env.DB.prepare("SELECT tenants FROM shard_size").all<{ tenants: number }>();
    const counts = results.map(({ tenants }) => tenants);
    expect(counts).toHaveLength(4);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  });

  it("a client, confidential or public", async () => {
    const tenant = await makeTenant();
    const scopes = ["plat.media_view"];
    const seeded = await makeClient({ tenant, scopes });
    const byRequest = `${tenant}.${unique("app")}`;
    const lists = { redirectUris: [], postLogoutRedirectUris: [], grantTypes: ["client_credentials"], scopes };
    const { clientSecret } = await put(`clients/${byRequest}`, { tenant, confidential: true, ...lists });
    expect(await rowsOf(seeded.clientId)).toEqual(await rowsOf(byRequest));
    expect(seeded.clientSecret).toHaveLength(clientSecret.length);

    const changes = { confidential: false, requirePkce: true, thirdParty: true, displayName: "Shop" } as const;
    const app = await makeApp({ tenant, ...changes });
    const other = `${tenant}.${unique("app")}`;
    const grantTypes = ["authorization_code", "implicit", "refresh_token"];
    await put(`clients/${other}`, { tenant, ...changes, redirectUris: [APP_URI], grantTypes, scopes: ALL_SCOPES });
    expect(await rowsOf(app.clientId)).toEqual(await rowsOf(other));
    expect(app.clientSecret).toBe("");
  });

  it("a member with a role", async () => {
    const { email, tenant } = await makeUser();
    const other = `${unique("ada")}@example.org`;
    const role = unique("role");
    await put(`users/${other}`, { name: "Ada", password: "a password of Ada" });
    await put(`roles/${role}`, { scopes: ALL_SCOPES });
    await put(`tenants/${tenant}/members/${other}`, { roles: [role] });
    expect(await rowsOf(email)).toEqual(await rowsOf(other));
    const roleOf = (address: string) =>
      env.DB.prepare("SELECT role FROM tenant_member_role WHERE email = ?").bind(address).first<string>("role");
    expect(await rowsOf((await roleOf(email))!)).toEqual((await rowsOf(role)).map((row) => row.replace(other, email)));
  });
});
