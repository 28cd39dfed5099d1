import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { counting } from "../support/counting.ts";
import { isolate } from "../support/isolate.ts";
import { makePerson, tokenOf } from "../support/parties/operators.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";

/** These tests search the operator service's lists by `?q=`. */
type Rows = readonly Record<string, unknown>[];
const ask = async (path: string, token?: string): Promise<Response> =>
  call(`/admin/v1/${path}`, { token: token ?? (await tokenFor(OPERATOR)) });
const rowsOf = async (answer: Response): Promise<Rows> => expectJson(answer, 200);
const found = async (path: string, key: string, token?: string): Promise<unknown[]> =>
  (await rowsOf(await ask(path, token))).map((row) => row[key]);

describe("?q= of a list", () => {
  // shows: operator/search/list
  it("finds people by the beginning of the address or of the name, in any case", async () => {
    const mark = unique("zoe");
    const [first, second] = [`${mark}@example.org`, `a-${mark}@example.org`];
    await put(`users/${first}`, { name: "Somebody" });
    await put(`users/${second}`, { name: `${mark.toUpperCase()} Émile` });
    expect(await found(`users?q=${mark}`, "email")).toEqual([second, first]);
    expect(await found(`users?q=${mark.toUpperCase()}@`, "email")).toEqual([first]);
    expect(await found(`users?q=${encodeURIComponent(`${mark} émi`)}`, "email")).toEqual([]);
    expect(await found(`users?q=${encodeURIComponent(`${mark} Émi`)}`, "email")).toEqual([second]);
    expect(await found(`users?q=${mark.slice(1)}`, "email")).toEqual([]);
    expect(await found(`users?q=${encodeURIComponent(`${mark}%`)}`, "email")).toEqual([]);
  });

  it("finds tenants and clients by id and by name", async () => {
    const tenant = await makeTenant();
    await put(`tenants/${tenant}`, { organization: `${tenant}-org`, name: `Shop of ${tenant}` });
    expect(await found(`tenants?q=${tenant}`, "id")).toEqual([tenant]);
    expect(await found(`tenants?q=${encodeURIComponent(`shop OF ${tenant}`)}`, "id")).toEqual([tenant]);
    const id = unique("App");
    const body = { tenant, confidential: true, grantTypes: ["client_credentials"], scopes: [] };
    await put(`clients/${id}`, { ...body, name: `${tenant}.shop`, displayName: `Basket ${tenant}` });
    for (const q of [id, `${tenant}.sh`, `bASKET ${tenant}`])
      expect(await found(`clients?q=${encodeURIComponent(q)}`, "clientId")).toEqual([id]);
    expect(await found(`clients?q=${id.toLowerCase()}`, "clientId")).toEqual([]);
  });

  // shows: operator/search/of-a-tenant
  it("lists the clients of one tenant, also by a text, from page to page", async () => {
    const [tenant, other] = [await makeTenant(), await makeTenant()];
    const body = { confidential: true, grantTypes: ["client_credentials"], scopes: [] };
    for (const app of ["one", "other", "third"]) await put(`clients/${tenant}.${app}`, { ...body, tenant });
    await put(`clients/${other}.one`, { ...body, tenant: other });
    const own = ["one", "other", "third"].map((app) => `${tenant}.${app}`);
    expect(await found(`clients?tenant=${tenant}`, "clientId")).toEqual(own);
    expect(await found(`clients?tenant=${tenant}&q=${tenant}.o`, "clientId")).toEqual(own.slice(0, 2));
    expect(await found(`clients?tenant=${other}&q=${tenant}.o`, "clientId")).toEqual([]);
    const first = await ask(`clients?tenant=${tenant}&pageSize=2`);
    expect((await rowsOf(first.clone())).map(({ clientId }) => clientId)).toEqual(own.slice(0, 2));
    const next = /\/admin\/v1\/([^>]*)>; rel="?next/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
    expect(await found(next, "clientId")).toEqual(own.slice(2));
    expect(await found("clients?tenant=nobody", "clientId")).toEqual([]);
    expect((await ask("clients?tenant=Not+One")).status).toBe(400);
  });

  it("goes on from page to page by the links, and back", async () => {
    const mark = unique("page");
    const all = ["a", "b", "c", "d"].map((letter) => `${letter}${mark}@example.org`);
    for (const [at, email] of all.entries()) await put(`users/${email}`, { name: at === 0 ? mark : `${mark} ${at}` });
    const pages: unknown[] = [];
    let path: string | undefined = `users?q=${mark}&pageSize=3`;
    while (path !== undefined) {
      const answer = await ask(path);
      pages.push((await rowsOf(answer.clone())).map(({ email }) => email));
      path = /\/admin\/v1\/([^>]*)>; rel="?next/.exec(answer.headers.get("link") ?? "")?.[1];
    }
    expect(pages).toEqual([all.slice(0, 3), all.slice(3)]);
    expect(await found(`users?q=${mark}&pageSize=3&pageNumber=2`, "email")).toEqual(all.slice(3));
  });

  it("shows who runs an organization's tenants nothing of others", async () => {
    const person = await makePerson(["plat.admin_tenant"]);
    const token = await tokenOf(person);
    const other = await makeTenant();
    expect(await found(`tenants?q=${person.tenant}`, "id", token)).toEqual([person.tenant]);
    expect(await found(`tenants?q=${other}`, "id", token)).toEqual([]);
    expect(await found(`clients?q=${person.app.clientId}`, "clientId", token)).toEqual([person.app.clientId]);
    expect(await found(`clients?q=plat.`, "clientId", token)).toEqual([]);
    expect(await found(`clients?tenant=${person.tenant}`, "clientId", token)).toContain(person.app.clientId);
    const foreign = { tenant: other, confidential: true, grantTypes: ["client_credentials"], scopes: [] };
    await put(`clients/${other}.app`, foreign);
    expect(await found(`clients?tenant=${other}`, "clientId")).toEqual([`${other}.app`]);
    expect(await found(`clients?tenant=${other}`, "clientId", token)).toEqual([]);
    expect(await found(`clients?tenant=${other}&q=${other}`, "clientId", token)).toEqual([]);
    expect((await ask("users?q=a", token)).status).toBe(403);
  });

  it("refuses a text that is empty or too long", async () => {
    for (const q of ["", "x".repeat(101)]) expect((await ask(`tenants?q=${q}`)).status).toBe(400);
  });

  it("reads a bounded number of rows, however many begin so", async () => {
    const mark = unique("many");
    await env.DB.prepare(
      `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
       INSERT INTO user (email, name, created_at) SELECT ?1 || printf('%05d', i) || '@example.org', ?1 || ' ' || i, 0 FROM n`,
    )
      .bind(mark)
      .run();
    const { env: bindings, tally } = counting(env);
    const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}` };
    const answer = await isolate(bindings).fetch(`/admin/v1/users?q=${mark}&pageSize=20`, { headers });
    expect(await answer.json()).toHaveLength(20);
    expect(tally.d1RowsRead).toBeGreaterThan(20);
    expect(tally.d1RowsRead).toBeLessThan(4_000);
  });
});
