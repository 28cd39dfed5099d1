import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createApp } from "../../src/app.ts";
import { createDeps } from "../../src/deps.ts";
import { createNames } from "../../src/platform/model/names.ts";
import { createInterfaceDocument } from "../../src/ui/interface-document.ts";
import { expectDocumented } from "../support/documented.ts";
import { call, expectJson, ORIGIN } from "../support/platform/call.ts";
import { everyRoute } from "../support/route-table.ts";

const METHODS = ["get", "post", "put", "delete"] as const;
const operationsOf = (paths: object): string[] =>
  Object.entries(paths).flatMap(([path, item]: [string, Record<string, unknown>]) =>
    METHODS.filter((method) => method in item).map((method) => `${method.toUpperCase()} ${path}`),
  );

describe("/openapi.json", () => {
  // shows: platform/addresses/openapi.json-docs
  it("has every mounted route, and this deployment's address", async () => {
    const served = await expectJson(await call("/openapi.json"), 200);
    expect(served.servers).toEqual([{ url: ORIGIN }]);
    const operations = operationsOf(served.paths);
    expect(operations).toEqual(
      expect.arrayContaining(everyRoute.map(({ base, route }) => `${route.method} ${base}${route.path}`)),
    );
    expect(served.components.securitySchemes.token.flows.clientCredentials.tokenUrl).toBe(`${ORIGIN}/oauth2/v1/token`);
    expect(served.info.description).toContain(`(${ORIGIN}/docs/errors)`);
  });

  it("names the scopes of each operation by its route, and explains them", async () => {
    const { paths, components } = await expectJson(await call("/openapi.json"), 200);
    const known = Object.keys(components.securitySchemes.token.flows.clientCredentials.scopes);
    for (const { base, route } of everyRoute) {
      const { access } = route;
      const { security } = paths[`${base}${route.path}`][route.method.toLowerCase()];
      const stated: string[] = security.flatMap((one: Record<string, string[]>) => one["token"] ?? []);
      const wanted = access.kind === "scope" ? [access.scope, ...access.others, ...access.people] : [];
      const decides = access.kind === "token" ? access.scopes : [];
      expect(stated, `${route.method} ${route.path}`).toEqual([...wanted, ...decides].map((scope) => `plat.${scope}`));
      expect(known).toEqual(expect.arrayContaining(stated));
    }
    const { security } = paths["/pubsub/v1/topics/{topicOwnerClient}/{eventType}/read"].post;
    const forms = ["plat.pubsub.topic=*", "plat.pubsub.own_tenant_topic=*"];
    expect(security).toEqual([...forms.map((form) => ({ token: [form] })), { token: [] }]);
  });

  it("is readable for any origin, cached for a while, and not sent again unchanged", async () => {
    const first = await call("/openapi.json");
    expect(first.headers.get("cache-control")).toBe("public, max-age=300");
    expect(first.headers.get("access-control-allow-origin")).toBe("*");
    const etag = first.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"])
      expect((await call("/openapi.json", { headers: { "if-none-match": known } })).status).toBe(304);
    expect((await call("/openapi.json", { headers: { "if-none-match": '"other"' } })).status).toBe(200);
  });

  // shows: platform/addresses/openapi.json-docs
  it("has the names, the prefix and the public address of the deployment", async () => {
    const app = createApp(
      createDeps({ ...env, PLATFORM: "acme", PATH_PREFIX: "/base", PUBLIC_URL: "https://api.acme.example" }),
    );
    const ask = (path: string) => app.fetch(new Request(`http://127.0.0.1${path}`), env, createExecutionContext());
    const served = await expectJson(await ask("/base/openapi.json"), 200);
    expect(served.servers).toEqual([{ url: "https://api.acme.example/base" }]);
    expect(JSON.stringify(served)).not.toMatch(/\bplat(?=_|\b)/);
    expect(served.info.description).toContain(" https://api.acme.example/base/pubsub/v1/topics");
    expect(JSON.stringify(served)).not.toContain("127.0.0.1:8787");
    expect(served.components.securitySchemes.token.flows.clientCredentials.scopes).toHaveProperty(["acme.media_view"]);
    const atRoot = served.paths["/.well-known/oauth-authorization-server/base/oauth2/v1"];
    expect(atRoot.servers).toEqual([{ url: "https://api.acme.example" }]);
    expect((await ask("/.well-known/oauth-authorization-server/base/oauth2/v1")).status).toBe(200);
    expect((await ask("/base/docs")).status).toBe(200);
  });

  it("is made again after a failure, and kept after a success", async () => {
    let reads = 0;
    const names = createNames("acme");
    const failingOnce = {
      ...names,
      get platform() {
        if (++reads === 1) throw new Error("the first request fails");
        return names.platform;
      },
    };
    const documentOf = createInterfaceDocument(failingOnce, "");
    await expect(documentOf(ORIGIN)).rejects.toThrow("the first request fails");
    const served = await documentOf(ORIGIN);
    expect(JSON.parse(served.text).servers).toEqual([{ url: ORIGIN }]);
    expect(await documentOf(ORIGIN)).toBe(served);
  });
});

describe("the check of every test's responses", () => {
  const headers = { "plat-request-id": "0".repeat(32), "content-type": "application/json" };
  const answer = (status: number, body: unknown, more: Record<string, string> = {}): Response =>
    new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers: { ...headers, ...more } });
  const problem = {
    status: 404,
    type: "element_resource_non_existing",
    message: "no",
    moreInfo: "https://a.example",
    details: [],
  };
  const TOPIC = "/pubsub/v1/topics/demo.shop/orders";

  it("accepts documented responses", async () => {
    await expectDocumented("GET", "/health", answer(200, { status: "ok" }));
    await expectDocumented("GET", TOPIC, answer(404, problem));
    await expectDocumented(
      "POST",
      `${TOPIC}/commit`,
      new Response(null, { headers: { "plat-request-id": "0".repeat(32) } }),
    );
  });

  it("finds accepted input that the document does not take", async () => {
    const taken = (sent: unknown) =>
      expectDocumented(
        "POST",
        "/pubsub/v1/topics",
        new Response(null, { status: 201, headers: { "plat-request-id": "0".repeat(32) } }),
        sent,
      );
    await taken({ eventType: "orders", unknown: 1 });
    await expect(taken({ eventType: "orders", shards: "many" })).rejects.toThrow("does not take");
  });

  it.each<[what: string, path: string, given: Response, says: string]>([
    ["a status", "/health", answer(201, { status: "ok" }), "no answer 201"],
    ["a field too many", "/health", answer(200, { status: "ok", since: 1 }), "since"],
    ["a field too few", "/health", answer(200, {}), "status"],
    ["another value", "/health", answer(200, { status: "well" }), "status"],
    ["another type", TOPIC, answer(404, { ...problem, status: "404" }), "status"],
    ["another form", "/health", answer(200, "ok", { "content-type": "text/plain" }), "text/plain"],
    ["a header", "/health", answer(200, { status: "ok" }, { location: "/" }), "location"],
    ["no request id", "/health", answer(200, { status: "ok" }, { "plat-request-id": "" }), "request id"],
    ["a field of one in a list", "/pubsub/v1/topics", answer(200, [{ eventType: "x" }]), "not as described"],
  ])("finds %s", async (_, path, given, says) => {
    await expect(expectDocumented("GET", path, given)).rejects.toThrow(says);
  });
});
