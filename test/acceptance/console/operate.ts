import { describe, expect, test } from "vitest";
import { localSecret } from "../support/process/state.ts";
import { sendNewTenant, makeTopic, OPERATOR, signIn, visit, type Stage } from "./stage.ts";

/** Stories of those who run the platform, and of those who run one organization. */
export function operateSuite(stage: () => Stage): void {
  describe("an operator", () => {
    test("makes a tenant and an application, and the code's secret gets a token", async () => {
      const page = await stage().open();
      await sendNewTenant(page, { id: "northshop", name: "North shop", organization: "demo" });
      await page.getByRole("heading", { level: 1, name: "North shop" }).waitFor();
      await visit(page, "Applications");
      await page.getByRole("link", { name: "New application" }).click();
      await page.getByRole("radio", { name: /^Machine/ }).check({ force: true });
      await page.getByRole("button", { name: "Next" }).click();
      await page.getByLabel("Client id").fill("north.jobs");
      await page.getByLabel("Tenant").fill("northshop");
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("heading", { level: 1, name: "Your application is ready" }).waitFor();
      await page.getByRole("button", { name: "Copy: Secret" }).click();
      const secret = (await page.evaluate("navigator.clipboard.readText()")) as string;
      expect(await page.locator("pre").textContent()).toContain('clientId: "north.jobs"');
      const answer = await fetch(`${stage().url}/oauth2/v1/token`, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(`north.jobs:${secret}`)}` },
        body: new URLSearchParams({ grant_type: "client_credentials" }),
      });
      expect(answer.status).toBe(200);
      await page.getByRole("button", { name: "To the application" }).click();
      await page.getByRole("heading", { level: 1, name: "north.jobs" }).waitFor();
      expect(await page.content()).not.toContain(secret);
      const rows = (await (await stage().operate("GET", "audit?subject=clients/north.jobs")).json()) as object[];
      expect(rows).toMatchObject([{ actor: `operator ${OPERATOR}`, action: "put" }]);
    });

    test("sees the service's own words at the field, and loses nothing that was typed", async () => {
      const page = await stage().open();
      await sendNewTenant(page, { id: "Not An Id", name: "Kept", organization: "nowhere" });
      await page.locator(".form-alert, .field-error").first().waitFor();
      await page.getByLabel("Id", { exact: true }).fill("southshop");
      await page.getByRole("button", { name: "Create" }).click();
      const error = page.locator(".field", { has: page.getByLabel("Organization") }).locator(".field-error");
      await error.waitFor();
      expect(await error.textContent()).toContain("nowhere");
      expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Kept");
      await page.getByLabel("Organization").fill("demo");
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("heading", { level: 1, name: "Kept" }).waitFor();
    });

    test("signs out, and the next address asks again", async () => {
      const page = await stage().open();
      await page.getByRole("button", { name: /^Your account/ }).click();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("heading", { name: "Sign in to the console" }).waitFor();
      await page.goto(`${stage().url}/console/keys`);
      await page.getByRole("heading", { name: "Sign in to the console" }).waitFor();
    });
  });

  describe("the administrator of an organization", () => {
    test("sees its tenants, and nothing of others by page or address", async () => {
      const page = await stage().open({
        path: "/tenants",
        user: "ada@demo.example",
        password: localSecret("DEMO_USER_PASSWORD"),
        organization: "demo",
      });
      await page.getByRole("row", { name: /Demo shop/ }).waitFor();
      expect(await page.getByRole("row", { name: /Operators/ }).count()).toBe(0);
      const links = await page.getByRole("navigation").getByRole("link").allTextContents();
      expect(links).toEqual(["Tenants", "Organizations", "Applications", "Topics", "Files"]);
      const { topic } = await makeTopic(stage());
      expect(topic).toMatch(/^demo\./);
      for (const [path, heading] of [
        ["topics/plat.subscriptions/subscriptionCreated", "There is nothing here"],
        ["applications/console", "There is nothing here"],
        ["organizations/operators", "There is nothing here"],
        ["keys", "You may not see this"],
        ["roles", "You may not see this"],
        ["people", "You may not see this"],
        ["audit", "You may not see this"],
        ["tenants/operators", "There is nothing here"],
      ]) {
        await page.goto(`${stage().url}/console/${path}`);
        await page.getByRole("heading", { name: heading }).waitFor();
      }
    });

    test("gets no more by the API than by the page", async () => {
      const page = await stage().open({
        path: "/tenants",
        user: "ada@demo.example",
        password: localSecret("DEMO_USER_PASSWORD"),
        organization: "demo",
      });
      const [asked] = await Promise.all([
        page.waitForRequest((request) => request.url().includes("/admin/v1/")),
        visit(page, "Applications"),
      ]);
      const { authorization = "" } = await asked.allHeaders();
      const ask = async (method: string, path: string, body?: unknown): Promise<number> =>
        (
          await fetch(`${stage().url}/admin/v1/${path}`, {
            method,
            headers: { authorization, "content-type": "application/json" },
            ...(body !== undefined && { body: JSON.stringify(body) }),
          })
        ).status;
      const client = { tenant: "operators", confidential: false, grantTypes: [], scopes: [] };
      const tries: readonly (readonly [number, string, string, unknown?])[] = [
        [200, "GET", "tenants/demo"],
        [404, "GET", "tenants/operators"],
        [403, "GET", "users"],
        [403, "GET", "users?q=olga"],
        [403, "GET", "audit"],
        [403, "GET", "attention"],
        [403, "GET", "metrics"],
        [403, "GET", "signing-keys"],
        [403, "POST", "signing-keys"],
        [403, "PUT", "users/ada@demo.example", { disabled: false }],
        [403, "PUT", "tenants/demo", { organization: "demo", name: "Mine", quota: {} }],
        [403, "PUT", "clients/operators.web", client],
        [404, "DELETE", "clients/console"],
        [403, "PUT", "organizations/operators/members/ada@demo.example", { roles: ["operator"] }],
        [403, "PUT", "organizations/demo/members/ada@demo.example", { roles: ["operator"] }],
        [403, "POST", "organizations/demo/invitations/eve@demo.example/link", { roles: [] }],
        [404, "POST", "topics/plat.subscriptions/subscriptionCreated/events", { payload: "x" }],
        [404, "POST", "users/olga@demo.example/revoke"],
      ];
      const answers = [];
      for (const [, method, path, body] of tries) answers.push([await ask(method, path, body), method, path]);
      expect(answers).toEqual(tries.map(([status, method, path]) => [status, method, path]));
    });
  });

  describe("somebody without a role in an organization", () => {
    test("is told so", async () => {
      const put = (path: string, body: object) => stage().operate("PUT", path, body);
      await put("users/nobody@demo.example", { password: "a password of nobody" });
      const page = await stage().open({ path: "/tenants" });
      await page.getByRole("button", { name: /^Your account/ }).click();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await signIn(page, "nobody@demo.example", "a password of nobody");
      await page.getByText("You are no member of this organization").waitFor();
    });
  });
}
