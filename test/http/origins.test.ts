import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { isolate, type Isolate } from "../support/isolate.ts";
import { Browser } from "../support/browser.ts";
import { call, expectJson, ORIGIN } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { put } from "../support/platform/operator.ts";
import { basic } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { everyRoute, fill, platformRoutes } from "../support/route-table.ts";
import { makeUser } from "../support/users.ts";
import { stylesheetHref } from "../../src/ui/parts/stylesheet.ts";

/** Content on a separate origin, with and without a public address of the service. */
const CONTENT = "https://content.test";
const PREFIX = "/hybris";
const APART = { CONTENT_URL: CONTENT, PATH_PREFIX: PREFIX };
const DEPLOYMENTS: readonly [string, Isolate][] = [
  ["the service has no public address", isolate(APART)],
  ["the service has a public address", isolate({ ...APART, PUBLIC_URL: "https://service.test" })],
];
const TEXT = "0123456789";

interface Links {
  readonly private: string;
  readonly public: string;
}

let client: TestClient;
const links = new Map<Isolate, Links>();

beforeAll(async () => {
  client = await makeClient();
  for (const [, platform] of DEPLOYMENTS) links.set(platform, await store(platform));
});

/** Makes a private and a public file, and returns the links to their content. */
async function store(platform: Isolate): Promise<Links> {
  const form = new URLSearchParams({ grant_type: "client_credentials" });
  const asked = { method: "POST", headers: { authorization: basic(client) }, body: form };
  const token = (await expectJson(await platform.fetch(`${PREFIX}/oauth2/v1/token`, asked), 200)).access_token;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({ "Content-Type": "text/plain" });
  const files: string[] = [];
  for (const root of [`${PREFIX}/media/v2/files`, `${PREFIX}/media/v2/public/files`]) {
    const made = await expectJson(await platform.fetch(root, { method: "POST", headers, body }), 200);
    const bytes = { method: "PUT", headers: { "content-type": "text/plain" }, body: TEXT };
    expect((await platform.fetch(made.uploadLink, bytes)).status).toBe(200);
    expect((await platform.fetch(made.commitLink, { method: "POST", headers })).status).toBe(202);
    files.push(`${root}/${made.id}`);
  }
  const [secret = "", open = ""] = files;
  const { link } = await expectJson(await platform.fetch(secret, { headers }), 200);
  return { private: link, public: (await platform.fetch(open)).headers.get("location")! };
}

const atService = (link: string): string => link.replace(CONTENT, ORIGIN);

describe.each(DEPLOYMENTS)("if %s", (_, platform) => {
  // shows: platform/deployment-variables/content_url
  // shows: media/fetch/content_url
  it("serves content at its own origin", async () => {
    for (const link of Object.values(links.get(platform)!)) {
      expect(new URL(link).origin).toBe(CONTENT);
      expect(await (await platform.fetch(link)).text()).toBe(TEXT);
    }
  });

  // shows: platform/deployment-variables/content_url
  // shows: media/fetch/content_url
  it("redirects from other hosts by 308 to the same address with its signature, for GET and HEAD and any origin", async () => {
    for (const link of [
      ...Object.values(links.get(platform)!),
      `${CONTENT}${PREFIX}/media/v2/content/x/clip-1x1?a=%20b`,
    ])
      for (const method of ["GET", "HEAD"]) {
        const answer = await platform.fetch(atService(link), { method, headers: { origin: "https://shop.example" } });
        expect([answer.status, answer.headers.get("location"), await answer.text()]).toEqual([308, link, ""]);
        expect(answer.headers.get("access-control-allow-origin")).toBe("*");
        expect(answer.headers.get("access-control-expose-headers")).toContain("Location");
        expect(answer.headers.get("cache-control")).toBe("private, max-age=300");
      }
    const refused = await platform.fetch(atService(links.get(platform)!.public), { method: "POST" });
    expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
  });

  it("answers preflights at both", async () => {
    const { public: link } = links.get(platform)!;
    const headers = { origin: "https://shop.example", "access-control-request-method": "GET" };
    for (const address of [link, atService(link)]) {
      const answer = await platform.fetch(address, { method: "OPTIONS", headers });
      expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([204, "*"]);
    }
  });

  // shows: platform/deployment-variables/content_url
  // shows: media/fetch/content_url
  it("has nothing else at the content's origin: no page, service, upload, or service behind the gateway", async () => {
    const shared = new Set(["/health", "/docs/errors", stylesheetHref("").replace(/[^/]*$/, "{file}")]);
    const routes = [...everyRoute, ...platformRoutes].filter(
      ({ base, route: { path } }) => !path.startsWith("/content/") && !(base === "" && shared.has(path)),
    );
    expect(routes.length).toBeGreaterThan(90);
    const name = unique("shop");
    const behind = { sourceUrl: "https://nobody.example", scopes: [], essential: true, access: "public" };
    await put(`services/${name}`, { ...behind, proxyPath: `/${name}`, tenant: client.tenant });
    const addresses: [string, string][] = [
      ...routes.map(({ base, route }): [string, string] => [route.method, `${PREFIX}${base}${fill(route.path)}`]),
      ["GET", `/.well-known/oauth-authorization-server${PREFIX}/oauth2/v1`],
      ["GET", `${PREFIX}/account`],
      ["OPTIONS", `${PREFIX}/media/v2/files`],
      ["GET", `${PREFIX}/${name}/x`],
    ];
    for (const [method, path] of addresses) {
      const answer = await platform.fetch(`${CONTENT}${path}`, { method });
      const problem = await expectJson(answer, 404);
      expect([path, problem.type, problem.status]).toEqual([path, "element_resource_non_existing", 404]);
      expect([answer.headers.get("content-type"), answer.headers.has("set-cookie")]).toEqual([
        "application/json",
        false,
      ]);
    }
    // The request goes to the service's host.
    expect((await platform.fetch(`${ORIGIN}${PREFIX}/${name}/x`)).status).not.toBe(404);
  });

  it("has health and the error reference at each host", async () => {
    for (const origin of [CONTENT, ORIGIN]) {
      expect(await expectJson(await platform.fetch(`${origin}${PREFIX}/health`), 200)).toEqual({ status: "ok" });
      const { moreInfo } = await expectJson(await platform.fetch(`${CONTENT}${PREFIX}/media/v2/content/x`), 404);
      const page = await platform.fetch(moreInfo);
      const [, stylesheet] = /<link rel="stylesheet" href="([^"]+)"/.exec(await page.text()) ?? [];
      expect(page.status).toBe(200);
      expect((await platform.fetch(`${origin}${stylesheet}`)).status).toBe(200);
    }
  });

  it("does not redirect content to itself behind a proxy that ends TLS and keeps the port", async () => {
    const { host } = new URL(CONTENT);
    const link = links.get(platform)!.public.replace(CONTENT, `http://${host}:443`);
    expect(await (await platform.fetch(link, { redirect: "manual" })).text()).toBe(TEXT);
    expect((await platform.fetch(`http://${host}:443${PREFIX}/account`)).status).toBe(404);
    expect((await platform.fetch(link.replace(":443", ":444"), { redirect: "manual" })).status).toBe(308);
  });

  it("redirects without a call of storage", async () => {
    const failing = new Proxy({}, { get: () => () => expect.fail("a store was asked") });
    const bare = isolate({ ...APART, DB: failing as D1Database, MEDIA: failing as R2Bucket });
    expect((await bare.fetch(atService(links.get(platform)!.private))).status).toBe(308);
  });
});

/** Pages and their cookies on a separate host (AUTH_URL). */
const AUTH = "https://auth.test";
const SERVICE = "https://service.test";
const pagesApart = isolate({ ...APART, AUTH_URL: AUTH, PUBLIC_URL: SERVICE });
const pageRoutes = everyRoute.filter(
  ({ base, route: { path } }) =>
    base === "/account" ||
    /^\/(authorize|sign-in|callback|end_session|consent|link|forgot|reset|verify|invitation|second-factor|device)\b/.test(
      path,
    ),
);

describe("pages on a separate host", () => {
  it("have addresses at their host in the metadata; issuer and other endpoints stay at the service", async () => {
    const answer = await pagesApart.fetch(`${SERVICE}${PREFIX}/oauth2/v1/.well-known/openid-configuration`);
    expect(await expectJson(answer, 200)).toMatchObject({
      issuer: `${SERVICE}${PREFIX}/oauth2/v1`,
      authorization_endpoint: `${AUTH}${PREFIX}/oauth2/v1/authorize`,
      end_session_endpoint: `${AUTH}${PREFIX}/oauth2/v1/end_session`,
      token_endpoint: `${SERVICE}${PREFIX}/oauth2/v1/token`,
    });
  });

  it("are reached from the service by 308 without a cookie, for every method", async () => {
    expect(pageRoutes.length).toBeGreaterThan(8);
    for (const { base, route } of pageRoutes) {
      const path = `${PREFIX}${base}${fill(route.path)}?client_id=a`;
      const answer = await pagesApart.fetch(`${SERVICE}${path}`, { method: route.method });
      expect([answer.status, answer.headers.get("location")]).toEqual([308, `${AUTH}${path}`]);
      expect(answer.headers.has("set-cookie")).toBe(false);
      expect(answer.headers.get("cache-control")).toBe("no-store");
    }
  });

  it("have the host for themselves: no service, no content, nothing behind the gateway", async () => {
    const name = unique("shop");
    const behind = { sourceUrl: "https://nobody.example", scopes: [], essential: true, access: "public" };
    await put(`services/${name}`, { ...behind, proxyPath: `/${name}`, tenant: client.tenant });
    const others = everyRoute.filter((one) => !pageRoutes.includes(one) && one.base !== "");
    expect(others.length).toBeGreaterThan(80);
    const paths = [...others.map(({ base, route }) => `${base}${fill(route.path)}`), `/${name}/x`, "/openapi.json"];
    for (const path of paths) {
      const answer = await pagesApart.fetch(`${AUTH}${PREFIX}${path}`);
      expect([path, answer.status, answer.headers.has("set-cookie")]).toEqual([path, 404, false]);
    }
    expect((await pagesApart.fetch(`${AUTH}${PREFIX}/health`)).status).toBe(200);
    // A browser sends cookies to every port of the host.
    expect((await pagesApart.fetch(`${AUTH}:8443${PREFIX}/${name}/x`)).status).toBe(404);
  });

  it("sign a person in, and the client gets tokens of the service's issuer", async () => {
    const user = await makeUser({ tenant: client.tenant });
    const uri = "https://app.example/back";
    const app = await makeClient({ tenant: client.tenant });
    const registered = { tenant: client.tenant, confidential: true, redirectUris: [uri], postLogoutRedirectUris: [] };
    await put(`clients/${app.clientId}`, { ...registered, grantTypes: ["authorization_code"], scopes: [] });
    const browser = new Browser({
      send: (address, { method, headers, form }) => pagesApart.fetch(address, { method, headers, body: form ?? null }),
    });
    const asked = new URLSearchParams({
      response_type: "code",
      client_id: app.clientId,
      redirect_uri: uri,
      scope: "openid",
    });
    const led = await browser.get(`${SERVICE}${PREFIX}/oauth2/v1/authorize?${asked.toString()}`);
    const page = await browser.get(led.location ?? "");
    expect(page.forms[0]?.action).toBe(`${AUTH}${PREFIX}/oauth2/v1/sign-in`);
    const back = await browser.submit(page, { email: user.email, password: user.password });
    const answered = new URL(back.location ?? "");
    expect(answered.searchParams.get("iss")).toBe(`${SERVICE}${PREFIX}/oauth2/v1`);
    const form = new URLSearchParams({ grant_type: "authorization_code", redirect_uri: uri });
    form.set("code", answered.searchParams.get("code") ?? "");
    const headers = { authorization: basic(app) };
    const redeemed = { method: "POST", headers, body: form };
    const tokens = await expectJson(await pagesApart.fetch(`${SERVICE}${PREFIX}/oauth2/v1/token`, redeemed), 200);
    expect(JSON.parse(atob(tokens.id_token.split(".")[1]))).toMatchObject({ iss: `${SERVICE}${PREFIX}/oauth2/v1` });
    const account = await browser.get(`${AUTH}${PREFIX}/account`);
    expect(account.html).toContain(user.email);
    expect((await browser.get(`${AUTH}${PREFIX}/account`, "none", { "sec-fetch-dest": "empty" })).status).toBe(400);
  });
});

describe("scripts that request a page", () => {
  it.each(pageRoutes.map(({ base, route }) => [route.method, base, route] as const))(
    "%s %s: are refused without a cookie",
    async (method, base, route) => {
      const path = `${base}${fill(route.path)}`;
      for (const destination of ["empty", "object", "embed", ...(base === "/account" ? ["iframe"] : [])]) {
        const headers = { "sec-fetch-dest": destination, "sec-fetch-site": "same-origin" };
        const answer = await call(path, { method, headers });
        expect([destination, answer.status, answer.headers.get("set-cookie")]).toEqual([destination, 400, null]);
        expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
        expect(await answer.text()).toContain("This address shows a page");
      }
    },
  );
});

describe("one host for both", () => {
  it.each([
    ["no CONTENT_URL", { CONTENT_URL: "" }],
    ["CONTENT_URL as PUBLIC_URL", { CONTENT_URL: ORIGIN, PUBLIC_URL: ORIGIN }],
  ])("has content and service: %s", async (_, variables) => {
    const platform = isolate({ ...env, PATH_PREFIX: PREFIX, ...variables });
    for (const link of Object.values(await store(platform))) {
      expect(new URL(link).origin).toBe(ORIGIN);
      expect(await (await platform.fetch(link)).text()).toBe(TEXT);
    }
  });
});
