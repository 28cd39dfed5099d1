import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { isolate } from "../support/isolate.ts";
import { realPasswordCost } from "../support/runtime/password-cost.ts";
import { directoryWith } from "../support/directory.ts";
import { call, expectJson, ORIGIN } from "../support/platform/call.ts";
import { ALL_SCOPES, makeClient, type TestClient } from "../support/platform/clients.ts";
import { OPERATOR, put, putService } from "../support/platform/operator.ts";
import { makeTenant, makeTenantIn } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";

const admin = async (
  path: string,
  init: { method?: string; json?: unknown; headers?: Record<string, string> } = {},
): Promise<Response> => call(`/admin/v1/${path}`, { ...init, token: await tokenFor(OPERATOR) });

/** Returns an example of each resource: its path, its body, its answer. */
async function examples(): Promise<Record<string, { path: string; json: object; shape: object }>> {
  const tenant = await makeTenant({ subscribed: false });
  const organization = `${tenant}-org`;
  const email = `${unique("ada")}@example.org`;
  const role = unique("role");
  await put(`users/${email}`, { name: "Ada" });
  await put(`roles/${role}`, { scopes: ["shop.read"] });
  const service = unique("svc");
  return {
    organization: { path: `organizations/${unique("org")}`, json: { name: "Acme" }, shape: { name: "Acme" } },
    tenant: {
      path: `tenants/${unique("t")}`,
      json: { organization, name: "Shop" },
      shape: { organization, name: "Shop", disabled: false },
    },
    user: {
      path: `users/${unique("bob")}@example.org`,
      json: { name: "Bob", password: "correct horse" },
      shape: { name: "Bob", hasPassword: true, disabled: false },
    },
    "tenant member": {
      path: `tenants/${tenant}/members/${email}`,
      json: { roles: [role] },
      shape: { tenant, email, roles: [role] },
    },
    "organization member": {
      path: `organizations/${organization}/members/${email}`,
      json: { roles: [] },
      shape: { organization, email, roles: [] },
    },
    role: { path: `roles/${unique("role")}`, json: { scopes: ["a.b", "a.*"] }, shape: { scopes: ["a.b", "a.*"] } },
    client: {
      path: `clients/${tenant}.${unique("app")}`,
      json: {
        tenant,
        confidential: true,
        grantTypes: ["client_credentials"],
        scopes: ["a.b"],
        redirectUris: ["https://a.example/cb"],
      },
      shape: {
        tenant,
        confidential: true,
        grantTypes: ["client_credentials"],
        redirectUris: ["https://a.example/cb"],
        disabled: false,
      },
    },
    service: {
      path: `services/${service}`,
      json: {
        sourceUrl: "https://s.example/v1",
        proxyPath: `/${service}`,
        scopes: [`${service}.x`],
        tenant,
        access: "token",
      },
      shape: { sourceUrl: "https://s.example/v1", essential: false, access: "token" },
    },
    package: {
      path: `packages/${unique("pkg")}`,
      json: { version: "1.2", organization, services: ["media"] },
      shape: { version: "1.2", organization, services: ["media"] },
    },
    subscription: {
      path: `tenants/${tenant}/subscriptions/platform`,
      json: {},
      shape: { tenant, package: "platform" },
    },
  };
}

describe("every resource", () => {
  // shows: platform/addresses/operator-service
  // shows: operator/conventions/put-get-delete
  // shows: operator/resources/organizations-id
  // shows: operator/resources/tenants-id
  // shows: operator/resources/users-email
  // shows: operator/resources/tenants-id-members-email
  // shows: operator/resources/organizations-id-members-email
  // shows: operator/resources/roles-name
  // shows: operator/resources/clients-clientid
  // shows: operator/resources/services-name
  // shows: operator/resources/packages-id
  // shows: operator/resources/tenants-id-subscriptions-packageid
  it("is created with 201, replaced with 200, shown, listed, removed with 204, and gone then", async () => {
    for (const [noun, { path, json, shape }] of Object.entries(await examples())) {
      const made = await expectJson(await admin(path, { method: "PUT", json }), 201);
      expect(made, noun).toMatchObject(shape);
      const shown = await expectJson(await admin(path), 200);
      expect(shown, noun).toMatchObject(shape);
      expect(await expectJson(await admin(path, { method: "PUT", json }), 200), noun).toEqual(shown);
      const collection = path.slice(0, path.lastIndexOf("/"));
      const listed = await admin(`${collection}?pageSize=1000`);
      expect(listed.headers.get("link"), noun).toContain('rel="self"');
      expect(await expectJson(listed, 200), noun).toContainEqual(shown);
      const change = async (headers: Record<string, string>, method = "PUT"): Promise<number> =>
        (await admin(path, { method, headers, ...(method === "PUT" && { json }) })).status;
      const etag = (await admin(path)).headers.get("etag")!;
      expect([await change({ "if-match": '"x"' }), await change({ "if-none-match": "*" })], noun).toEqual([412, 412]);
      expect(await change({ "if-match": etag }), noun).toBe(200);
      expect(await change({ "if-match": '"x"' }, "DELETE"), noun).toBe(412);
      // An invitation that is repeated ends later.
      const now = (await admin(path)).headers.get("etag")!;
      expect(now === etag, noun).toBe(!noun.includes("invitation"));
      expect(await change({ "if-match": now }, "DELETE"), noun).toBe(204);
      expect((await admin(path, { method: "DELETE" })).status, noun).toBe(404);
      const gone = await expectJson(await admin(path), 404);
      expect(gone.type, noun).toBe("element_resource_non_existing");
    }
  });

  // shows: operator/conventions/audit-log
  it("leaves an audit row for each change and none for a refusal", async () => {
    const id = unique("org");
    await put(`organizations/${id}`, { name: "Acme" });
    await admin(`organizations/${id}`, { method: "PUT", json: {} });
    await admin(`organizations/${id}`, { method: "DELETE" });
    await admin(`organizations/${id}`, { method: "DELETE" });
    const audit = await expectJson<any[]>(await admin("audit?pageSize=1000"), 200);
    const own = audit.filter((entry) => entry.subject === `organizations/${id}`);
    expect(own.map((entry) => entry.action)).toEqual(["delete", "put"]);
    expect(own[0]).toMatchObject({ actor: "plat.operator", outcome: "done" });
  });
});

describe("a PUT with wrong input", () => {
  // shows: operator/resources/a-reference-to-what-is-not-there
  it("names an unknown reference, and changes nothing", async () => {
    const tenant = unique("t");
    const refused = await expectJson(
      await admin(`tenants/${tenant}`, { method: "PUT", json: { organization: "nowhere", name: "x" } }),
      400,
    );
    expect(refused).toMatchObject({
      type: "validation_violation",
      details: [{ type: "invalid_field", field: "organization" }],
    });
    expect((await admin(`tenants/${tenant}`)).status).toBe(404);
  });

  // shows: events/error-object/details-.message
  // shows: events/error-object/details-.moreinfo
  // shows: operator/resources/clients-clientid
  // shows: operator/resources/granttypes
  it("names every wrong field, in bean notation", async () => {
    const tenant = await makeTenant();
    const json = {
      tenant,
      confidential: "yes",
      grantTypes: ["magic"],
      scopes: ["ok", "no spaces"],
      redirectUris: ["http://evil.example"],
    };
    const refused = await expectJson(await admin(`clients/${tenant}.app`, { method: "PUT", json }), 400);
    expect(refused.details.map((detail: any) => detail.field).sort()).toEqual([
      "confidential",
      "grantTypes[0]",
      "redirectUris[0]",
      "scopes[1]",
    ]);
    for (const detail of refused.details)
      expect(detail).toMatchObject({
        type: "invalid_field",
        message: expect.any(String),
        moreInfo: expect.any(String),
      });
  });

  // shows: oauth/get-authorize/redirect_uri-tls
  // shows: operator/resources/redirecturis
  it.each([
    ["https://a.example/cb", true],
    ["http://127.0.0.1:1234/cb", true],
    ["http://localhost/cb", true],
    ["http://[::1]/cb", true],
    ["com.example.app:/cb", true],
    ["http://a.example/cb", false],
    ["https://a.example/cb#x", false],
    ["https://a.example/cb#", false],
    ["https://u:p@a.example/cb", false],
    ["https://a.example/*", false],
    ["https://*.a.example/cb", false],
    ["javascript:alert(1)", false],
    ["data:text/html,x", false],
    ["myapp:/cb", false],
    ["/relative", false],
    ["", false],
  ])("accepts the redirect URI %s: %s", async (uri, taken) => {
    const tenant = await makeTenant();
    const json = { tenant, confidential: false, grantTypes: [], scopes: [], redirectUris: [uri] };
    expect((await admin(`clients/${tenant}.app`, { method: "PUT", json })).status).toBe(taken ? 201 : 400);
  });

  it.each([
    ["tenants/UPPER", { organization: "x", name: "x" }],
    ["tenants/ab", { organization: "x", name: "x" }],
    ["users/nobody", {}],
    ["roles/%20", { scopes: [] }],
    ["services/x1", { sourceUrl: "ftp://x", proxyPath: "/x1", scopes: [], tenant: "abc", access: "token" }],
    [
      "services/x1",
      { sourceUrl: "https://x.example", proxyPath: "/media/v3", scopes: [], tenant: "abc", access: "token" },
    ],
  ])("refuses %s", async (path, json) => {
    expect((await admin(path, { method: "PUT", json })).status).toBe(400);
  });

  it("refuses scopes of a service that cover the platform's", async () => {
    const tenant = await makeTenant();
    const service = unique("svc");
    const register = (scope: string) =>
      admin(`services/${service}`, {
        method: "PUT",
        json: {
          sourceUrl: "https://x.example",
          proxyPath: `/${service}`,
          scopes: [scope],
          essential: false,
          tenant,
          access: "token",
        },
      });
    for (const scope of ["*", "p*", "plat.t*", "plat.tenant=*", "openid"])
      expect(await expectJson(await register(scope), 400)).toMatchObject({ details: [{ field: "scopes" }] });
    expect((await register(`${service}.read`)).status).toBe(201);
  });
});

describe("below an unknown parent", () => {
  it("every request answers 404", async () => {
    const email = `${unique("zoe")}@example.org`;
    await put(`users/${email}`, {});
    const tenant = await makeTenant();
    const cases: [method: string, path: string, absent: readonly string[], json?: unknown][] = [
      ["GET", "tenants/nosuch/members", []],
      ["GET", "tenants/nosuch/subscriptions", []],
      ["GET", "organizations/nosuch/members", []],
      ["PUT", `tenants/nosuch/members/${email}`, ["id"], { roles: [] }],
      ["PUT", `tenants/${tenant}/members/nobody@example.org`, ["email"], { roles: [] }],
      ["PUT", "tenants/nosuch/subscriptions/platform", ["id"], {}],
      ["PUT", `tenants/${tenant}/subscriptions/nosuch`, ["packageId"], {}],
    ];
    for (const [method, path, absent, json] of cases) {
      const refused = await expectJson(await admin(path, { method, json }), 404);
      expect(refused, `${method} ${path}`).toMatchObject({
        type: "element_resource_non_existing",
        details: absent.map((field) => ({ type: "absent", field })),
      });
    }
  });
});

describe("a tolerant PUT", () => {
  // shows: operator/resources/tenants-id-subscriptions-packageid
  it("accepts a subscription without a body, and ids with capitals", async () => {
    const tenant = await makeTenant({ subscribed: false });
    expect((await admin(`tenants/${tenant}/subscriptions/platform`, { method: "PUT" })).status).toBe(201);
    expect((await admin(`roles/${unique("CatalogManager")}`, { method: "PUT", json: { scopes: [] } })).status).toBe(
      201,
    );
  });

  it("accepts any spelling of an address; the audit log has the stored one", async () => {
    const email = `${unique("zed")}@example.org`;
    await put(`users/${encodeURIComponent(` ${email.toUpperCase()} `)}`, {});
    const audit = await expectJson<any[]>(await admin("audit?pageSize=5"), 200);
    expect(audit.map((entry) => entry.subject)).toContain(`users/${email}`);
  });
});

/** Stores a committed private file, and returns its link. */
async function storeFile(client: TestClient): Promise<string> {
  const token = await tokenFor(client);
  const made = await expectJson(await call("/media/v2/files", { token, method: "POST" }), 200);
  await call(made.uploadLink, { method: "PUT", body: "x", headers: { "content-type": "binary/octet-stream" } });
  return (await expectJson(await call(made.commitLink, { token, method: "POST" }), 202)).link as string;
}

/**
 * A database in which an action runs once before a batch: before the first batch, or before the batch after the search
 * for dependents.
 */
function interrupted(act: () => Promise<unknown>, { afterBatches = 0 } = {}): D1Database {
  let batches = 0;
  return directoryWith({
    async batch(statements) {
      if (batches++ === afterBatches) await act();
      return env.DB.batch(statements);
    },
  });
}

const send = async (DB: D1Database, method: string, path: string, json?: unknown): Promise<Response> => {
  const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" };
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  return isolate({ DB }).fetch(`/admin/v1/${path}`, { method, headers, ...body });
};

describe("a change between check and write", () => {
  it("keeps a package that a tenant subscribed to meanwhile, with 409", async () => {
    const tenant = await makeTenant();
    const id = unique("pkg");
    await put(`packages/${id}`, { version: "1", organization: `${tenant}-org`, services: ["media"] });
    const db = interrupted(() => put(`tenants/${tenant}/subscriptions/${id}`, {}));
    const refused = await expectJson(await send(db, "DELETE", `packages/${id}`), 409);
    expect(refused).toMatchObject({ details: [{ type: "in_use", field: "tenant" }] });
    expect((await admin(`packages/${id}`)).status).toBe(200);
  });

  it("names an organization that was removed meanwhile, with 400", async () => {
    const organization = unique("org");
    await put(`organizations/${organization}`, { name: "x" });
    const db = interrupted(() => admin(`organizations/${organization}`, { method: "DELETE" }));
    const refused = await expectJson(await send(db, "PUT", `tenants/${unique("t")}`, { organization, name: "x" }), 400);
    expect(refused).toMatchObject({ details: [{ type: "invalid_field", field: "organization" }] });
  });
});

describe("a service that is removed between check and write", () => {
  it("is named in the refusal of the package that includes it, and nothing is written", async () => {
    const tenant = await makeTenant();
    const [name, kept, id] = [unique("svc"), unique("svc"), unique("pkg")];
    for (const service of [name, kept]) await putService(service, { tenant });
    const described = { version: "1", organization: `${tenant}-org`, services: [kept, kept] };
    expect(await put(`packages/${id}`, described)).toMatchObject({ services: [kept] });
    const db = interrupted(() => admin(`services/${name}`, { method: "DELETE" }));
    const wanted = { ...described, version: "2", services: [kept, name] };
    const refused = await expectJson(await send(db, "PUT", `packages/${id}`, wanted), 400);
    expect(refused).toMatchObject({ details: [{ type: "invalid_field", field: "services[1]" }] });
    expect(await expectJson(await admin(`packages/${id}`), 200)).toMatchObject({ version: "1", services: [kept] });
  });
});

describe("a path below that of another tenant's service, which would take its requests", () => {
  const at = (proxyPath: string, tenant: string, sourceUrl = "https://s.example") => ({
    sourceUrl,
    proxyPath,
    scopes: [],
    tenant,
    access: "token",
  });
  const send409 = async (name: string, json: object, db = env.DB): Promise<string> => {
    const refused = await expectJson(await send(db, "PUT", `services/${name}`, json), 409);
    expect(refused.details).toMatchObject([{ type: "taken", field: "proxyPath" }]);
    return refused.message as string;
  };

  // shows: gateway/what-a-browser-makes-of-it/paths-of-other-tenants
  it("is refused from either side and for a change of path or tenant, with 409 that names the service", async () => {
    const [mine, theirs] = [await makeTenant(), await makeTenant()];
    const [path, name] = [`/${unique("p")}`, unique("svc")];
    await put(`services/${name}`, at(`${path}/v1`, mine));
    expect(await send409(unique("svc"), at(`${path}/v1/a/b`, theirs))).toContain(name);
    expect(await send409(unique("svc"), at(path, theirs))).toContain(name);
    // These are a path of the tenant's own service, and paths that only look like it.
    await put(`services/${name}-below`, at(`${path}/v1/a`, mine));
    await put(`services/${name}-like`, at(`${path}/v10`, theirs));
    await put(`services/${name}-other`, at(`${path}-v1`, theirs));
    expect(await send409(`${name}-like`, at(`${path}/v1/a/b`, theirs))).toContain(name);
    expect(await send409(`${name}-below`, at(`${path}/v1/a`, theirs))).toContain(name);
  });

  // shows: gateway/what-a-browser-makes-of-it/paths-of-other-tenants
  it("may stay if it was there before, but cannot be made again", async () => {
    const [mine, theirs] = [await makeTenant(), await makeTenant()];
    const [path, name] = [`/${unique("p")}`, unique("svc")];
    await put(`services/${name}`, at(path, mine));
    await put(`services/${name}-below`, at(`${path}/a`, mine));
    await env.DB.prepare("UPDATE service SET tenant = ?1 WHERE name = ?2").bind(theirs, `${name}-below`).run();
    const moved = await put(`services/${name}-below`, at(`${path}/a`, theirs, "https://moved.example"));
    expect(moved).toMatchObject({ sourceUrl: "https://moved.example" });
    await admin(`services/${name}-below`, { method: "DELETE" });
    await send409(`${name}-below`, at(`${path}/a`, theirs));
  });

  // shows: gateway/what-a-browser-makes-of-it/paths-of-other-tenants
  it("is refused too if the other one came between check and write", async () => {
    const [mine, theirs] = [await makeTenant(), await makeTenant()];
    const [path, name] = [`/${unique("p")}`, unique("svc")];
    const db = interrupted(() => put(`services/${name}`, at(path, mine)));
    await send409(`${name}-below`, at(`${path}/a`, theirs), db);
    expect((await admin(`services/${name}-below`)).status).toBe(404);
    const known = interrupted(() => put(`services/${name}-b`, at(`${path}/b`, mine)));
    await put(`services/${name}-far`, at(`${path}-far`, theirs));
    await send409(`${name}-far`, at(`${path}/b/c`, theirs), known);
    expect(await expectJson(await admin(`services/${name}-far`), 200)).toMatchObject({ proxyPath: `${path}-far` });
  });
});

describe("a file that is committed between check and write", () => {
  it("keeps its client, the client's name and tenant, and its tenant, with 409 that names it", async () => {
    // While the shards are closed for the change, no file is committed. A file that is committed before prevents it.
    const client = await makeClient({ tenant: await makeTenantIn(0) });
    const { clientId, tenant } = client;
    const json = { tenant, confidential: true, grantTypes: ["client_credentials"], scopes: ALL_SCOPES };
    const renamed = { ...json, name: `${tenant}.renamed` };
    const moved = { ...json, tenant: await makeTenant() };
    const path = `clients/${clientId}`;
    for (const [method, body] of [["DELETE"], ["PUT", renamed], ["PUT", moved]] as [string, object?][]) {
      let link = "";
      const db = interrupted(async () => (link = await storeFile(client)), { afterBatches: 1 });
      const refused = await expectJson(await send(db, method, path, body), 409);
      expect(refused.details).toMatchObject([{ type: "in_use", field: "files" }]);
      expect((await call(link, { token: await tokenFor(client), method: "DELETE" })).status).toBe(204);
    }
    expect(await expectJson(await admin(path), 200)).toMatchObject({ name: clientId, tenant });
    const lone = await makeTenantIn(0, { subscribed: false });
    const owner = "INSERT INTO owner (client, tenant, visibility, files) VALUES ('a.b', ?, 'private', 1)";
    const db = interrupted(() => env.DB.prepare(owner).bind(lone).run(), { afterBatches: 1 });
    expect(await expectJson(await send(db, "DELETE", `tenants/${lone}`), 409)).toMatchObject({
      details: [{ field: "files", message: expect.stringContaining("a.b") }],
    });
    expect((await admin(`tenants/${lone}`)).status).toBe(200);
  });
});

describe("services", () => {
  /** A registration that is valid unless the change makes it invalid. */
  const someService = async (change: object) => ({
    sourceUrl: "https://s.example",
    proxyPath: `/${unique("s")}`,
    scopes: [],
    tenant: await makeTenant(),
    access: "token",
    ...change,
  });

  // shows: platform/addresses/proxypath-inside-an-address-above
  // shows: operator/resources/services-name
  it.each([
    ["proxyPath", { proxyPath: "/media/v3" }],
    ["proxyPath", { proxyPath: "/oauth2" }],
    ["proxyPath", { proxyPath: "/health/x" }],
    ["proxyPath", { proxyPath: "/account" }],
    ["proxyPath", { proxyPath: "/account/x" }],
    ["proxyPath", { proxyPath: "/x/../media" }],
    ["scopes", { scopes: ["profile"] }],
    ["scopes", { scopes: ["mine.read", "email"] }],
    ["scopes", { scopes: ["address"] }],
    ["scopes", { scopes: ["phone*"] }],
    ["scopes", { scopes: ["offline*"] }],
    ["sourceUrl", { sourceUrl: "ftp://s.example" }],
    ["sourceUrl", { sourceUrl: "https://u:p@s.example" }],
    ["sourceUrl", { sourceUrl: "https://s.example/v1?x=1" }],
    ["sourceUrl", { sourceUrl: "http://s.example" }],
    ["sourceUrl", { sourceUrl: "https://10.0.0.1/v1" }],
    ["sourceUrl", { sourceUrl: `${ORIGIN}/media/v2` }],
  ])("refuses a %s: %o", async (field, change) => {
    const service = await someService(change);
    const refused = await expectJson(await admin(`services/${unique("s")}`, { method: "PUT", json: service }), 400);
    expect(refused.details).toMatchObject([{ type: "invalid_field", field }]);
  });

  // shows: platform/addresses/proxypath-inside-an-address-above
  it.each([
    "media",
    "media/v3",
    "oauth2/v2",
    ".well-known/x",
    "openapi.json",
    "console/v1",
    "cdn-cgi/x",
    "llms.txt",
    "favicon.ico",
  ])("says which part of a path is the platform's own: /%s", async (path) => {
    const json = { sourceUrl: "https://s.example", proxyPath: `/${path}`, scopes: [], access: "public" };
    const tenant = await makeTenant();
    const refused = await admin(`services/${unique("s")}`, { method: "PUT", json: { ...json, tenant } });
    const message = `The first part of proxyPath, /${path.split("/")[0]}, is the platform's own.`;
    expect(await expectJson(refused, 400)).toMatchObject({ message });
    const similar = await admin(`services/${unique("s")}`, {
      method: "PUT",
      json: { ...json, tenant, proxyPath: `/${unique("x")}/${path}` },
    });
    expect(similar.status).toBe(201);
  });

  it("call an absent field missing, even one with few values", async () => {
    const json = await someService({ access: undefined });
    const refused = await expectJson(await admin(`services/${unique("s")}`, { method: "PUT", json }), 400);
    expect(refused.details).toMatchObject([{ type: "missing_field", field: "access" }]);
  });

  it("are never reported as somebody else's, since the operator sees all", async () => {
    for (const path of ["tenants/nothere", "clients/no.such", "tenants/nothere/usage", "media/consistency/0"]) {
      const { message } = await expectJson(await admin(path), 404);
      expect(message).toMatch(/^There is no such \w+\.$/);
    }
  });

  // shows: platform/deployment-variables/allow_loopback
  it("accept plain http only if loopback is allowed", async () => {
    const service = await someService({ sourceUrl: "http://127.0.0.1:9" });
    const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" };
    const sendTo = (ALLOW_LOOPBACK: string) =>
      isolate({ ALLOW_LOOPBACK }).fetch(`/admin/v1/services/${unique("s")}`, {
        method: "PUT",
        headers,
        body: JSON.stringify(service),
      });
    expect((await sendTo("false")).status).toBe(400);
    expect((await sendTo("true")).status).toBe(201);
  });
});

describe("a conflict", () => {
  // shows: operator/resources/in-use
  it("keeps a resource in use and names its dependents", async () => {
    const tenant = await makeTenant();
    await makeClient({ tenant });
    for (const path of [`organizations/${tenant}-org`, `tenants/${tenant}`]) {
      const refused = await expectJson(await admin(path, { method: "DELETE" }), 409);
      expect(refused).toMatchObject({ type: "conflict_resource" });
      expect(refused.details.map((detail: any) => detail.type)).toContain("in_use");
      expect((await admin(path)).status).toBe(200);
    }
  });

  it("keeps tenant, client and names while there are committed files, and no longer", async () => {
    const client = await makeClient();
    const { clientId, tenant } = client;
    const link = await storeFile(client);
    const [asClient, asTenant] = [`clients/${clientId}`, `tenants/${tenant}`];
    const body = { confidential: true, grantTypes: ["client_credentials"], scopes: ALL_SCOPES };
    const other = await makeTenant();
    const changes: [string, { method: string; json?: unknown }][] = [
      [asClient, { method: "DELETE" }],
      [asTenant, { method: "DELETE" }],
      [asClient, { method: "PUT", json: { ...body, tenant, name: `${tenant}.renamed` } }],
      [asClient, { method: "PUT", json: { ...body, tenant: other } }],
    ];
    for (const [path, init] of changes) {
      const refused = await expectJson(await admin(path, init), 409);
      expect(refused.type).toBe("conflict_resource");
      const named = `In use by: files of the client ${clientId} and the tenant ${tenant} (1 private).`;
      expect(refused.details).toContainEqual(
        expect.objectContaining({ type: "in_use", field: "files", message: named }),
      );
    }
    expect((await admin(asClient, { method: "PUT", json: { ...body, tenant } })).status).toBe(200);
    expect((await call(link, { token: await tokenFor(client), method: "DELETE" })).status).toBe(204);
    expect((await admin(asClient, { method: "DELETE" })).status).toBe(204);
    expect((await admin(`${asTenant}/subscriptions/platform`, { method: "DELETE" })).status).toBe(204);
    expect((await admin(asTenant, { method: "DELETE" })).status).toBe(204);
  });

  it("keeps the name of a client with files of other tenants, but not its own tenant", async () => {
    const [home, guest] = [await makeTenant(), await makeTenant()];
    const { clientId } = await makeClient({ tenant: home });
    const owner = "INSERT INTO owner (client, tenant, visibility, files) VALUES (?, ?, 'public', 2)";
    await env.DB.prepare(owner).bind(clientId, guest).run();
    const json = { confidential: true, grantTypes: [], scopes: [] };
    const path = `clients/${clientId}`;
    expect(
      (await admin(path, { method: "PUT", json: { ...json, tenant: guest, name: `${home}.renamed` } })).status,
    ).toBe(409);
    expect((await admin(path, { method: "PUT", json: { ...json, tenant: await makeTenant() } })).status).toBe(200);
    expect((await admin(path, { method: "DELETE" })).status).toBe(409);
  });

  // shows: operator/resources/clients-name
  it("keeps a name unique among clients", async () => {
    const tenant = await makeTenant();
    await makeClient({ tenant, clientId: `${tenant}.one` });
    const json = { tenant, name: `${tenant}.one`, confidential: false, grantTypes: [], scopes: [] };
    const refused = await expectJson(await admin(`clients/${tenant}.two`, { method: "PUT", json }), 409);
    expect(refused).toMatchObject({ type: "conflict_resource", details: [{ type: "taken", field: "name" }] });
  });

  // shows: operator/resources/built-in
  it("protects built-in resources", async () => {
    const tenant = await makeTenant();
    const service = { sourceUrl: "https://x.example", proxyPath: "/zz", scopes: [], tenant, access: "token" };
    expect((await admin("services/media", { method: "PUT", json: service })).status).toBe(409);
    expect((await admin("services/media", { method: "DELETE" })).status).toBe(409);
    expect((await admin("packages/platform", { method: "DELETE" })).status).toBe(409);
    expect(
      (await admin("tenants/plat", { method: "PUT", json: { organization: `${tenant}-org`, name: "x" } })).status,
    ).toBe(409);
    const client = { tenant, confidential: false, grantTypes: [], scopes: [] };
    expect((await admin("clients/plat.operator", { method: "PUT", json: client })).status).toBe(409);
    expect((await admin("clients/plat.authorization", { method: "PUT", json: client })).status).toBe(409);
    expect(
      (await admin(`clients/${tenant}.x`, { method: "PUT", json: { ...client, name: "plat.authorization" } })).status,
    ).toBe(409);
    expect(await expectJson(await admin("services/media"), 200)).toMatchObject({
      builtIn: true,
      scopes: expect.arrayContaining(["plat.media_view"]),
    });
  });
});

describe("secrets", () => {
  // shows: oauth/access-tokens/client-secrets
  // shows: operator/resources/clients-secret
  it("shows a generated secret once and keeps only its digest", async () => {
    const client = await makeClient();
    expect(client.clientSecret).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const shown = await (await admin(`clients/${client.clientId}`)).text();
    expect(shown).not.toContain(client.clientSecret);
    const rows = await env.DB.prepare("SELECT * FROM client_secret WHERE client = ?").bind(client.clientId).all();
    expect(JSON.stringify(rows.results)).not.toContain(client.clientSecret);
  });

  // shows: operator/resources/put-without-clientsecret-or-password
  it("keeps the secret through a PUT without one, and replaces it by a PUT with one", async () => {
    const client = await makeClient();
    const { clientId, tenant } = client;
    const json = { tenant, confidential: true, grantTypes: ["client_credentials"], scopes: [] };
    expect(await put(`clients/${clientId}`, json)).not.toHaveProperty("clientSecret");
    await tokenFor(client);
    const clientSecret = "n".repeat(32);
    await put(`clients/${clientId}`, { ...json, clientSecret });
    await tokenFor({ clientId, clientSecret });
    await expect((async () => tokenFor(client))()).rejects.toThrow("401");
  });

  // shows: oauth/access-tokens/client-secrets
  // shows: operator/resources/clients-id-secret
  it("allows two secrets after a rotation, and never three", async () => {
    const first = await makeClient();
    const { clientId } = first;
    const rotate = async () => {
      const { clientSecret } = await expectJson(await admin(`clients/${clientId}/secret`, { method: "POST" }), 201);
      return { clientId, clientSecret: clientSecret as string };
    };
    const second = await rotate();
    await tokenFor(first);
    await tokenFor(second);
    const third = await rotate();
    await tokenFor(second);
    await tokenFor(third);
    await expect((async () => tokenFor(first))()).rejects.toThrow("401");
    expect((await admin("clients/no.such/secret", { method: "POST" })).status).toBe(404);
  });

  // shows: oauth/accounts/passwords
  // shows: operator/resources/put-without-clientsecret-or-password
  it("keeps a password through a PUT without one, and shows none", async () => {
    await realPasswordCost();
    const email = `${unique("eve")}@example.org`;
    await put(`users/${email}`, { password: "first password" });
    const hash = () =>
      env.DB.prepare("SELECT password_hash FROM user WHERE email = ?").bind(email).first<string>("password_hash");
    const before = await hash();
    expect(before).toMatch(/^scrypt\$15\$8\$1\$/);
    await put(`users/${email.toUpperCase()}`, { name: "Eve" });
    expect(await hash()).toBe(before);
    expect(await (await admin(`users/${email}`)).text()).not.toContain("scrypt");
  });
});

describe("paging", () => {
  // shows: platform/paging/following-next
  // shows: operator/conventions/collections
  it("follows next links through every row once, while others write", async () => {
    const prefix = unique("page");
    for (let n = 0; n < 7; n++) await put(`roles/${prefix}-${n}`, { scopes: [] });
    const seen: string[] = [];
    let url: string | undefined = "/admin/v1/roles?pageSize=3";
    for (let page = 0; url !== undefined && page < 100; page++) {
      const response: Response = await call(url, { token: await tokenFor(OPERATOR) });
      const link = response.headers.get("link") ?? "";
      for (const role of await expectJson<any[]>(response, 200)) seen.push(role.name);
      url = /<([^>]+)>; rel="next"/.exec(link)?.[1];
      expect(link.includes('rel="prev"')).toBe(page > 0);
      // A row before the cursor appears and another one disappears. Neither makes the list skip or repeat rows.
      await put(`roles/0${prefix}-${page}`, { scopes: [] });
    }
    const own = seen.filter((name) => name.startsWith(prefix));
    expect(own).toEqual([0, 1, 2, 3, 4, 5, 6].map((n) => `${prefix}-${n}`));
  });

  it.each([
    "pageNumber=0",
    "pageNumber=-1",
    "pageNumber=x",
    "pageSize=0",
    "pageSize=1001",
    "pageSize=1e3",
    "pageSize=",
  ])("refuses %s", async (query) => {
    const refused = await expectJson(await admin(`roles?${query}`), 400);
    expect(refused).toMatchObject({ type: "validation_violation", details: [{ type: "out_of_range_parameter" }] });
  });

  // shows: platform/paging/link
  it.each(["roles?", "clients?", "audit?action=put&"])(
    "%s: prev is there where the page before has rows",
    async (list) => {
      await put(`roles/${unique("prev")}`, { scopes: [] });
      const relsOf = async (query: string) =>
        Array.from(((await admin(list + query)).headers.get("link") ?? "").matchAll(/rel="(\w+)"/g), ([, rel]) => rel);
      expect(await relsOf("pageSize=1000&pageNumber=2")).toEqual(["self", "prev"]);
      expect(await relsOf("pageSize=1000&pageNumber=3")).toEqual(["self"]);
      expect(await relsOf("pageSize=1&pageNumber=1")).toEqual(["self", "next"]);
    },
  );

  it("keeps links short enough for clients, with any other parameters", async () => {
    const link = (await admin(`roles?pageSize=1&x=${"a".repeat(8_000)}`)).headers.get("link") ?? "";
    const base = `${ORIGIN}/admin/v1/roles?pageNumber`;
    expect(link).toMatch(
      new RegExp(
        `^<${base.replaceAll("?", "[?]")}=1&pageSize=1>; rel="self", <${base.replaceAll("?", "[?]")}=2&[^>]*>`,
      ),
    );
    expect(link).not.toContain("aaa");
  });

  // shows: operator/conventions/collections
  it("refuses a cursor that is not from a link, and jumps by number", async () => {
    for (const cursor of ["x", "e30", "bnVsbA", "_____", "W1tdXQ", "WzFd"])
      expect((await admin(`roles?cursor=${cursor}`)).status).toBe(400);
    expect((await admin(`audit?cursor=${btoa('["abc"]').replace(/=+$/, "")}`)).status).toBe(400);
    const all = await expectJson<any[]>(await admin("roles?pageSize=1000"), 200);
    const second = await expectJson<any[]>(await admin("roles?pageSize=2&pageNumber=2"), 200);
    expect(second).toEqual(all.slice(2, 4));
  });
});

describe("patterns of names", () => {
  const x = (count: number) => "x".repeat(count);
  // shows: platform/patterns/tenant
  // shows: platform/patterns/client-name
  it.each([
    ["tenants", ["abc", `a${x(15)}`, "a12"], ["ab", `a${x(16)}`, "1bc", "a-c", "Abc", "abü"]],
    [
      "clients",
      ["abc.ab", `a${x(14)}1.a${x(22)}2`, "a-b.c-d"],
      [
        "abc",
        "ab.ab",
        "abc.a",
        "-bc.ab",
        "abc.-b",
        "abc-.ab",
        "abc.ab-",
        "abc.ab.ab",
        "Abc.ab",
        `a${x(16)}.ab`,
        `abc.a${x(24)}`,
      ],
    ],
  ])("of %s accept %j and refuse %j", async (collection, taken, refused) => {
    const tenant = await makeTenant();
    const ofTenant = { organization: `${tenant}-org`, name: "x" };
    const body = collection === "tenants" ? ofTenant : { tenant, confidential: false, grantTypes: [], scopes: [] };
    const statusOf = async (id: string) =>
      (await admin(`${collection}/${encodeURIComponent(id)}`, { method: "PUT", json: body })).status;
    for (const id of taken) {
      expect([id, await statusOf(id)]).toEqual([id, 201]);
      expect((await admin(`${collection}/${id}`, { method: "DELETE" })).status).toBe(204);
    }
    for (const id of refused) expect([id, await statusOf(id)]).toEqual([id, 400]);
  });

  // shows: platform/patterns/scope
  // shows: oauth/access-tokens/client-secrets
  it("allow scopes of 256 characters, and secrets from 32 on", async () => {
    const statusOf = async (scope: string) =>
      (await admin(`roles/${unique("role")}`, { method: "PUT", json: { scopes: [scope] } })).status;
    for (const scope of ["a", "Az09._=*-", x(256)]) expect([scope, await statusOf(scope)]).toEqual([scope, 201]);
    for (const scope of ["", x(257), "a b", "a/b", "a:b", "ü"])
      expect([scope, await statusOf(scope)]).toEqual([scope, 400]);
    const tenant = await makeTenant();
    const json = { tenant, confidential: true, grantTypes: [], scopes: [] };
    const withSecret = async (clientSecret: string) =>
      (await admin(`clients/${tenant}.app`, { method: "PUT", json: { ...json, clientSecret } })).status;
    expect([await withSecret(x(31)), await withSecret(x(32))]).toEqual([400, 201]);
  });
});

describe("the audit row of a change", () => {
  const rowsOf = async (subject: string): Promise<any[]> => {
    const all = await expectJson<any[]>(await admin(`audit?subject=${encodeURIComponent(subject)}&pageSize=100`), 200);
    return all.filter((row) => row.subject === subject).toReversed();
  };

  it("lists the fields of a new and of a removed resource, and is missing for a PUT that changes nothing", async () => {
    for (const [noun, { path, json }] of Object.entries(await examples())) {
      await put(path, json);
      for (const status of [200, 200]) expect((await admin(path, { method: "PUT", json })).status, noun).toBe(status);
      await put(path, await expectJson<object>(await admin(path), 200));
      const rows = await rowsOf(path);
      expect(rows, noun).toHaveLength(1);
      expect(rows[0], noun).toMatchObject({ action: "put", reason: "created" });
      const named = (rows[0].changes ?? []).map(({ field }: { field: string }) => field);
      expect(named, noun).toEqual(expect.arrayContaining(Object.keys(json).filter((name) => noEmptyList(json, name))));
      await admin(path, { method: "DELETE" });
      const removal = (await rowsOf(path))[1];
      expect(removal, noun).toMatchObject({ action: "delete" });
      expect(
        removal.changes?.map(({ field }: { field: string }) => field),
        noun,
      ).toEqual(rows[0].changes?.map((one: any) => one.field));
      expect(removal.changes?.filter((one: object) => "to" in one || "added" in one) ?? [], noun).toEqual([]);
    }
    expect(await env.DB.prepare("SELECT count(*) AS n FROM audit_state").first("n")).toBe(0);
  });
  const noEmptyList = (json: object, name: string) =>
    !(Array.isArray((json as any)[name]) && (json as any)[name].length === 0);

  it("shows the old and the new name of a user, and only that a password changed", async () => {
    const path = `users/${unique("eve")}@example.org`;
    await put(path, { name: "Eve", password: "the first password" });
    await put(path, { name: "Eve\u202e", password: "the first password" });
    await put(path, { name: "Eve\u202e", password: "the second password", disabled: true });
    expect((await rowsOf(path)).map((row) => row.changes)).toEqual([
      [
        { field: "name", to: "Eve" },
        { field: "picture", to: "" },
        { field: "locale", to: "" },
        { field: "password" },
        { field: "disabled", to: false },
      ],
      [{ field: "name", from: "Eve", to: "Eve\uFFFD" }],
      [{ field: "password" }, { field: "disabled", from: false, to: true }],
    ]);
  });

  it("shows added and removed elements of a client's lists, that a secret changed, and no reordering", async () => {
    const { clientId, tenant } = await makeClient({ scopes: ["a.b", "a.c"] });
    const path = `clients/${clientId}`;
    const base = { tenant, confidential: true, grantTypes: ["client_credentials"] };
    const before = (await rowsOf(path)).length;
    await put(path, { ...base, scopes: ["a.c", "a.b"] });
    await put(path, { ...base, scopes: ["a.c", "a.d"], redirectUris: ["https://attacker.example/cb"] });
    await put(path, {
      ...base,
      scopes: Array.from({ length: 60 }, (_, at) => `a.c${at}`),
      clientSecret: "s".repeat(40),
    });
    await put(path, { ...base, scopes: [], clientSecret: "s".repeat(40), requirePkce: true });
    await admin(`${path}/secret`, { method: "POST" });
    const rows = (await rowsOf(path)).slice(before);
    expect(rows[0].changes).toEqual([
      { field: "redirectUris", added: ["https://attacker.example/cb"] },
      { field: "scopes", added: ["a.d"], removed: ["a.b"] },
    ]);
    expect(rows[1].changes.map(({ field }: any) => field)).toEqual(["redirectUris", "scopes", "clientSecret"]);
    expect(rows[1].changes[1].added).toHaveLength(41);
    expect(rows[1].changes[1].added[40]).toBe("…and more");
    expect(rows[2].changes.map(({ field }: any) => field)).toEqual(["scopes", "requirePkce"]);
    expect(rows[3]).toMatchObject({ action: "rotate secret", changes: [{ field: "clientSecret" }] });
    expect(rows).toHaveLength(4);
  });

  it("shows a tenant's quota and a member's roles", async () => {
    const { path, json } = (await examples())["tenant"]!;
    await put(path, { ...json, quota: { files: 3 } });
    await put(path, { ...json, quota: { files: 3, bytes: 9 } });
    await put(path, { ...json, quota: {} });
    expect((await rowsOf(path)).slice(1).map((row) => row.changes)).toEqual([
      [{ field: "quota", from: { files: 3 }, to: { files: 3, bytes: 9 } }],
      [{ field: "quota", from: { files: 3, bytes: 9 }, to: {} }],
    ]);
    const member = (await examples())["tenant member"]!;
    const { roles } = member.json as { roles: string[] };
    await put(member.path, member.json);
    await put(member.path, { roles: [] });
    expect((await rowsOf(member.path)).at(-1).changes).toEqual([{ field: "roles", removed: roles }]);
  });

  it("begins where the previous one ended, even among concurrent changes", async () => {
    const path = `organizations/${unique("org")}`;
    const names = Array.from({ length: 12 }, (_, at) => `Name ${at % 5}`);
    await put(path, { name: "first" });
    await Promise.all(names.map((name) => put(path, { name })));
    const stored = await rowsOf(path);
    expect(stored.length).toBeGreaterThan(5);
    let is: unknown;
    for (const { changes } of stored) {
      expect(changes).toEqual([{ field: "name", ...(is !== undefined && { from: is }), to: expect.any(String) }]);
      expect(changes[0].to).not.toBe(is);
      is = changes[0].to;
    }
    expect(await expectJson(await admin(path), 200)).toMatchObject({ name: is });
  });
});

it("a list of all users or clients leaves one audit row for all its pages", async () => {
  const rows = async () =>
    (await env.DB.prepare("SELECT subject, actor FROM audit_entry WHERE action = 'list' ORDER BY subject").all())
      .results;
  const own = isolate();
  const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}` };
  await env.DB.exec("DELETE FROM audit_entry WHERE action = 'list'");
  for (const path of ["users", "users?pageSize=1&pageNumber=2", "clients", "roles", "tenants"])
    expect((await own.fetch(`/admin/v1/${path}`, { headers })).status).toBe(200);
  expect(await rows()).toEqual(["clients", "users"].map((subject) => ({ subject, actor: OPERATOR.clientId })));
});

describe("a PUT that leaves fields out", () => {
  it.each(["user", "client", "tenant"])("keeps a disabled %s disabled", async (kind) => {
    const { path, json } = (await examples())[kind]!;
    await put(path, { ...json, disabled: true });
    const renamed = await expectJson(await admin(path, { method: "PUT", json }), 200);
    expect(renamed.disabled).toBe(true);
    expect((await put(path, { ...json, disabled: false })).disabled).toBe(false);
    expect((await put(path, json)).disabled).toBe(false);
    expect((await admin(path, { method: "PUT", json: { ...json, disabled: null } })).status).toBe(400);
  });

  it("keeps a tenant's quota; {} removes it, another one replaces it", async () => {
    const { path, json } = (await examples())["tenant"]!;
    await put(path, { ...json, quota: { files: 3, bytes: 100 } });
    expect((await put(path, { ...json, name: "Other" })).quota).toEqual({ files: 3, bytes: 100 });
    expect((await put(path, { ...json, quota: { bytes: 7 } })).quota).toEqual({ bytes: 7 });
    expect((await put(path, { ...json, quota: {} })).quota).toEqual({});
  });
});
