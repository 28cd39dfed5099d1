import type { Locator, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { makeTopic, visit, type Stage } from "./stage.ts";

/** A form of the console, and how people fill it in wrongly. */
interface FormStory {
  readonly what: string;
  /** Goes to the form, on a page of the console. */
  readonly open: (page: Page, stage: Stage) => Promise<unknown>;
  readonly act: string;
  /** Labels of fields that need a value. */
  readonly needed: readonly string[];
  /** By label: a value that the service refuses, and one that it takes. */
  readonly bad: Readonly<Record<string, readonly [bad: string, good: string]>>;
}

const click = async (page: Page, role: "link" | "button", name: string): Promise<void> =>
  page.getByRole(role, { name, exact: true }).first().click();

const made = (list: string, name: string) => async (page: Page) => {
  await visit(page, list);
  await click(page, "link", name);
};

const opened = (list: string, name: string) => async (page: Page) => {
  await visit(page, list);
  await click(page, "button", name);
};

const STORIES: readonly FormStory[] = [
  {
    what: "a tenant",
    open: made("Tenants", "New tenant"),
    act: "Create",
    needed: ["Id", "Name", "Organization"],
    bad: {
      Id: ["Not An Id", "good1"],
      Name: ["x".repeat(400), "Good"],
      Organization: ["nowhere", "demo"],
      "At most this many bytes": ["-1", "1"],
    },
  },
  {
    what: "an organization",
    open: made("Organizations", "New organization"),
    act: "Create",
    needed: ["Id", "Name"],
    bad: { Id: ["Not An Id", "good1"], Name: ["x".repeat(400), "Good"] },
  },
  {
    what: "an account",
    open: made("People", "New account"),
    act: "Create",
    needed: ["E-mail address"],
    bad: {
      "E-mail address": ["no address", "good@demo.example"],
      Password: ["short", "a good long password of it"],
      Name: ["x".repeat(400), "Good"],
    },
  },
  {
    what: "a role",
    open: made("Roles", "New role"),
    act: "Create",
    needed: ["Name"],
    bad: { Name: ["no name!", "good"], Scopes: ['a"quote', "good.scope"] },
  },
  {
    what: "an application",
    open: async (page) => {
      await made("Applications", "New application")(page);
      await page.getByRole("radio", { name: /^Server/ }).check({ force: true });
      await click(page, "button", "Next");
    },
    act: "Create",
    needed: ["Client id", "Tenant", "Redirect addresses"],
    bad: {
      "Client id": ["no id!", "demo.good"],
      Tenant: ["nowhere", "demo"],
      Name: ["no name!", "demo.good"],
      "Redirect addresses": ["nowhere", "https://good.example/back"],
      "Addresses after signing out": ["nowhere", "https://good.example/"],
      "Address for logout tokens": ["nowhere", "https://good.example/out"],
      Scopes: ['a"quote', "good.scope"],
    },
  },
  {
    what: "a service",
    open: opened("Services and packages", "New service"),
    act: "Save",
    needed: ["Name", "Private address", "Path at the gateway", "Tenant"],
    bad: {
      Name: ["no name!", "good"],
      "Private address": ["nowhere", "https://good.example"],
      "Path at the gateway": ["nowhere", "/good/v1"],
      Tenant: ["nowhere", "demo"],
      Scopes: ["plat.admin_write", "good.view"],
      "Words for people": ["unknown: words", "good.view: see good things"],
    },
  },
  {
    what: "a package",
    open: opened("Services and packages", "New package"),
    act: "Save",
    needed: ["Id", "Version", "Organization"],
    bad: {
      Id: ["no id!", "good"],
      Version: ["x".repeat(400), "1"],
      Organization: ["nowhere", "demo"],
      "Services in it": ["nowhere", ""],
    },
  },
  {
    what: "a provider",
    open: opened("Sign-in elsewhere", "New provider"),
    act: "Save",
    needed: ["Issuer", "Our client id there", "Our client secret there", "Scopes asked for"],
    bad: {
      Id: ["no id!", "good"],
      Issuer: ["nowhere", "https://good.example"],
      "Our client id there": ["x".repeat(2_000), "good"],
      "Scopes asked for": ["profile", "openid"],
      "E-mail domains that it may vouch for": ["not a domain!", "good.example"],
      "Tenants that it may reach": ["nowhere", "demo"],
      "Name on the sign-in page": ["x".repeat(400), "Good"],
    },
  },
  {
    what: "a member",
    open: async (page) => {
      await visit(page, "Tenants");
      await page.getByRole("row", { name: /Demo shop/ }).click();
      await click(page, "button", "Add a member");
    },
    act: "Save",
    needed: ["E-mail address"],
    bad: { "E-mail address": ["stranger@demo.example", "ada@demo.example"], Roles: ["nowhere", ""] },
  },
  {
    what: "a subscription",
    open: async (page) => {
      await visit(page, "Tenants");
      await page.getByRole("row", { name: /Demo shop/ }).click();
      await click(page, "button", "Subscribe");
    },
    act: "Subscribe",
    needed: ["Package"],
    bad: { Package: ["nowhere", "good"] },
  },
  {
    what: "an event",
    open: async (page, stage) => {
      const { topic } = await makeTopic(stage);
      await visit(page, "Topics");
      await page.getByText(topic.split("/")[0] ?? "", { exact: true }).click();
      await click(page, "button", "Publish an event");
    },
    act: "Publish an event",
    needed: ["Payload"],
    bad: { Metadata: ['{"kind": 1}', '{"kind": "1"}'], Tenant: ["Not A Tenant", "demo"] },
  },
];

/** What each form does with wrong values, without a connection, and for somebody who may only look. */
export function formsSuite(stage: () => Stage): void {
  describe.each(STORIES)("the form of $what", ({ open, act, needed, bad }) => {
    test("shows at each field what is wrong, says what to do, and loses nothing that was typed", async () => {
      const page = await stage().open();
      page.setDefaultTimeout(10_000);
      await open(page, stage());
      const form = page.locator("form.form");
      const send = () => form.getByRole("button", { name: act, exact: true }).click();
      const field = (label: string) =>
        form.getByLabel(label, { exact: true }).or(form.getByLabel(`${label} (optional)`));
      const labels = Object.keys(bad);
      const typed = Object.fromEntries(Object.entries(bad).map(([label, [value]]) => [label, value]));
      const sent: string[] = [];
      page.on("request", (request) => {
        if (request.url().includes("/admin/v1/") && request.method() !== "GET") sent.push(request.method());
      });

      for (const label of needed) await field(label).fill("");
      await send();
      for (const label of needed)
        await expect.poll(async () => errorOf(field(label)), { message: label }).toBe("This is needed.");
      expect(sent).toEqual([]);

      for (const [label, value] of Object.entries(typed)) await field(label).fill(value);
      for (const label of needed) if ((await field(label).inputValue()) === "") await field(label).fill("something");
      const kept = async () =>
        Object.fromEntries(await Promise.all(labels.map(async (label) => [label, await field(label).inputValue()])));
      await page.route("**/admin/v1/**", async (route) =>
        route.request().method() === "GET" ? route.continue() : route.abort(),
      );
      await send();
      await form.getByRole("alert").getByText("Nothing that you typed is lost").waitFor();
      expect(await kept()).toEqual(typed);
      await page.unroute("**/admin/v1/**");

      const refusal = { type: "insufficient_permissions", message: "no right", details: [] };
      await page.route("**/admin/v1/**", async (route) =>
        route.request().method() === "GET" ? route.continue() : route.fulfill({ status: 403, json: refusal }),
      );
      await send();
      await form.getByRole("alert").getByText("You may not change this").waitFor();
      expect(await kept()).toEqual(typed);
      await page.unroute("**/admin/v1/**");

      // The service looks at some values after others, so what is wrong is mended until nothing is left.
      const seen: string[] = [];
      while (seen.length < labels.length) {
        await Promise.all([page.waitForResponse((answer) => answer.request().method() !== "GET"), send()]);
        await form.locator(".field-error, [role=alert]").first().waitFor();
        expect(await form.getByRole("alert").allTextContents()).toEqual([]);
        const now: string[] = [];
        for (const label of labels) if ((await errorOf(field(label))) !== undefined) now.push(label);
        expect(
          now.filter((label) => seen.includes(label)),
          "mended and still refused",
        ).toEqual([]);
        expect(now.length, `wrong fields after ${seen.join()}`).toBeGreaterThan(0);
        seen.push(...now);
        if (seen.length < labels.length) for (const label of now) await field(label).fill(bad[label]?.[1] ?? "");
      }
    });
  });
}

/** The error at a field, as a screen reader gets it too. */
async function errorOf(field: Locator): Promise<string | undefined> {
  const ids = (await field.getAttribute("aria-describedby"))?.split(" ") ?? [];
  for (const id of ids) {
    const error = field.page().locator(`.field-error[id="${id}"]`);
    if ((await error.count()) > 0) return (await error.textContent())?.trim();
  }
  return undefined;
}
