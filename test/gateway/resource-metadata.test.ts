import { beforeAll, describe, expect, it } from "vitest";
import { answerJson } from "../support/outside.ts";
import { call, expectJson, ORIGIN } from "../support/platform/call.ts";
import { put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { unique } from "../support/platform/unique.ts";

/** What a client learns about a service behind the gateway that it has no token for (RFC 9728). */
const WELL_KNOWN = "/.well-known/oauth-protected-resource";
const ISSUER = `${ORIGIN}/oauth2/v1`;
let path: string;
let open: string;
beforeAll(async () => {
  const tenant = await makeTenant({ subscribed: false });
  const make = async (access: string): Promise<string> => {
    const name = unique("mcp-");
    const scopes = [`${name}.read`, `${name}.topic=*`];
    await put(`services/${name}`, {
      sourceUrl: `https://${name}.example.com`,
      proxyPath: `/${name}/v1`,
      scopes,
      tenant,
      access,
    });
    await answerJson(`https://${name}.example.com/`, {});
    return `/${name}/v1`;
  };
  path = await make("token");
  open = await make("public");
});

describe("A service that wants a token", () => {
  it.each([
    ["no token", {}],
    ["a token that is none", { authorization: "Bearer x" }],
    ["a proof without a token of ours", { authorization: "DPoP x" }],
  ])("names the address of its metadata in the 401 for %s", async (_, headers) => {
    const response = await call(`${path}/`, { headers });
    expect(response.status).toBe(401);
    const challenge = response.headers.get("www-authenticate") ?? "";
    const [scope, metadata] = [`${path.split("/")[1]}.read`, `${ORIGIN}${WELL_KNOWN}${path}`];
    expect(challenge.endsWith(`, scope="${scope}", resource_metadata="${metadata}"`)).toBe(true);
    await response.text();
  });

  it("says who issues tokens for it, and which scopes a client can name", async () => {
    const response = await call(`${WELL_KNOWN}${path}`);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("cache-control")).toBe("public, max-age=300");
    const metadata = await expectJson(response, 200);
    expect(metadata).toEqual({
      resource: `${ORIGIN}${path}`,
      resource_name: path.split("/")[1],
      authorization_servers: [ISSUER],
      bearer_methods_supported: ["header"],
      dpop_signing_alg_values_supported: expect.arrayContaining(["ES256"]),
      scopes_supported: [`${path.split("/")[1]}.read`],
    });
    const server = `/.well-known/oauth-authorization-server${new URL(ISSUER).pathname}`;
    expect((await expectJson(await call(server), 200)).issuer).toBe(metadata.authorization_servers[0]);
  });

  it("says nothing where there is nothing to say: no scopes, no empty list", async () => {
    const name = unique("mcp-");
    const service = { sourceUrl: `https://${name}.example.com`, proxyPath: `/${name}/v1`, scopes: [], access: "token" };
    await put(`services/${name}`, { ...service, tenant: await makeTenant({ subscribed: false }) });
    const metadata = await expectJson(await call(`${WELL_KNOWN}/${name}/v1`), 200);
    expect(metadata).not.toHaveProperty("scopes_supported");
    for (const value of Object.values(metadata)) expect(value).not.toEqual([]);
  });

  it.each(["/sse", "/deeper/still", "/a%20b"])(
    "is described for the address %s below it too, by that",
    async (below) => {
      const response = await call(`${WELL_KNOWN}${path}${below}`);
      expect(await expectJson(response, 200)).toEqual({
        ...(await expectJson(await call(`${WELL_KNOWN}${path}`), 200)),
        resource: `${ORIGIN}${path}${below}`,
      });
    },
  );

  it("is described at its own path and below alone, by GET", async () => {
    for (const wrong of [`${path}more`, path.slice(0, -1), "/", "/nobody/v1", "/media/v2", `${open}/more`])
      expect((await call(`${WELL_KNOWN}${wrong}`)).status).toBe(404);
    expect((await call(`${WELL_KNOWN}${path}`, { method: "POST" })).status).toBe(405);
  });
});

describe("A service that the public may use", () => {
  it("has no metadata, and names none", async () => {
    expect((await call(`${WELL_KNOWN}${open}`)).status).toBe(404);
    const refused = await call(`${open}/`, { headers: { authorization: "Bearer x" } });
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).not.toContain("resource_metadata");
  });
});
