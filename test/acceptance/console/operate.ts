import { describe, expect, test } from "vitest";
import { localSecret } from "../support/platform-process.ts";
import { OPERATOR, signIn, visit, type Stage } from "./stage.ts";

/** Stories of those who run the platform, and of those who run one organization. */
export function operateSuite(stage: () => Stage): void {
  describe("an operator", () => {
    test("makes a tenant and an application, and the code's secret gets a token", async () => {
      const page = await stage().open();
      await visit(page, "Tenants");
      await page.getByRole("link", { name: "New tenant" }).click();
      await page.getByLabel("Id").fill("northshop");
      await page.getByLabel("Name", { exact: true }).fill("North shop");
      await page.getByLabel("Organization").fill("demo");
      await page.getByRole("button", { name: "Create" }).click();
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
      await visit(page, "Tenants");
      await page.getByRole("link", { name: "New tenant" }).click();
      await page.getByLabel("Id").fill("Not An Id");
      await page.getByLabel("Name", { exact: true }).fill("Kept");
      await page.getByLabel("Organization").fill("nowhere");
      await page.getByRole("button", { name: "Create" }).click();
      await page.locator(".form-alert, .field-error").first().waitFor();
      await page.getByLabel("Id").fill("southshop");
      await page.getByRole("button", { name: "Create" }).click();
      const error = page.locator(".field", { has: page.getByLabel("Organization") }).locator(".field-error");
      await error.waitFor();
      expect(await error.textContent()).toContain("nowhere");
      expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Kept");
      await page.getByLabel("Organization").fill("demo");
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("heading", { level: 1, name: "Kept" }).waitFor();
    });

    test("goes to the page of an address at once, signed in by the platform's own session", async () => {
      const page = await stage().open({ path: "/tenants/demo" });
      await page.getByRole("heading", { level: 1, name: "Demo shop" }).waitFor();
      await page.reload();
      await page.getByRole("heading", { level: 1, name: "Demo shop" }).waitFor();
      expect(await page.evaluate("JSON.stringify([localStorage, sessionStorage])")).not.toMatch(/eyJ|token|verifier/);
      await page.goto(`${stage().url}/console/tenants/nobody`);
      await page.getByRole("heading", { name: "There is nothing here" }).waitFor();
    });

    test("finds a page by the keyboard alone", async () => {
      const page = await stage().open();
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("searchbox").waitFor();
      await page.keyboard.type("Signing");
      await page.getByRole("option", { name: "Signing keys" }).waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "Signing keys" }).waitFor();
    });

    test("signs in again in a window when the session has ended, and the form goes on", async () => {
      const page = await stage().open();
      await visit(page, "Organizations");
      await page.getByRole("link", { name: "New organization" }).click();
      await page.getByLabel("Id").fill("east");
      await page.getByLabel("Name", { exact: true }).fill("East");
      expect((await stage().operate("POST", `users/${OPERATOR}/revoke`)).status).toBe(204);
      await expect
        .poll(
          async () => {
            const asked = page.waitForResponse((answer) => answer.url().includes("/admin/v1/organizations"));
            await page
              .getByRole("button", { name: "Create" })
              .click({ timeout: 2_000 })
              .catch(() => undefined);
            return (await asked).status();
          },
          { timeout: 20_000, interval: 500 },
        )
        .toBe(401);
      const dialog = page.getByRole("alertdialog");
      await dialog.waitFor();
      const opened = page.waitForEvent("popup");
      await dialog.getByRole("button", { name: "Sign in again" }).click();
      const popup = await opened;
      await popup.getByLabel("E-mail address").fill(OPERATOR);
      await popup.getByLabel("Password").fill(localSecret("DEMO_OPERATOR_PASSWORD"));
      await popup.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { level: 1, name: "East" }).waitFor();
    });

    test("signs out, and the next address asks again", async () => {
      const page = await stage().open();
      await page.getByRole("button", { name: /^Your account/ }).click();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("heading", { name: "Sign in to the console" }).waitFor();
      await page.goto(`${stage().url}/console/keys`);
      await page.getByRole("heading", { name: "Sign in to the console" }).waitFor();
    });

    test("sees why a scope is not granted", async () => {
      const page = await stage().open({ path: "/explain?client=demo.web&user=ada@demo.example&scope=plat.nothing" });
      await page.getByRole("heading", { name: "No token would be issued" }).waitFor();
      expect(await page.locator(".decision .no").count()).toBeGreaterThan(0);
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
      expect(links).toEqual(["Tenants", "Organizations", "Applications", "Topics"]);
      for (const [path, heading] of [
        ["people", "You may not see this"],
        ["audit", "You may not see this"],
        ["tenants/operators", "There is nothing here"],
      ]) {
        await page.goto(`${stage().url}/console/${path}`);
        await page.getByRole("heading", { name: heading }).waitFor();
      }
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
