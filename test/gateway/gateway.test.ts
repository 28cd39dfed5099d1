import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { createDeps } from "../../src/deps.ts";
import { targetOf } from "../../src/gateway/forward/target.ts";
import { counting } from "../support/counting.ts";
import { isolate } from "../support/isolate.ts";
import { answerAt, answerJson, requestsTo } from "../support/outside.ts";
import { call, expectJson, ORIGIN } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { join, makeUser } from "../support/users.ts";
import { runs } from "../support/model-runs.ts";

interface Made {
  readonly name: string;
  readonly source: string;
  readonly path: string;
  readonly tenant: string;
  readonly clientId: string;
  /** Token of a client of the service's own tenant. */
  readonly token: string;
  readonly body: object;
}

/** A service with its own host, which answers `{}` at `/`. */
async function makeService(more: object = {}): Promise<Made> {
  const name = unique("svc-");
  const tenant = await makeTenant({ subscribed: false });
  const source = `https://${name}.example.com/v1`;
  const path = `/${name}/v1`;
  const body = { sourceUrl: source, proxyPath: path, scopes: [], essential: false, tenant, access: "token", ...more };
  await put(`services/${name}`, body);
  const client = await makeClient({ tenant, scopes: [] });
  await answerJson(`${source}/`, {});
  return { name, source, path, tenant, clientId: client.clientId, token: await tokenFor(client), body };
}

/** The headers of this request as the service got them. */
async function headersAt(service: Made, headers: Record<string, string>): Promise<Record<string, string>> {
  await expectJson(await call(`${service.path}/`, { token: service.token, headers }), 200);
  const [seen] = await requestsTo(`${service.source}/`);
  return seen!.headers;
}

async function answered(service: Made, headers: Record<string, string>): Promise<Headers> {
  await answerAt(`${service.source}/answer`, { headers, body: "{}" });
  const response = await call(`${service.path}/answer`, { token: service.token });
  await response.text();
  return response.headers;
}

afterEach(() => void vi.useRealTimers());

describe("the target of a request", () => {
  // shows: gateway/where-a-request-goes/method-query-body
  it("is the service below its proxy path, with the rest of the path and the query as they were sent", async () => {
    const { source, path, token } = await makeService();
    for (const [given, target] of [
      ["/products/1?a=b%20c&a=+", "/products/1?a=b%20c&a=+"],
      ["/a%2Fb/%C3%BC//c;v=1/", "/a%2Fb/%C3%BC//c;v=1/"],
      ["/x/../y", "/y"],
      ["?q=%2e%2e%2f", "?q=%2e%2e%2f"],
      ["", ""],
    ] as const) {
      const [at = ""] = target.split("?");
      await answerJson(`${source}${at}`, { self: `${source}${target}` });
      const response = await call(`${path}${given}`, { token });
      expect(await expectJson(response, 200)).toEqual({ self: `${ORIGIN}${path}${target}` });
      expect((await requestsTo(`${source}${at}`)).map(({ url }) => url)).toEqual([`${source}${target}`]);
    }
  });

  it.each([
    "/..%2fadmin",
    "/%2e%2e%2fadmin",
    "/a/..%5c..%5cadmin",
    "/a/%2e%2e%2f%2e%2e/admin",
    "/..%252fadmin",
    "/..;/admin",
    "/a/..;x=1/..;y/admin",
    "/..%3b%2fadmin",
  ])("is never above the service: %s", async (rest) => {
    const { path, token } = await makeService();
    expect(await expectJson(await call(`${path}${rest}`, { token }), 400)).toMatchObject({
      type: "validation_violation",
      details: [{ type: "invalid_uri_parameter" }],
    });
  });

  it("is never another host, nor above the service, for any path", () => {
    const pieces = [
      "..",
      "%2e",
      "%2F",
      "%5c",
      "\\",
      "/",
      "//",
      ".",
      "a",
      "@",
      ":",
      "evil.example",
      "%00",
      ";x",
      "%25",
      "2e",
      "?",
      "#",
    ];
    const paths = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => `/s/${parts.join("")}`);
    fc.assert(
      fc.property(paths, (given) => {
        const asked = new URL(given, "https://plinth.test");
        fc.pre(asked.pathname.startsWith("/s/"));
        const target = targetOf("https://private.example:8443/v1", asked.pathname.slice(2), asked.search);
        if (!target.ok) return;
        const { href, pathname } = new URL(target.value);
        expect(href).toBe(`https://private.example:8443/v1${asked.pathname.slice(2)}${asked.search}`);
        // The path as a server reads it that decodes it before it resolves dots.
        const decoded = pathname.replaceAll(/%2e/gi, ".").replaceAll(/%2f|%5c/gi, "/");
        expect(new URL(decoded.replaceAll(/\/+/g, "/"), "https://private.example").pathname).toMatch(/^\/v1(\/|$)/);
      }),
      { numRuns: runs(1_000) },
    );
  });

  // shows: platform/addresses/any-other-path
  // shows: gateway/where-a-request-goes/proxy-path
  it("is the service with the longest proxy path of whole segments", async () => {
    const outer = await makeService();
    const inner = await makeService({ tenant: outer.tenant, proxyPath: `${outer.path}/inner/deep` });
    for (const [path, source] of [
      [`${outer.path}/inner/deep/x`, `${inner.source}/x`],
      [`${outer.path}/inner/deeper`, `${outer.source}/inner/deeper`],
      [`${outer.path}/inner`, `${outer.source}/inner`],
    ] as const) {
      await answerJson(source, { at: source });
      expect((await call(path, { token: outer.token })).status).toBe(200);
      expect(await requestsTo(source)).toHaveLength(1);
    }
    for (const path of [`${outer.path}x`, outer.path.slice(0, -1), `/x${outer.path}`, "/nothing"])
      expect((await call(path, { token: outer.token })).status, path).toBe(404);
  });

  it("is below the path prefix and the public address", async () => {
    const { path, source } = await makeService({ access: "public" });
    const prefixed = isolate({ PATH_PREFIX: "/hybris", PUBLIC_URL: "https://api.example.com" });
    await answerJson(`${source}/`, { self: `${source}/a` });
    const response = await prefixed.fetch(`/hybris${path}/`);
    expect(await expectJson(response, 200)).toEqual({ self: `https://api.example.com/hybris${path}/a` });
    const [seen] = await requestsTo(`${source}/`);
    expect(seen!.headers).toMatchObject({
      "x-forwarded-host": "api.example.com",
      "x-forwarded-proto": "https",
      "x-forwarded-prefix": `/hybris${path}`,
    });
    for (const at of [`${path}/`, `/hybrisx${path}/`]) expect((await prefixed.fetch(at)).status).toBe(404);
  });

  it("is refused if the address may not be called any more, or the request goes in circles", async () => {
    const local = await makeService({ sourceUrl: "http://127.0.0.1:9/v1", access: "public" });
    const deployed = isolate({ ALLOW_LOOPBACK: "false" });
    expect(await expectJson(await deployed.fetch(`${local.path}/`), 503)).toMatchObject({
      type: "service_temporarily_unavailable",
      message: expect.stringContaining(local.name),
    });
    const { path, source, token } = await makeService();
    const via = (hops: number) => Array.from({ length: hops }, () => "1.1 plat-gateway").join(", ");
    expect((await call(`${path}/`, { token, headers: { via: via(4) } })).status).toBe(200);
    expect((await requestsTo(`${source}/`))[0]!.headers["via"]).toBe(via(5));
    expect((await call(`${path}/`, { token, headers: { via: via(5) } })).status).toBe(503);
    expect(await requestsTo(`${source}/`)).toEqual([]);
  });

  // shows: gateway/where-a-request-goes/no-service
  it("follows the operator's changes: here at once, elsewhere within 30 s", async () => {
    const { name, path, source, token, body } = await makeService({ access: "public" });
    const elsewhere = isolate();
    expect((await elsewhere.fetch(`${path}/`)).status).toBe(200);
    const moved = `https://${unique("moved-")}.example.com`;
    await answerJson(`${moved}/`, { moved: true });
    // A slash at the end has no meaning.
    await put(`services/${name}`, { ...body, sourceUrl: `${moved}/` });
    expect(await expectJson(await call(`${path}/`, { token }), 200)).toEqual({ moved: true });
    expect((await elsewhere.fetch(`${path}/`)).status).toBe(200);
    expect(await requestsTo(`${source}/`)).toHaveLength(2);
    await call(`/admin/v1/services/${name}`, { method: "DELETE", token: await tokenFor(OPERATOR) });
    expect((await call(`${path}/`, { token })).status).toBe(404);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 30_001 });
    expect((await elsewhere.fetch(`${path}/`)).status).toBe(404);
  });
});

describe("access to a service", () => {
  // shows: gateway/who-may-call/access-token
  it("needs a valid token with access `token`", async () => {
    const { path, source, token } = await makeService();
    for (const headers of [{}, { authorization: "Basic YTpi" }, { authorization: `Bearer ${token}x` }]) {
      const refused = await call(`${path}/`, { headers: headers as Record<string, string> });
      expect(refused.headers.get("www-authenticate")).toMatch(/^Bearer /);
      expect(refused.headers.get("access-control-allow-origin")).toBe("*");
      expect(await expectJson(refused, 401)).toMatchObject({ type: "insufficient_credentials" });
    }
    expect(await requestsTo(`${source}/`)).toEqual([]);
  });

  // shows: gateway/who-may-call/access-public
  it("is open with access `public`, except to an invalid token", async () => {
    const { path, source, token, tenant } = await makeService({ access: "public" });
    for (const headers of [{}, { authorization: "Basic YTpi" }] as Record<string, string>[]) {
      expect((await call(`${path}/`, { headers: { ...headers, "plat-tenant": tenant } })).status).toBe(200);
      const [seen] = await requestsTo(`${source}/`);
      expect(seen!.headers).not.toHaveProperty("plat-tenant");
      expect(seen!.headers["authorization"]).toBe(headers["authorization"]);
    }
    expect((await call(`${path}/`, { token: `${token}x` })).status).toBe(401);
    expect(await requestsTo(`${source}/`)).toEqual([]);
    expect((await call(`${path}/`, { token })).status).toBe(200);
    expect((await requestsTo(`${source}/`))[0]!.headers["plat-tenant"]).toBe(tenant);
  });

  // shows: gateway/who-may-call/no-access-to-the-service
  it("belongs to a tenant as long as its packages include the service", async () => {
    const service = await makeService();
    const { name, path, source, tenant: owner } = service;
    const stranger = await makeClient({ scopes: [] });
    const token = await tokenFor(stranger);
    const refused = await expectJson(await call(`${path}/`, { token }), 403);
    expect(refused).toMatchObject({ type: "insufficient_permissions" });
    expect(refused.message).toContain(stranger.tenant);
    expect(refused.message).toContain(name);
    expect(await requestsTo(`${source}/`)).toEqual([]);

    await put(`packages/${name}`, { version: "1", organization: `${owner}-org`, services: [name] });
    await put(`tenants/${stranger.tenant}/subscriptions/${name}`, {});
    expect((await call(`${path}/`, { token })).status).toBe(200);
    const cancelled = { method: "DELETE", token: await tokenFor(OPERATOR) };
    await call(`/admin/v1/tenants/${stranger.tenant}/subscriptions/${name}`, cancelled);
    expect((await call(`${path}/`, { token })).status).toBe(403);
    await put(`services/${name}`, { ...service.body, essential: true });
    expect((await call(`${path}/`, { token })).status).toBe(200);
    await put(`services/${name}`, { ...service.body, access: "public" });
    expect((await call(`${path}/`, { token })).status).toBe(403);
  });
});

describe("access to any service", () => {
  it.each<[string, (service: Made) => Promise<unknown>]>([
    ["a client that is disabled", ({ clientId, tenant }) => put(`clients/${clientId}`, clientOf(tenant))],
    ["a tenant that is disabled", ({ tenant }) => put(`tenants/${tenant}`, tenantOf(tenant))],
    ["a client that was revoked", async ({ clientId }) => revoke(`clients/${clientId}`)],
    ["a tenant that was revoked", async ({ tenant }) => revoke(`tenants/${tenant}`)],
  ])("ends for %s", async (_, end) => {
    for (const more of [{}, { essential: true }, { access: "public" }]) {
      const service = await makeService(more);
      const asked = (): Promise<Response> => call(`${service.path}/`, { token: service.token });
      expect((await asked()).status).toBe(200);
      await end(service);
      expect(await expectJson(await asked(), 401)).toMatchObject({ type: "insufficient_credentials" });
      expect(await requestsTo(`${service.source}/`)).toHaveLength(1);
    }
  });
  const clientOf = (tenant: string): object => ({
    tenant,
    confidential: true,
    scopes: [],
    grantTypes: ["client_credentials"],
    disabled: true,
  });
  const tenantOf = (tenant: string): object => ({ organization: `${tenant}-org`, name: "x", disabled: true });
  const revoke = async (what: string): Promise<Response> =>
    call(`/admin/v1/${what}/revoke`, { method: "POST", token: await tokenFor(OPERATOR) });
});

describe("a request to a service", () => {
  // shows: gateway/towards-the-service/authorization-the-caller-s-own-tenant
  // shows: gateway/towards-the-service/plat-tenant-plat-client-plat-scopes
  // shows: gateway/towards-the-service/those-of-the-caller
  it("names the caller by its token, and never by the caller's own headers", async () => {
    const service = await makeService();
    const headers = await headersAt(service, {
      "plat-tenant": "forged",
      "Plat-Client": "forged",
      plat_user: "forged",
      "plat.tenant": "forged",
      "plat+scopes": "forged",
      "x.forwarded.for": "forged",
      "plat-scopes": "forged",
      "plat-anything": "forged",
      "plat-request-id": "forged",
      x_forwarded_for: "forged",
      "x-forwarded-for": "forged",
      "x-forwarded-prefix": "forged",
      forwarded: "for=forged",
      "x-real-ip": "forged",
      "x-original-url": "/forged",
    });
    expect(JSON.stringify(headers)).not.toContain("forged");
    expect(headers).toMatchObject({
      authorization: `Bearer ${service.token}`,
      "plat-tenant": service.tenant,
      "plat-client": service.clientId,
      "plat-scopes": `plat.tenant=${service.tenant}`,
      "plat-request-id": expect.stringMatching(/^[0-9a-f]{32}$/),
      "x-forwarded-proto": "https",
      "x-forwarded-host": new URL(ORIGIN).host,
      "x-forwarded-prefix": service.path,
      host: new URL(service.source).host,
      via: "1.1 plat-gateway",
    });
    expect(headers).not.toHaveProperty("plat-user");
  });

  // shows: gateway/towards-the-service/plat-session-id
  it("has the caller's session id, or a new one if that is missing or invalid", async () => {
    const service = await makeService();
    const idFor = async (given: string | undefined): Promise<string> => {
      const headers: Record<string, string> = given === undefined ? {} : { "plat-session-id": given };
      return (await headersAt(service, headers))["plat-session-id"]!;
    };
    const own = ["mine-1", "q83v+/8=", "00-4bf92f_~.1:2@3-4%20*!$", "x".repeat(128)];
    for (const id of own) expect(await idFor(id)).toBe(id);
    const unfit = ["", "a b", "a,b", "a;b", 'a"b', "a\\b", "a<b", "x".repeat(129)];
    const made: string[] = [];
    for (const id of [undefined, ...unfit]) made.push(await idFor(id));
    for (const id of made) expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(made).size).toBe(made.length);
  });

  it("has the caller's headers, without those of the connection and the platform's cookies", async () => {
    const service = await makeService();
    const headers = await headersAt(service, {
      accept: "application/json",
      "x-custom": "kept",
      "x-secret": "dropped",
      connection: "keep-alive, X-Secret, Plat-Tenant, Via",
      "keep-alive": "timeout=5",
      te: "trailers",
      cookie: "a=1; plat_session=secret; __Host-plat_session=secret; b=2; __Host-plat_browser=secret",
      "if-match": `W/"x", "y", W/"z"`,
    });
    expect(headers).toMatchObject({ accept: "application/json", "x-custom": "kept", "if-match": `"x", "y", "z"` });
    expect(headers["cookie"]).toBe("a=1; b=2");
    for (const name of ["x-secret", "keep-alive", "te"]) expect(headers).not.toHaveProperty(name);
    // The caller cannot remove the platform's headers.
    expect(headers).toMatchObject({ "plat-tenant": service.tenant, via: "1.1 plat-gateway" });
    for (const cookie of ["plat_session=secret", "=plat_session=secret", "; plat_session=secret,plat_browser=secret"])
      expect(await headersAt(service, { cookie }), cookie).not.toHaveProperty("cookie");
    // Two headers as the runtime joins them; a value with a comma is the caller's own.
    const both = { cookie: "a=1, plat_session=secret; b=2,3, __Secure-PLAT_x=secret" };
    expect((await headersAt(service, both))["cookie"]).toBe("a=1; b=2,3");
  });

  it("is refused with more headers than the limit", async () => {
    const { path, source, token } = await makeService();
    const refused = await call(`${path}/`, { token, headers: { "x-large": "a".repeat(33_000) } });
    expect(await expectJson(refused, 400)).toMatchObject({ details: [{ type: "invalid_header" }] });
    expect(await requestsTo(`${source}/`)).toEqual([]);
  });
});

describe("the response to a caller", () => {
  // shows: oauth/proxy-address-rewriting/source-url-to-proxy-url
  // shows: oauth/proxy-address-rewriting/header-link
  // shows: oauth/proxy-address-rewriting/header-location
  // shows: oauth/proxy-address-rewriting/other-addresses
  // shows: gateway/rewriting/link-location
  // shows: gateway/rewriting/content-length-etag
  it("is the service's response, with public addresses in Link and Location", async () => {
    const service = await makeService();
    const { source, path } = service;
    const headers = await answered(service, {
      "content-type": "application/json",
      link: `<${source}/a?p=2>; rel="next", <${source}>; rel=self, <https://other.example/?${source}>; rel=up, </rel>; rel=x`,
      location: `${source}/made/1`,
      "x-custom": `kept ${source}`,
      etag: '"strong"',
      "content-md5": "x",
      digest: "x",
      "cache-control": "max-age=5",
    });
    const shown = `${ORIGIN}${path}`;
    expect(headers.get("link")).toBe(
      `<${shown}/a?p=2>; rel="next", <${shown}>; rel=self, <https://other.example/?${source}>; rel=up, </rel>; rel=x`,
    );
    expect(headers.get("location")).toBe(`${shown}/made/1`);
    const elsewhere = `https://else.example/login?back=${source}/x`;
    expect((await answered(service, { location: elsewhere })).get("location")).toBe(elsewhere);
    expect(headers.get("x-custom")).toBe(`kept ${source}`);
    expect([headers.get("etag"), headers.get("content-md5"), headers.get("digest")]).toEqual([
      'W/"strong"',
      null,
      null,
    ]);
    expect(headers.get("cache-control")).toBe("max-age=5");
  });

  it("has no header that speaks for the platform or its host", async () => {
    const service = await makeService();
    const headers = await answered(service, {
      "plat-request-id": "forged",
      "plat-tenant": "forged",
      "clear-site-data": '"*"',
      "strict-transport-security": "max-age=1",
      "alt-svc": "h3",
      "service-worker-allowed": "/",
      "set-cookie": "__Host-plat_session=forged; Path=/",
      connection: "x-hop",
      "x-hop": "1",
    });
    expect(JSON.stringify([...headers])).not.toContain("forged");
    expect(headers.get("plat-request-id")).toMatch(/^[0-9a-f]{32}$/);
    for (const name of ["clear-site-data", "strict-transport-security", "alt-svc", "service-worker-allowed", "x-hop"])
      expect(headers.has(name), name).toBe(false);
    expect((await answered(service, { "set-cookie": "=plat_session=forged; Path=/" })).getSetCookie()).toEqual([]);
  });

  // shows: gateway/what-a-browser-makes-of-it/documents
  it("puts a document into a sandbox and keeps the service's policies, unless the service is trusted", async () => {
    const [service, trusted] = [await makeService(), await makeService({ trusted: true })];
    const policyOf = async (from: Made, headers: Record<string, string>): Promise<string | null> =>
      (await answered(from, headers)).get("content-security-policy");
    const html = { "content-type": "text/html; charset=utf-8" };
    for (const type of [
      "text/html",
      "TEXT/HTML; a=b",
      "application/xhtml+xml",
      "image/svg+xml",
      "text/xml",
      "multipart/x-mixed-replace; boundary=x",
      "text/plain, text/html",
      "text/html, text/plain",
      "*/*x",
      "html",
      "unknown/unknown",
      "application/unknown",
    ]) {
      const policy = await policyOf(service, { "content-type": type });
      expect(policy, type).toMatch(/^sandbox allow-scripts /);
      expect(policy, type).not.toContain("allow-same-origin");
      expect(await policyOf(trusted, { "content-type": type }), type).toBeNull();
    }
    for (const type of ["application/json", "text/plain;charset=utf-8", "application/pdf", "image/png", "text/css"])
      expect(await policyOf(service, { "content-type": type }), type).toBeNull();
    const own = "default-src 'self'; sandbox allow-same-origin";
    expect(await policyOf(service, { ...html, "content-security-policy": own })).toMatch(/^sandbox [^,]*, default-src/);
    expect(await policyOf(trusted, { ...html, "content-security-policy": own })).toBe(own);
    // The policy of a 304 replaces the one that a browser stored.
    for (const [headers, policy] of [
      [{ "content-security-policy": own }, expect.stringMatching(/^sandbox allow-scripts [^,]*, default-src/)],
      [{}, null],
    ] as const) {
      await answerAt(`${service.source}/kept`, { status: 304, headers });
      const kept = await call(`${service.path}/kept`, { token: service.token });
      expect(kept.headers.get("content-security-policy")).toEqual(policy);
    }
  });

  // shows: gateway/what-a-browser-makes-of-it/cookies
  it("limits a cookie to the service, unless the service is trusted", async () => {
    const [service, trusted] = [await makeService(), await makeService({ trusted: true })];
    const { path } = service;
    for (const [given, got] of [
      ["cart=1; Path=/", `cart=1; Path=${path}`],
      ["cart=1", `cart=1; Path=${path}`],
      [
        "cart=a=b; Secure; Domain=plinth.test; HttpOnly; Max-Age=5",
        `cart=a=b; Secure; HttpOnly; Max-Age=5; Path=${path}`,
      ],
      ["cart=1; path=/v1/a/", `cart=1; Path=${path}/a`],
      [`cart=1; PATH = ${path}/b; path=x`, `cart=1; Path=${path}`],
      [`cart=1; path=x; PATH = ${path}/b`, `cart=1; Path=${path}/b`],
      ["cart=1; Path=/v10/a", `cart=1; Path=${path}`],
      ["__Host-cart=1; Secure; Path=/", undefined],
      ["__HOST-cart=1; Secure; Path=/", undefined],
      ["__Secure-cart=1; Secure", `__Secure-cart=1; Secure; Path=${path}`],
    ] as const) {
      expect((await answered(service, { "set-cookie": given })).getSetCookie(), given).toEqual(
        got === undefined ? [] : [got],
      );
      expect((await answered(trusted, { "set-cookie": given })).getSetCookie(), given).toEqual([given]);
    }
    const prefixed = isolate({ PATH_PREFIX: "/hybris" });
    const open = await makeService({ access: "public", sourceUrl: `https://${unique("open-")}.example.com` });
    const body = await (
      await call(`/admin/v1/services/${open.name}`, { token: await tokenFor(OPERATOR) })
    ).json<Made>();
    await answerAt(`${(body as any).sourceUrl}/c`, { headers: { "set-cookie": "a=1; Path=/x" } });
    expect((await prefixed.fetch(`/hybris${open.path}/c`)).headers.getSetCookie()).toEqual([
      `a=1; Path=/hybris${open.path}/x`,
    ]);
  });

  // shows: gateway/what-a-browser-makes-of-it/service-workers
  it("has no script for a service worker, unless the service is trusted", async () => {
    const [service, trusted] = [await makeService(), await makeService({ trusted: true })];
    const statusOf = async ({ path, token }: Made) =>
      (await call(`${path}/`, { token, headers: { "service-worker": "script" } })).status;
    expect([await statusOf(service), await statusOf(trusted)]).toEqual([403, 200]);
    expect(await requestsTo(`${service.source}/`)).toEqual([]);
  });

  it("is not for shared caches if a token was needed, unless the service says so", async () => {
    const service = await makeService();
    expect((await answered(service, {})).get("cache-control")).toBe("no-cache, private");
  });

  // shows: platform/other-origins-caches-headers/services
  it("is readable for any origin without credentials, even if the service says otherwise", async () => {
    const service = await makeService();
    for (const headers of [
      {},
      { "access-control-allow-credentials": "true" },
      {
        "access-control-allow-origin": "https://a.example",
        "access-control-allow-credentials": "true",
        "access-control-expose-headers": "x-total",
        "access-control-allow-methods": "GET",
        "access-control-max-age": "5",
        "x-total": "3",
      },
    ] as Record<string, string>[]) {
      const got = await answered(service, headers);
      expect([...got].filter(([name]) => name.startsWith("access-control-"))).toEqual([
        ["access-control-allow-origin", "*"],
        ["access-control-expose-headers", "*"],
      ]);
      expect(got.get("x-total")).toBe(headers["x-total"] ?? null);
    }
  });

  it("answers a preflight without a token; the service answers other OPTIONS", async () => {
    const { path, source, token } = await makeService();
    const preflight = await call(`${path}/`, {
      method: "OPTIONS",
      headers: {
        origin: "https://shop.example",
        "access-control-request-method": "PATCH",
        "access-control-request-headers": "authorization, x-custom",
      },
    });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      "access-control-allow-origin": "*",
      "access-control-allow-methods": expect.stringContaining("PATCH"),
      "access-control-allow-headers": "authorization, x-custom",
    });
    expect(preflight.headers.has("access-control-allow-credentials")).toBe(false);
    expect(await requestsTo(`${source}/`)).toEqual([]);
    expect((await call(`${path}/`, { method: "OPTIONS" })).status).toBe(401);
    expect((await call(`${path}/`, { method: "OPTIONS", token })).status).toBe(200);
    expect((await requestsTo(`${source}/`))[0]!.method).toBe("OPTIONS");
  });

  it("is the whole body for a range of a rewritten one, and the range of any other body", async () => {
    const { path, source, token } = await makeService();
    const range = { range: "bytes=0-3", "if-range": '"x"' };
    const part = { status: 206, headers: { "content-type": "application/json", "content-range": "bytes 0-3/60" } };
    const whole = { headers: { "content-type": "application/json", "accept-ranges": "bytes" }, body: `"${source}/a"` };
    await answerAt(`${source}/part`, [{ ...part, body: `"htt` }, whole]);
    const response = await call(`${path}/part`, { token, headers: range });
    expect([response.status, response.headers.get("accept-ranges")]).toEqual([200, null]);
    expect(await response.json()).toBe(`${ORIGIN}${path}/a`);
    const seen = await requestsTo(`${source}/part`);
    expect(seen.map(({ headers }) => [headers["range"], headers["if-range"]])).toEqual([
      ["bytes=0-3", '"x"'],
      [undefined, undefined],
    ]);

    for (const [method, headers] of [
      ["GET", range],
      ["GET", {}],
      ["POST", range],
    ] as const) {
      // The service sends a range that nobody requested.
      await answerAt(`${source}/parts`, { ...part, body: `"htt` });
      const refused = await call(`${path}/parts`, { method, token, headers });
      expect(await expectJson(refused, 503)).toMatchObject({ type: "service_temporarily_unavailable" });
    }

    const image = { "content-type": "image/png", "content-range": "bytes 0-3/60", etag: '"x"' };
    await answerAt(`${source}/image`, { status: 206, headers: image, body: "htt:" });
    const passed = await call(`${path}/image`, { token, headers: range });
    expect([passed.status, await passed.text()]).toEqual([206, "htt:"]);
    expect([passed.headers.get("content-range"), passed.headers.get("etag")]).toEqual(["bytes 0-3/60", '"x"']);
    expect(await requestsTo(`${source}/image`)).toHaveLength(1);
  });

  it("is a rewritten range with its headers if the range does not count bytes", async () => {
    const { path, source, token } = await makeService();
    const json = { "content-type": "application/json" };
    const all: readonly Record<string, string>[] = [
      { "content-range": "items 0-9/66", "accept-ranges": "items" },
      { "content-range": "0-24/3573" },
      {},
    ];
    for (const own of all) {
      await answerAt(`${source}/rows`, { status: 206, headers: { ...json, ...own }, body: `["${source}/a"]` });
      const wanted: Record<string, string> = own["accept-ranges"] === undefined ? {} : { range: "items=0-9" };
      const rows = await call(`${path}/rows`, { token, headers: wanted });
      expect([rows.status, await rows.json()]).toEqual([206, [`${ORIGIN}${path}/a`]]);
      for (const name of ["content-range", "accept-ranges"]) expect(rows.headers.get(name)).toBe(own[name] ?? null);
      const [asked, ...more] = await requestsTo(`${source}/rows`);
      expect([asked?.headers["range"], more]).toEqual([wanted["range"], []]);
    }
  });

  it("is 304 for the tag that the caller knows", async () => {
    const { path, source, token } = await makeService();
    await answerAt(`${source}/kept`, { status: 304, headers: { etag: '"x"' } });
    for (const tag of ['W/"x"', '"x"']) {
      const response = await call(`${path}/kept`, { token, headers: { "if-none-match": tag } });
      expect([response.status, response.headers.get("etag")]).toEqual([304, tag]);
    }
  });

  it("is 503 if Cloudflare answers in place of the service, and at once after three of them", async () => {
    const { path, source, token } = await makeService();
    await answerAt(`${source}/gone`, { status: 522 });
    for (let times = 0; times < 5; times++) {
      const refused = await call(`${path}/gone`, { token });
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(await expectJson(refused, 503)).toMatchObject({ type: "service_temporarily_unavailable" });
    }
    expect(await requestsTo(`${source}/gone`)).toHaveLength(3);
  });

  it("is not blocked for others if callers of one tenant or network choose the status", async () => {
    const { path, source } = await makeService({ essential: true, access: "public" });
    await answerAt(`${source}/status/521`, { status: 521 });
    const tenant = await makeTenant({ subscribed: false });
    const own = await Promise.all([1, 2, 3].map(async () => tokenFor(await makeClient({ tenant, scopes: [] }))));
    const other = await tokenFor(await makeClient({ scopes: [] }));
    const choose = async (token: string | undefined, network: string): Promise<void> => {
      const headers = { "cf-connecting-ip": network };
      const refused = await call(`${path}/status/521`, { headers, ...(token !== undefined && { token }) });
      await expectJson(refused, 503);
    };
    const statusFor = async (network: string): Promise<number> => {
      const response = await call(`${path}/`, { headers: { "cf-connecting-ip": network } });
      await response.text();
      return response.status;
    };
    // Clients of one tenant from anywhere, and any callers of one network.
    for (const [index, token] of own.entries()) await choose(token, `198.51.100.${index}`);
    expect(await statusFor("203.0.113.1")).toBe(200);
    for (const token of [own[0], other, undefined]) await choose(token, "198.51.100.7");
    expect(await statusFor("203.0.113.1")).toBe(200);
    // Two independent callers: neither tenant nor network is the same.
    await choose(own[1], "198.51.100.8");
    await choose(other, "198.51.100.9");
    await choose(undefined, "198.51.100.10");
    expect(await statusFor("203.0.113.1")).toBe(503);
  });
});

/** A fresh isolate that counts its calls; each sends these headers. */
function countedIsolate(headers: Record<string, string>) {
  const { env: counted, tally, reset } = counting(env);
  const app = createApp(createDeps(counted));
  const fetchOne = async (path: string): Promise<number> => {
    const context = createExecutionContext();
    const response = await app.fetch(new Request(`${ORIGIN}${path}`, { headers }), counted, context);
    await response.text();
    await waitOnExecutionContext(context);
    return response.status;
  };
  return { fetchOne, tally, reset };
}

describe("the cost of a request (ARCHITECTURE.md)", () => {
  it("is no call of D1 while token, registry and the tenant's record are fresh", async () => {
    const owner = await makeService();
    const stranger = await makeClient({ scopes: [] });
    await put(`packages/${owner.name}`, { version: "1", organization: `${owner.tenant}-org`, services: [owner.name] });
    await put(`tenants/${stranger.tenant}/subscriptions/${owner.name}`, {});
    const headers = { authorization: `Bearer ${await tokenFor(stranger)}` };
    const { fetchOne, tally, reset } = countedIsolate(headers);
    expect(await fetchOne(`${owner.path}/`)).toBe(200);
    // Queries of keys, registry and tenant.
    expect(tally.d1RoundTrips).toBe(3);
    reset();
    for (let times = 0; times < 3; times++) expect(await fetchOne(`${owner.path}/`)).toBe(200);
    for (let times = 0; times < 3; times++) expect(await fetchOne(`/${unique("nowhere")}`)).toBe(404);
    expect(tally).toMatchObject({ d1Statements: 0, d1RoundTrips: 0, objectCalls: {}, r2Operations: {}, auditRows: 0 });
  });

  it("is no query of the tenant if the service is essential or the tenant's own", async () => {
    const own = await makeService();
    const essential = await makeService({ essential: true });
    for (const { path } of [own, essential]) {
      const { fetchOne, tally } = countedIsolate({ authorization: `Bearer ${own.token}` });
      expect(await fetchOne(`${path}/`)).toBe(200);
      // Queries of keys and registry.
      expect(tally.d1RoundTrips).toBe(2);
    }
  });
});

describe("a request of a user to a service", () => {
  const tokenOf = async ({ email, password }: { email: string; password: string }): Promise<string> => {
    const form = { grant_type: "password", username: email, password, plat_id_provider: "legacy_idp" };
    return (await expectJson(await call("/oauth2/v1/token", { form }), 200)).access_token;
  };

  // shows: gateway/towards-the-service/plat-user
  // shows: gateway/towards-the-service/those-of-the-caller
  it("has the address, the scopes of the user's roles, and a client only if there is one", async () => {
    const service = await makeService({ essential: true });
    const user = await makeUser({ scopes: ["plat.media_view"] });
    const headers = await headersAt({ ...service, token: await tokenOf(user) }, { "plat-user": "forged" });
    expect(headers).toMatchObject({
      "plat-tenant": user.tenant,
      "plat-user": user.email,
      "plat-scopes": `plat.tenant=${user.tenant} plat.media_view`,
    });
    expect(headers).not.toHaveProperty("plat-client");
  });

  // shows: gateway/towards-the-service/plat-user
  it("has an address of any characters as percent-encoded UTF-8", async () => {
    const service = await makeService({ essential: true });
    const user = { email: `${unique("zoë%")}@example.org`, password: "a password of Zoë" };
    await put(`users/${encodeURIComponent(user.email)}`, { name: "Zoë", password: user.password });
    await join(user.email, service.tenant, []);
    const headers = await headersAt({ ...service, token: await tokenOf(user) }, {});
    expect(headers["plat-user"]).toMatch(/^zo%C3%AB%25[a-z0-9]+@example\.org$/);
    expect(decodeURIComponent(headers["plat-user"]!)).toBe(user.email);
  });
});

describe("the response of a source by plain http", () => {
  // shows: oauth/proxy-address-rewriting/application-json
  // shows: oauth/proxy-address-rewriting/text-plain
  // shows: oauth/proxy-address-rewriting/text-html
  // shows: oauth/proxy-address-rewriting/other-types
  // shows: oauth/proxy-address-rewriting/scheme
  it("has the public address with its scheme in the three rewritten types, and in no other", async () => {
    const source = `http://127.0.0.1:9/${unique("plain-")}`;
    const { path, token } = await makeService({ sourceUrl: source });
    const shown = `${ORIGIN}${path}`;
    const body = (address: string) => `<a href="${address}/a?b=c#d">${address}</a> http://127.0.0.1:9/other`;
    for (const [type, isScanned] of [
      ["application/json", true],
      ["text/plain; charset=utf-8", true],
      ["text/html", true],
      ["text/css", false],
      ["application/hal+json", false],
    ] as const) {
      const headers = { "content-type": type, location: `${source}/x?y#z` };
      await answerAt(`${source}/page`, { headers, body: body(source) });
      const response = await call(`${path}/page`, { token });
      expect([type, await response.text()]).toEqual([type, body(isScanned ? shown : source)]);
      expect(response.headers.get("location")).toBe(`${shown}/x?y#z`);
    }
    expect(shown).toMatch(/^https:/);
  });
});
