import { describe, expect, it } from "vitest";
import { PROBLEM_TYPES } from "../../src/http/errors.ts";
import { call } from "../support/platform.ts";

describe("/health", () => {
  it("says that the Worker answers", async () => {
    const response = await call("/health");
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: "ok" });
    expect(response.headers.get("plat-request-id")).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe("/docs/errors", () => {
  it("explains every type at the place that moreInfo names, and loads nothing but the stylesheet", async () => {
    const response = await call("/docs/errors");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const page = await response.text();
    for (const type of Object.keys(PROBLEM_TYPES)) expect(page).toContain(`id="${type}"`);
    expect(page).not.toMatch(/\bsrc=|`/);
    const [href = "", ...more] = Array.from(page.matchAll(/\bhref="([^"]*)"/g), ([, address]) => address);
    expect(more).toEqual([]);
    expect((await call(href)).status).toBe(200);
  });

  it("is no other origin's, frames nowhere and is not kept", async () => {
    const { headers } = await call("/docs/errors");
    expect(headers.get("access-control-allow-origin")).toBeNull();
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cache-control")).toBe("no-store");
  });
});
