import { describe, expect, it } from "vitest";
import { answerJson, requestsTo } from "../support/outside.ts";
import { call, expectJson, makeClient, makeTenant, put, tokenFor, unique } from "../support/platform.ts";

async function makeService(more: object = {}) {
  const name = unique("svc-");
  const host = `https://${name}.example.com`;
  const tenant = await makeTenant({ subscribed: false });
  await put(`services/${name}`, {
    sourceUrl: `${host}/v1`,
    proxyPath: `/${name}/v1`,
    scopes: [],
    essential: false,
    tenant,
    access: "token",
    ...more,
  });
  const client = await makeClient({ tenant, scopes: [] });
  return { name, source: `${host}/v1`, path: `/${name}/v1`, tenant, client, token: await tokenFor(client) };
}

describe("a forwarded request", () => {
  it("reaches the service below its proxy path with its identity headers", async () => {
    const { source, path, token, tenant, client } = await makeService();
    await answerJson(`${source}/products/1`, { self: `${source}/products/1` });
    const response = await call(`${path}/products/1?a=b%20c`, {
      token,
      headers: { "plat-tenant": "forged", plat_user: "forged" },
    });
    expect(await expectJson(response, 200)).toEqual({ self: `https://plinth.test${path}/products/1` });
    const [seen] = await requestsTo(`${source}/products/1`);
    console.log(seen, Object.fromEntries(response.headers));
    expect(seen).toMatchObject({
      method: "GET",
      url: `${source}/products/1?a=b%20c`,
      headers: { authorization: `Bearer ${token}`, "plat-tenant": tenant, "plat-client": client.clientId },
    });
  });
});
