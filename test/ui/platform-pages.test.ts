import { describe, expect, it } from "vitest";
import { call } from "../support/platform.ts";

describe("platform pages", () => {
  it("says that the Worker answers", async () => {
    const response = await call("/health");
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: "ok" });
    expect(response.headers.get("plat-request-id")).toMatch(/^[0-9a-f]{32}$/);
  });
});
