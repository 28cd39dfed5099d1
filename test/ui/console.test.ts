import { describe, expect, it } from "vitest";
import { call, expectJson } from "../support/platform/call.ts";

describe("the console's addresses", () => {
  it("answer with the one page, under a policy that allows nothing inline and nothing from elsewhere", async () => {
    for (const path of ["/console", "/console/", "/console/tenants/acme", "/console/people/ada@acme.example"]) {
      const answer = await call(path);
      expect([path, answer.status, answer.headers.get("content-type")]).toEqual([
        path,
        200,
        "text/html; charset=utf-8",
      ]);
      expect(await answer.text()).toContain("<title>Console</title>");
      const policy = answer.headers.get("content-security-policy") ?? "";
      expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; /);
      expect(policy).toContain("connect-src 'self';");
      expect(policy).not.toMatch(/unsafe|\*/);
    }
  });

  it("tell the page how the platform is named and reached", async () => {
    expect(await expectJson(await call("/console/config.json"), 200)).toEqual({
      platform: "plat",
      issuer: "https://plinth.test/oauth2/v1",
      clientId: "console",
    });
  });

  it("answer 404 for a file that is not there", async () => {
    expect((await call("/console/assets/none.js")).status).toBe(404);
  });
});
