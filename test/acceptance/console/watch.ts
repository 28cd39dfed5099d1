import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { makeOidcProvider } from "../support/parties/oidc-provider.ts";
import { barriers, settle } from "./looks.ts";
import { goByPalette, makeTopic, storeFile, visit, type Stage } from "./stage.ts";

/** Stories of those who keep the console open: what they see come, and what they do by the keyboard alone. */
export function watchSuite(stage: () => Stage): void {
  const put = async (path: string, body: object): Promise<void> => {
    const answer = await stage().operate("PUT", path, body);
    expect(answer.status, await answer.clone().text()).toBeLessThan(300);
  };

  describe("who keeps the console open", () => {
    test("sees what happens in the audit log without a reload", async () => {
      const page = await stage().open();
      await visit(page, "Audit log");
      await page.getByLabel("Subject begins with").fill("organizations/live");
      await page.getByText("Live", { exact: true }).click();
      await page.getByText("Nothing like that happened").waitFor();
      await put("organizations/live", { name: "Live" });
      await page.locator("[role=row]", { hasText: "organizations/live" }).waitFor({ timeout: 15_000 });
    });

    test("gets on with a search of the audit log whose first page has nothing", async () => {
      await put("organizations/far", { name: "Far" });
      const page = await stage().open();
      const next = `/admin/v1/audit?cursor=${Buffer.from("[9007199254740991]").toString("base64url")}&pageSize=100`;
      await page.route("**/admin/v1/audit?*", (route) =>
        route.request().url().includes("cursor=")
          ? route.continue()
          : route.fulfill({ status: 200, json: [], headers: { link: `<${stage().url}${next}>; rel="next"` } }),
      );
      await visit(page, "Audit log");
      await page.getByLabel("Subject begins with").fill("organizations/far");
      await page.locator("[role=row]", { hasText: "organizations/far" }).waitFor();
    });

    test("sees an hour, a day and a month, of the platform and of one tenant", async () => {
      const { token, topic } = await makeTopic(stage());
      const published = await fetch(`${stage().url}/pubsub/v1/topics/${topic}/publish`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify([{ payload: "1" }, { payload: "2" }, { payload: "3" }]),
      });
      expect(published.status).toBe(201);
      await storeFile(stage(), "demo/files/demo.shop/private", { name: "counted" }, "twelve bytes");
      const page = await stage().open();
      const tile = async (name: string): Promise<string> =>
        (await page.locator(".tile", { hasText: name }).locator("dd").textContent()) ?? "";
      const events = page.locator("section.card", {
        has: page.getByRole("heading", { level: 2, name: "Events a second" }),
      });
      const steps = async (): Promise<number> => {
        await settle(page);
        const table = events.locator("details");
        if ((await table.getAttribute("open")) === null) await table.locator("summary").click();
        return table.locator("tbody tr").count();
      };
      const look = async (tenant: string): Promise<void> => {
        // The numbers of these stories are of now: each span has them, in steps of its own.
        for (const [span, least, most] of [
          ["An hour", 60, 61],
          ["A day", 24, 25],
          ["A month", 30, 31],
        ] as const) {
          await page.getByRole("button", { name: span, exact: true }).click();
          // The steps of the span before may still be shown: a day has fewer than a month may have.
          const areShown = async (): Promise<boolean> => {
            const count = await steps();
            return count >= least && count <= most;
          };
          await expect.poll(areShown, { timeout: 10_000, message: span }).toBe(true);
          await expect.poll(() => tile("Events published"), { timeout: 40_000 }).toMatch(/^[1-9]/);
          await expect.poll(() => tile("Stored bytes"), { timeout: 40_000 }).toMatch(/^[1-9].*in [1-9]\d* files?$/);
          expect(await tile("Requests")).toMatch(/^[1-9]/);
          expect(await events.locator("tbody td.end").allTextContents()).toContainEqual(expect.stringMatching(/[1-9]/));
          const at = new URL(page.url()).searchParams;
          expect([at.get("tenant") ?? "", at.get("span")]).toEqual([
            tenant,
            { "An hour": "hour", "A day": "day", "A month": "month" }[span],
          ]);
        }
      };
      await look("");
      await page.locator(".bars").getByRole("link", { name: "demo", exact: true }).click();
      await page.getByRole("heading", { level: 1, name: "Overview: demo" }).waitFor();
      await look("demo");
      await page.getByRole("link", { name: "Tenants: demo" }).click();
      await page.getByRole("heading", { level: 1, name: "Demo shop" }).waitFor();
    });

    test("is told whose lag grows now, not whose lag was large before", async () => {
      const page = await stage().open({ path: "/keys" });
      await page.route(/metrics\?.*consumer_lag/, async (route) => {
        const metrics = (await (await route.fetch()).json()) as { from: number; to: number; stepMs: number };
        const steps = Math.round((metrics.to - metrics.from) / metrics.stepMs);
        const values = Array.from({ length: steps }, (_, at) => (at > 0.9 * steps ? 500 : 0));
        const series = [{ service: "events", metric: "consumer_lag", kind: "gauge", values }];
        await route.fulfill({ json: { ...metrics, series } });
      });
      await page.route(/tenants\?.*consumer_lag/, (route) => {
        const from = Number(new URL(route.request().url()).searchParams.get("from"));
        const before = from < Date.now() - 1_800_000 ? [{ tenant: "before", value: 300 }] : [];
        return route.fulfill({ json: { tenants: [{ tenant: "now", value: 500 }, ...before] } });
      });
      await visit(page, "Overview");
      await page.getByText("A consumer of now falls behind").waitFor();
      expect(await page.getByText("A consumer of before falls behind").count()).toBe(0);
    });

    test("is told once that the platform refuses, or fails, and goes on when it works again", async () => {
      const page = await stage().open({ path: "/keys" });
      await page.getByRole("heading", { level: 1, name: "Signing keys" }).waitFor();
      const path = /\/(admin\/v1|health)\//;
      await page.route(path, (route) =>
        route.fulfill({ status: 500, json: { type: "none", message: "", details: [] } }),
      );
      await visit(page, "Overview");
      await page.getByRole("alert").waitFor();
      await settle(page);
      expect(await page.getByRole("alert").count()).toBe(1);
      await page.unroute(path);
      await page.getByRole("button", { name: "Try again" }).click();
      await page.locator(".tile").first().waitFor();
      expect(await page.getByRole("alert").count()).toBe(0);
    });

    test("makes an organization by the keyboard alone", async () => {
      const page = await stage().open();
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
      const focus = (): Promise<string> =>
        page.evaluate(`(() => {
          const at = document.activeElement;
          return (at.labels?.[0]?.textContent ?? at.textContent).trim();
        })()`) as Promise<string>;
      const tabTo = async (name: RegExp): Promise<void> => {
        for (let presses = 0; presses < 60; presses++) {
          await page.keyboard.press("Tab");
          if (name.test(await focus())) return;
        }
        throw new Error(`the Tab key does not lead to ${name}`);
      };
      await goByPalette(page, "Organizations");
      await tabTo(/^New organization$/);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "New organization" }).waitFor();
      await tabTo(/^Id/);
      await page.keyboard.type("keys");
      await tabTo(/^Name/);
      await page.keyboard.type("By keys");
      await tabTo(/^Create$/);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "By keys" }).waitFor();
      expect((await stage().operate("GET", "organizations/keys")).status).toBe(200);
    });

    test("gives an application a new secret, and both work for a while", async () => {
      const first = "the-first-secret-of-an-application-that-gets-another";
      await put("clients/demo.rotated", {
        tenant: "demo",
        confidential: true,
        grantTypes: ["client_credentials"],
        scopes: [],
        clientSecret: first,
      });
      const page = await stage().open({ path: "/applications/demo.rotated" });
      await page.getByRole("button", { name: "New secret" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "New secret" }).click();
      await page.getByText(/^The old secret works until/).waitFor();
      await page.getByRole("button", { name: "Copy: Secret" }).click();
      const second = (await page.evaluate("navigator.clipboard.readText()")) as string;
      expect(second).not.toBe(first);
      for (const secret of [first, second]) {
        const answer = await fetch(`${stage().url}/oauth2/v1/token`, {
          method: "POST",
          headers: { authorization: `Basic ${btoa(`demo.rotated:${encodeURIComponent(secret)}`)}` },
          body: new URLSearchParams({ grant_type: "client_credentials" }),
        });
        expect(answer.status).toBe(200);
      }
    });

    test("tests a provider: a right secret, a wrong one, and a provider that is away", async () => {
      const redirectUri = `${stage().url}/oauth2/v1/callback/office`;
      const provider = await makeOidcProvider({ redirectUri, emailIn: "userinfo" });
      await provider.start();
      const { issuer, clientId, clientSecret } = provider;
      const page = await stage().open();
      const tried = async (): Promise<string[]> => {
        await page.getByRole("button", { name: /^Test: / }).click();
        const panel = page.getByRole("dialog");
        await panel.getByRole("status").filter({ hasText: "sign-in by it" }).waitFor();
        expect(await barriers(page)).toEqual([]);
        const results = await panel.locator(".decision .hidden").allTextContents();
        await page.keyboard.press("Escape");
        await panel.waitFor({ state: "detached" });
        return results;
      };
      try {
        await put("identity-providers/office", { issuer, clientId, clientSecret });
        await visit(page, "Sign-in elsewhere");
        await settle(page);
        expect(await tried()).toEqual(["passed", "passed", "passed", "passed"]);
        await put("identity-providers/office", { issuer, clientId, clientSecret: "another" });
        expect(await tried()).toEqual(["passed", "passed", "passed", "failed"]);
      } finally {
        await provider.stop();
      }
      expect(await tried()).toEqual(["passed", "failed"]);
      await stage().operate("DELETE", "identity-providers/office");
    });

    test("finds an endpoint that refuses, with what it was asked and what it said", async () => {
      const { topic, token } = await makeTopic(stage());
      let isOpen = false;
      const endpoint = createServer((_, response) =>
        isOpen ? response.end() : response.writeHead(500).end("the store is closed"),
      );
      await new Promise<void>((listening) => endpoint.listen(0, "127.0.0.1", listening));
      const post = async (at: string, body: unknown) =>
        fetch(`${stage().url}/pubsub/v1/topics/${topic}/${at}`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify(body),
        });
      try {
        const { port } = endpoint.address() as AddressInfo;
        const basicAuth = { username: "u", password: "a password" };
        const pushConfig = { endpoint: `http://127.0.0.1:${port}/secret-path`, basicAuth };
        expect((await post("subscriptions", { name: "closed", pushConfig })).status).toBe(201);
        expect((await post("publish", { payload: '{"order": 4711}' })).status).toBe(201);
        const page = await stage().open({ path: `/topics/${topic}` });
        await page.getByText("1 in the last minute, 1 in the last hour").waitFor();
        await page.getByRole("link", { name: "closed" }).click();
        await page.getByRole("heading", { level: 1, name: "closed" }).waitFor();
        await page.locator("[role=row]", { hasText: "waiting" }).click();
        const panel = page.getByRole("dialog");
        await panel.getByRole("button", { name: "Request and answer" }).first().click();
        await panel.getByText("the store is closed").first().waitFor();
        const text = (await panel.textContent()) ?? "";
        expect(text).toContain(`POST http://127.0.0.1:${port}/…`);
        expect(text).toContain("webhook-id: ");
        expect(text).toContain("4711");
        expect(text).not.toMatch(/secret-path|a password|webhook-signature/);
        isOpen = true;
        await panel.getByText("delivered", { exact: true }).waitFor();
        await panel.getByText("accepted").waitFor();
        await settle(page);
        expect(await barriers(page)).toEqual([]);
        await page.emulateMedia({ colorScheme: "dark" });
        expect(await barriers(page, "colours")).toEqual([]);
      } finally {
        endpoint.close();
      }
    });

    test("learns on the overview which service does not answer", async () => {
      await put("services/demo-silent", {
        sourceUrl: "http://127.0.0.1:9/",
        proxyPath: "/silent/v1",
        scopes: [],
        tenant: "demo",
        access: "public",
      });
      expect((await fetch(`${stage().url}/silent/v1/`)).status).toBe(503);
      const page = await stage().open();
      const line = page.locator(".attention li", { hasText: "The service demo-silent does not answer" });
      // Counts are sent every ten seconds, and the page asks again every half a minute.
      await line.getByRole("link", { name: "Services and packages" }).click({ timeout: 70_000 });
      await page.getByRole("heading", { level: 1, name: "Services and packages" }).waitFor();
    });

    test("works in a browser that names a system without a language", async () => {
      const page = await stage().open();
      await page.addInitScript(`
        Object.defineProperty(navigator, "language", { value: "en-US@posix", configurable: true });
        Object.defineProperty(navigator, "languages", { value: ["en-US@posix"], configurable: true });
      `);
      await page.reload();
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
      await page.locator("canvas").first().waitFor();
    });

    test("has every page in German, without a word that is wider than the screen", async () => {
      const page = await stage().open({ viewport: { width: 360, height: 740 } });
      await page.getByRole("button", { name: /^Your account/ }).click();
      await page.getByText("Deutsch").click();
      await page.keyboard.press("Escape");
      await page.getByRole("heading", { level: 1, name: "Übersicht" }).waitFor();
      await page.getByRole("button", { name: "Menü" }).click();
      const links = page.getByRole("dialog").locator(".places a");
      await links.first().waitFor();
      const names = await links.allTextContents();
      await page.keyboard.press("Escape");
      expect(names.length).toBeGreaterThan(12);
      for (const name of names) {
        await page.getByRole("button", { name: "Menü" }).click();
        await page.getByRole("dialog").getByRole("link", { name, exact: true }).click();
        await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
        await settle(page);
        expect([name, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([name, 360]);
      }
    });
  });
}
