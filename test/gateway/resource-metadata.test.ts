import { beforeAll, describe, expect, it } from "vitest";
import { answerJson } from "../support/outside.ts";
import { call, expectJson, ORIGIN } from "../support/platform/call.ts";
import { put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { unique } from "../support/platform/unique.ts";

/** The metadata of a service behind the gateway, which a client without a token reads (RFC 9728). */
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

describe("A service that requires a token", () => {
  it.each([
    ["no token", {}],
    ["an invalid token", { authorization: "Bearer x" }],
    ["an invalid token of the scheme DPoP", { authorization: "DPoP x" }],
  ])("names the address of its metadata in the 401 for %s", async (_, headers) => {
    const response = await call(`${path}/`, { headers });
    expect(response.status).toBe(401);
    const challenge = response.headers.get("www-authenticate") ?? "";
    const [scope, metadata] = [`${path.split("/")[1]}.read`, `${ORIGIN}${WELL_KNOWN}${path}`];
    expect(challenge.endsWith(`, scope="${scope}", resource_metadata="${metadata}"`)).toBe(true);
    await response.text();
  });

  it("has metadata with the issuer of its tokens and the scopes that a client can request", async () => {
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

  it("has no list of scopes in its metadata if it has no scopes", async () => {
    const name = unique("mcp-");
    const service = { sourceUrl: `https://${name}.example.com`, proxyPath: `/${name}/v1`, scopes: [], access: "token" };
    await put(`services/${name}`, { ...service, tenant: await makeTenant({ subscribed: false }) });
    const metadata = await expectJson(await call(`${WELL_KNOWN}/${name}/v1`), 200);
    expect(metadata).not.toHaveProperty("scopes_supported");
    for (const value of Object.values(metadata)) expect(value).not.toEqual([]);
  });

  it.each(["/sse", "/deeper/still", "/a%20b"])(
    "has metadata for the address %s below it, which name that address",
    async (below) => {
      const response = await call(`${WELL_KNOWN}${path}${below}`);
      expect(await expectJson(response, 200)).toEqual({
        ...(await expectJson(await call(`${WELL_KNOWN}${path}`), 200)),
        resource: `${ORIGIN}${path}${below}`,
      });
    },
  );

  it("has metadata that browsers may read with headers of their own", async () => {
    const headers = {
      origin: "https://app.example",
      "access-control-request-method": "GET",
      "access-control-request-headers": "mcp-protocol-version",
    };
    const preflight = (of: string) => call(`${WELL_KNOWN}${of}`, { method: "OPTIONS", headers });
    const answer = await preflight(path);
    expect(answer.status).toBe(204);
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.get("access-control-allow-headers")).toBe("mcp-protocol-version");
    expect((await preflight(open)).status).toBe(404);
  });

  it("has metadata only for its own path and below, and only by GET", async () => {
    for (const wrong of [`${path}more`, path.slice(0, -1), "/", "/nobody/v1", "/media/v2", `${open}/more`])
      expect((await call(`${WELL_KNOWN}${wrong}`)).status).toBe(404);
    expect((await call(`${WELL_KNOWN}${path}`, { method: "POST" })).status).toBe(405);
  });
});

describe("A public service", () => {
  it("has no metadata, and its 401 names none", async () => {
    expect((await call(`${WELL_KNOWN}${open}`)).status).toBe(404);
    const refused = await call(`${open}/`, { headers: { authorization: "Bearer x" } });
    expect(refused.status).toBe(401);
    expect(refused.headers.get("www-authenticate")).not.toContain("resource_metadata");
  });
});
