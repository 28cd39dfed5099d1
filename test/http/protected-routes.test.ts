import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { createDeps } from "../../src/deps.ts";
import type { Route } from "../../src/http/route.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { basic, tokenFor } from "../support/platform/tokens.ts";
import { isolate } from "../support/isolate.ts";
import { everyRoute, fill, named, pageRoutes } from "../support/route-table.ts";
import { shardBinding, shardsOf } from "../../src/platform/storage/shards.ts";

/**
 * Calls every route of the mounted tables without a token, with a broken, revoked or expired one, and with one that
 * lacks the scope. A new route is tested without a new line here. The tests of each service show that other clients and
 * tenants see nothing.
 */
const protectedRoutes = everyRoute.filter(({ route }) => route.access.kind !== "public");

const send = (base: string, route: Route, token?: string): Promise<Response> =>
  call(base + fill(route.path), {
    method: route.method,
    ...(token === undefined ? {} : { token }),
    ...(route.body.kind === "json" ? { json: {} } : {}),
  });

let weak: string;
let revoked: string;
beforeAll(async () => {
  const client: TestClient = await makeClient({ scopes: [] });
  weak = await tokenFor(client);
  revoked = await tokenFor(client);
  await call("/oauth2/v1/revoke", { form: { token: revoked }, headers: { authorization: basic(client) } });
});

async function expectRefusal(response: Response, status: number, type: string): Promise<void> {
  const body = await expectJson(response, status);
  expect(body).toMatchObject({
    status,
    type,
    message: expect.any(String),
    moreInfo: expect.stringContaining(`/docs/errors#${type}`),
    details: [],
  });
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("plat-request-id")).toMatch(/^[0-9a-f]{32}$/);
  expect(response.headers.get("access-control-allow-origin")).toBe("*");
}

describe("every protected route", () => {
  it("is in this suite", () => {
    expect(protectedRoutes.length).toBeGreaterThan(50);
  });

  // shows: oauth/errors/401-bearer-token
  // shows: events/what-the-service-does/every-operation-needs-a-token
  // shows: events/authentication/authorization-bearer
  // shows: events/error-object/status
  // shows: events/error-object/message
  // shows: events/error-object/moreinfo
  // shows: events/errors/401
  // shows: media/authentication/authorization-bearer
  // shows: platform/errors-of-every-service/401-insufficient_credentials
  it.each(named(protectedRoutes))("%s: answers 401 without a token, and says so", async (_, base, route) => {
    const response = await send(base, route);
    await expectRefusal(response.clone(), 401, "insufficient_credentials");
    expect(response.headers.get("www-authenticate")).toBe('Bearer realm="plat"');
    expect((await response.json<any>()).message).toMatch(/no access token/);
  });

  // shows: oauth/errors/401-bearer-token
  // shows: events/authentication/bad-or-expired-token
  // shows: platform/errors-of-every-service/401-insufficient_credentials
  it.each(named(protectedRoutes))("%s: answers 401 to a broken or revoked token", async (_, base, route) => {
    for (const token of ["x", "a.b.c", `${weak}x`, revoked, ""]) {
      const response = await send(base, route, token);
      await expectRefusal(response.clone(), 401, "insufficient_credentials");
      expect(response.headers.get("www-authenticate")).toMatch(/^Bearer realm="plat", error="invalid_token"/);
      expect((await response.json<any>()).message).not.toMatch(/no access token/);
    }
  });

  // shows: oauth/errors/403-a-scope-is-missing
  // shows: platform/errors-of-every-service/403-insufficient_permissions
  // shows: operator/conventions/scope-plat.admin
  it.each(named(protectedRoutes.filter(({ route }) => route.access.kind === "scope")))(
    "%s: answers 403 and names the scope",
    async (_, base, route) => {
      const response = await send(base, route, weak);
      await expectRefusal(response.clone(), 403, "insufficient_permissions");
      const scope = `plat.${route.access.kind === "scope" ? route.access.scope : ""}`;
      expect((await response.json<any>()).message).toContain(scope);
      expect(response.headers.get("www-authenticate")).toContain(`error="insufficient_scope", scope="${scope}"`);
    },
  );

  // shows: oauth/states-of-an-access-token/valid-3600-s-elapsed
  // shows: events/authentication/bad-or-expired-token
  it("answers 401 to an expired token", async () => {
    const token = await tokenFor(await makeClient());
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 3_601_000);
    try {
      for (const { base, route } of protectedRoutes) {
        const body = await expectJson(await send(base, route, token), 401);
        expect(body).toMatchObject({ type: "insufficient_credentials", message: "The access token has expired." });
      }
    } finally {
      vi.useRealTimers();
    }
  });

  it("marks a response that needed a token as private, unless the route does", async () => {
    const [operator, client] = [await tokenFor(OPERATOR), await makeClient()];
    const token = await tokenFor(client);
    const file = await expectJson(await call("/media/v2/files", { token, method: "POST" }), 200);
    await call(file.uploadLink, { method: "PUT", body: "x", headers: { "content-type": "binary/octet-stream" } });
    const committed = await call(file.commitLink, { token, method: "POST" });
    const of = `tenant=${client.tenant}`;
    const answers = [
      committed,
      await call(`/media/v2/files/${file.id}/variants`, { token }),
      await call(`/media/v2/bulk/variants?${of}&clip=1x1`, { token, method: "POST" }),
      await call(`/media/v2/bulk/variants?${of}&clip=1x1&dryRun=true`, { token, method: "DELETE" }),
      await call(`/media/v2/files?${of}&dryRun=true`, { token, method: "DELETE" }),
      await call(`/media/v2/files/${file.id}`, { token, method: "DELETE" }),
      await call(`/media/v2/erasures?${of}`, { token }),
      await call(`/admin/v1/tenants/${client.tenant}/usage`, { token: operator }),
      await call("/admin/v1/media/consistency", { token: operator }),
      await call("/admin/v1/roles", { token: operator }),
    ];
    for (const answer of answers) {
      expect(answer.status).toBeLessThan(300);
      expect([answer.url, answer.headers.get("cache-control")]).toEqual([answer.url, "no-cache, private"]);
    }
    const unknown = await call("/admin/v1/roles/nosuch", { token: operator });
    expect([unknown.status, unknown.headers.get("cache-control")]).toEqual([404, "no-store"]);
    expect((await call("/nothing")).headers.get("cache-control")).toBe("no-store");
  });

  // shows: oauth/authentication/access-tokens
  // shows: events/authentication/authorization-bearer
  // shows: platform/errors-of-every-service/token-in-the-header-alone
  it("takes a token only from the header", async () => {
    const token = await tokenFor(OPERATOR);
    expect((await call(`/admin/v1/roles?access_token=${token}`)).status).toBe(401);
    expect((await call("/admin/v1/roles", { headers: { authorization: `bearer ${token}` } })).status).toBe(200);
    expect((await call("/admin/v1/roles", { headers: { authorization: `Basic ${token}` } })).status).toBe(401);
  });
});

/** Request headers that a client of another origin sends. */
const ALLOWED_HEADERS = [
  "Authorization",
  "Content-Type",
  "If-None-Match",
  "Range",
  "Idempotency-Key",
  "plat-session-id",
];
const EXPOSED_HEADERS = ["Link", "Location", "ETag", "Retry-After", "WWW-Authenticate", "plat-request-id"];
const listIn = (response: Response, header: string): string[] => response.headers.get(header)?.split(", ") ?? [];

async function preflightOf(path: string, method: string): Promise<Response> {
  const headers = { origin: "https://shop.example", "access-control-request-method": method };
  const preflight = await call(path, { method: "OPTIONS", headers });
  expect(preflight.status).toBe(204);
  return preflight;
}

describe("every route", () => {
  // shows: platform/other-origins-caches-headers/pages
  it.each(named(everyRoute.filter(({ route }) => pageRoutes.has(route))))(
    "%s: answers people with a page, and refuses scripts of other origins",
    async (_, base, route) => {
      const path = fill(base + route.path);
      const preflight = await preflightOf(path, route.method);
      expect(preflight.headers.get("allow")).toContain(route.method);
      expect([...preflight.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
      const wrong = await call(path, { method: "PATCH" });
      expect(wrong.status).toBe(405);
      expect(wrong.headers.get("allow")).toContain(route.method);
      expect(wrong.headers.get("access-control-allow-origin")).toBeNull();
      expect(wrong.headers.get("content-type")).toBe("text/html; charset=utf-8");
    },
  );

  // shows: oauth/what-the-service-does/operations
  // shows: platform/errors-of-every-service/405-unsupported_method
  // shows: platform/other-origins-caches-headers/services
  it.each(named(everyRoute.filter(({ route }) => !pageRoutes.has(route))))(
    "%s: names its methods to a preflight and to a wrong method",
    async (_, base, route) => {
      const path = fill(base + route.path);
      const preflight = await preflightOf(path, route.method);
      expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
      expect(preflight.headers.get("access-control-allow-methods")).toContain(route.method);
      expect(listIn(preflight, "access-control-allow-headers")).toEqual(expect.arrayContaining(ALLOWED_HEADERS));
      expect(preflight.headers.get("access-control-allow-credentials")).toBeNull();
      expect(preflight.headers.get("content-type")).toBeNull();
      const wrong = await call(path, { method: "PATCH" });
      expect(wrong.status).toBe(405);
      expect(wrong.headers.get("allow")).toContain(route.method);
      expect(wrong.headers.get("access-control-allow-origin")).toBe("*");
      expect(listIn(wrong, "access-control-expose-headers")).toEqual(expect.arrayContaining(EXPOSED_HEADERS));
    },
  );
});

describe("requests without a route", () => {
  // shows: platform/addresses/any-other-path
  it.each(["/nothing", "/media/v2", "/media/v3/files", "/oauth2/v1/nothing", "/pubsub/v1/topics/", "/%", "/%zz/..%2f"])(
    "%s: get 404 with the error object",
    async (path) => {
      await expectRefusal(await call(path), 404, "element_resource_non_existing");
    },
  );

  // shows: platform/errors-of-every-service/406-unsupported_response_content_type
  // shows: platform/errors-of-every-service/414-uri_too_long
  it("get 414 for a long address, and 406 for an Accept without JSON", async () => {
    await expectRefusal(await call(`/admin/v1/roles?x=${"y".repeat(17_000)}`), 414, "uri_too_long");
    const token = await tokenFor(OPERATOR);
    await expectRefusal(
      await call("/admin/v1/roles", { token, headers: { accept: "text/csv" } }),
      406,
      "unsupported_response_content_type",
    );
    expect(
      (await call("/admin/v1/roles", { token, headers: { accept: "text/csv, application/*;q=0.1" } })).status,
    ).toBe(200);
  });

  // shows: oauth/scopes/another-prefix
  // shows: oauth/versioning/issuer
  // shows: platform/deployment-variables/platform
  // shows: platform/deployment-variables/path_prefix
  // shows: platform/deployment-variables/public_url
  it("work with another platform name and path prefix", async () => {
    const app = createApp(
      createDeps({ ...env, PLATFORM: "acme", PATH_PREFIX: "/base", PUBLIC_URL: "https://public.example" }),
    );
    const fetch = (path: string, init?: RequestInit) =>
      app.fetch(new Request(`https://private.example${path}`, init), env, createExecutionContext());
    expect((await fetch("/health")).status).toBe(404);
    expect((await fetch("/base/health")).headers.get("acme-request-id")).toMatch(/^[0-9a-f]{32}$/);
    const metadata = await (await fetch("/.well-known/oauth-authorization-server/base/oauth2/v1")).json<any>();
    expect(metadata.issuer).toBe("https://public.example/base/oauth2/v1");
    expect(metadata.scopes_supported).toContain("acme.media_view");
    const body = "grant_type=client_credentials";
    const headers = {
      authorization: basic({ ...OPERATOR, clientId: "acme.operator" }),
      "content-type": "application/x-www-form-urlencoded",
    };
    const granted = await (await fetch("/base/oauth2/v1/token", { method: "POST", body, headers })).json<any>();
    expect(granted.scope).toBe("acme.tenant=acme acme.admin");
    const authorization = `Bearer ${granted.access_token}`;
    expect((await fetch("/base/admin/v1/roles", { headers: { authorization } })).status).toBe(200);
    const refused = await (await fetch("/base/admin/v1/roles")).json<any>();
    expect(refused.moreInfo).toBe("https://public.example/base/docs/errors#insufficient_credentials");
    // A path that starts with two slashes is not a host.
    for (const path of ["//", "///", "//:/x", "//evil.example/x", "//evil.example:99999/"]) {
      const nowhere = await fetch(path);
      expect(nowhere.status, path).toBe(404);
      expect((await nowhere.json<any>()).moreInfo, path).toMatch(/^https:\/\/public\.example\/base\/docs/);
    }
    // A deployment with a public address takes only tokens of that issuer, even if the same key signed others.
    const elsewhere = { authorization: `Bearer ${await tokenFor(OPERATOR)}` };
    expect((await fetch("/base/admin/v1/roles", { headers: elsewhere })).status).toBe(401);
  });
});

describe("an internal error", () => {
  let isBroken = false;
  const fail = () => {
    throw new Error("a detail of the inside");
  };
  const breaking = (db: D1Database) =>
    new Proxy(db, {
      get: (target, name) => {
        const value: unknown = isBroken && name === "prepare" ? fail : Reflect.get(target, name, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  const databases = Object.fromEntries(shardsOf(env).map(({ number, db }) => [shardBinding(number), breaking(db)]));

  // shows: events/errors/500
  // shows: platform/errors-of-every-service/500-internal_service_error
  it.each(["/events/v1/topics", "/pubsub/v1/topics", "/media/v2/files?tenant={tenant}", "/admin/v1/roles"])(
    "%s: is a 500 without details, which are in the log under the request id",
    async (path) => {
      isBroken = false;
      const client = await makeClient();
      const authorization = `Bearer ${await tokenFor(path.startsWith("/admin") ? OPERATOR : client)}`;
      const own = isolate(databases);
      const ask = () => own.fetch(path.replace("{tenant}", client.tenant), { headers: { authorization } });
      expect((await ask()).status).toBe(200);
      isBroken = true;
      const errors = vi.spyOn(console, "error").mockImplementation(() => {});
      const response = await ask();
      const said = errors.mock.calls.map(String);
      errors.mockRestore();
      await expectRefusal(response.clone(), 500, "internal_service_error");
      expect(await response.text()).not.toContain("inside");
      const requestId = response.headers.get("plat-request-id");
      expect(said.filter((line) => line.includes(requestId!) && line.includes("a detail of the inside"))).toHaveLength(
        1,
      );
    },
  );
});
