import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createApp } from "../../src/app.ts";
import { createDeps } from "../../src/deps.ts";
import type { Env } from "../../src/env.ts";
import { call } from "../support/platform/call.ts";

/** The pages that these tests see are those of site/unbuilt; test/nightly/site.test.ts has the built ones. */
const platformWith = (more: Partial<Env>) => {
  const app = createApp(createDeps({ ...env, ...more }));
  return (address: string, init: RequestInit = {}) =>
    app.fetch(new Request(address, { redirect: "manual", ...init }), env, createExecutionContext());
};

const KEYS = JSON.stringify({ client: "demo.shop", clientSecret: "a-secret" });

describe("the documentation", () => {
  // shows: platform/addresses/openapi.json-docs
  it("is not sent again unchanged", async () => {
    const first = await call("/docs");
    expect(first.status).toBe(200);
    expect(first.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(first.headers.get("cache-control")).toBe("public, max-age=0, must-revalidate, no-transform");
    const etag = first.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"\w+"$/);
    const again = await call("/docs", { headers: { "if-none-match": etag } });
    expect(again.status).toBe(304);
    expect(await again.text()).toBe("");
    expect((await call("/docs", { headers: { "if-none-match": '"other"' } })).status).toBe(200);
  });

  it("runs no inline script, loads nothing of other origins, and cannot be framed", async () => {
    const { headers } = await call("/docs");
    const policy = headers.get("content-security-policy")?.split("; ") ?? [];
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "style-src 'self'",
        "connect-src 'self'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
      ]),
    );
    expect(policy.join()).not.toMatch(/unsafe-inline|unsafe-eval'(?<!wasm-unsafe-eval')|\*|https?:/);
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("access-control-allow-origin")).toBeNull();
  });

  it("shows a page to a person at a wrong address, with 404", async () => {
    const answer = await call("/docs/no/such-page");
    expect(answer.status).toBe(404);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(await answer.text()).toContain("Nothing here");
  });

  it("leads an address with a slash at its end to the one without", async () => {
    const platform = platformWith({ PATH_PREFIX: "/base" });
    for (const [from, to] of [
      ["/base/docs/", "/base/docs"],
      ["/base/docs/guides/push///", "/base/docs/guides/push"],
    ] as const) {
      const answer = await platform(`https://a.example${from}`);
      expect([answer.status, answer.headers.get("location")]).toEqual([308, `https://a.example${to}`]);
    }
    expect((await platform("https://a.example/base/docs")).status).toBe(200);
    expect((await platform("https://a.example/docs")).status).toBe(404);
  });

  it("takes GET and HEAD alone", async () => {
    expect((await call("/docs/404.html", { method: "POST" })).status).toBe(405);
    const head = await call("/docs", { method: "HEAD" });
    expect(head.headers.get("etag")).toBe((await call("/docs")).headers.get("etag"));
  });
});

describe("keys of the demo", () => {
  it("are told by the local platform to its own pages", async () => {
    const local = platformWith({ LOCAL_DEMO: KEYS });
    const answer = await local("http://127.0.0.1:8787/docs/local.json");
    expect(await answer.json()).toEqual(JSON.parse(KEYS));
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  });

  it("are not told at a name that another site made lead here", async () => {
    const local = platformWith({ LOCAL_DEMO: KEYS });
    expect((await local("http://attacker.example:8787/docs/local.json")).status).toBe(404);
    expect((await local("http://127.0.0.1.attacker.example/docs/local.json")).status).toBe(404);
  });

  it("are not told by a deployed platform, even if it has some", async () => {
    const deployed = platformWith({ LOCAL_DEMO: KEYS, ALLOW_LOOPBACK: "false" });
    expect((await deployed("http://127.0.0.1:8787/docs/local.json")).status).toBe(404);
    expect((await platformWith({})("http://127.0.0.1:8787/docs/local.json")).status).toBe(404);
  });
});
