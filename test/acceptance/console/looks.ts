import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { AXE, makeTopic, storeFile, visit, type Stage } from "./stage.ts";

/** Pages of the navigation: each has a heading, no barrier, and fits. */
const PAGES = [
  "Overview",
  "Audit log",
  "Tenants",
  "Organizations",
  "People",
  "Applications",
  "Roles",
  "Services and packages",
  "Sign-in elsewhere",
  "Signing keys",
  "Why a scope?",
  "Topics",
  "Files",
];
/** Single records, by their addresses, and the dialogs that they open. */
const RECORDS: readonly (readonly [path: string, heading: string, dialogs: readonly string[]])[] = [
  ["/tenants/demo", "Demo shop", []],
  ["/organizations/demo", "Demo", []],
  ["/people/ada@demo.example", "Ada", ["Delete"]],
  ["/applications/demo.web", "demo.web", ["New secret"]],
  ["/roles/operator", "operator", []],
  ["/explain?client=demo.web&user=ada@demo.example&scope=plat.nothing", "Why a scope?", []],
];
/** Pages that are reached from these by a link or button. */
const DEEPER: readonly (readonly [from: string, link: string, heading: string])[] = [
  ["Tenants", "New tenant", "New tenant"],
  ["Organizations", "New organization", "New organization"],
  ["People", "New account", "New account"],
  ["Applications", "New application", "New application"],
  ["Roles", "New role", "New role"],
  ["Files", "Work", "Work"],
  ["Files", "Deletions", "Deletions"],
];
const BUDGET_BYTES = 150 * 1024;

export function everyPageSuite(stage: () => Stage): void {
  describe("every page of the console", () => {
    test("has no barrier that axe finds, in both themes", async () => {
      const page = await stage().open({ colorScheme: "light" });
      const look = async (heading: string) => {
        await page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();
        await settle(page);
        expect(await barriers(page, "all"), heading).toEqual([]);
        await page.emulateMedia({ colorScheme: "dark" });
        expect(await barriers(page, "colours"), `${heading}, dark`).toEqual([]);
        await page.emulateMedia({ colorScheme: "light" });
      };
      for (const name of PAGES) {
        await visit(page, name);
        await look(name);
      }
      for (const [from, link, heading] of DEEPER) {
        await visit(page, from);
        await page.getByRole("link", { name: link }).click();
        await look(heading);
      }
    });

    test("has none on single records and their dialogs, and on a topic's", async () => {
      const { topic } = await makeTopic(stage());
      const records = [...RECORDS, [`/topics/${topic}`, topic.split("/")[1] ?? "", ["Publish an event"]] as const];
      const page = await stage().open({ colorScheme: "light" });
      for (const [path, , dialogs] of records) {
        await page.goto(`${stage().url}/console${path}`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await settle(page);
        for (const dialog of ["", ...dialogs]) {
          if (dialog !== "") {
            const opener = page.getByRole("button", { name: dialog, exact: true });
            if ((await opener.count()) === 0) continue;
            await opener.first().click();
            await page.getByRole("dialog").or(page.getByRole("alertdialog")).first().waitFor();
          }
          const where = `${path} ${dialog}`;
          expect(await barriers(page, "all"), where).toEqual([]);
          await page.emulateMedia({ colorScheme: "dark" });
          expect(await barriers(page, "colours"), `${where}, dark`).toEqual([]);
          await page.emulateMedia({ colorScheme: "light" });
          if (dialog !== "") await page.keyboard.press("Escape");
        }
      }
    });

    test("shows with the system's own colours what is chosen, and where the keyboard is", async () => {
      const page = await stage().open({ forcedColors: "active" });
      const colours = async (selector: string) =>
        page.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})].map(
          (element) => getComputedStyle(element).backgroundColor)`) as Promise<string[]>;
      const differs = async (chosen: string, others: string) => {
        const [one, ...rest] = [...(await colours(chosen)), ...(await colours(others))];
        expect(rest.length, others).toBeGreaterThan(0);
        expect(rest, chosen).not.toContain(one);
      };
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
      await differs(".places a.active", ".places a:not(.active)");
      await differs("[aria-pressed=true]", "[aria-pressed=false]");
      await visit(page, "Applications");
      await page.getByRole("link", { name: "New application" }).click();
      await page.getByRole("radio").first().waitFor();
      await differs(".choices [data-selected]", ".choices label:not([data-selected])");
      await page.keyboard.press("Control+k");
      await page.getByRole("searchbox").waitFor();
      await page.keyboard.press("ArrowDown");
      await page.locator("[role=option][data-focused]").waitFor();
      await differs("[role=option][data-focused]", "[role=option]:not([data-focused])");
      await page.keyboard.press("Escape");
      await visit(page, "Audit log");
      const box = page.locator("label.check");
      const before = await colours(".check .box");
      await box.click();
      expect(await colours(".check .box")).not.toEqual(before);
    });

    test("breaks no word of a button on a narrow screen, in German too", async () => {
      const page = await stage().open({ viewport: { width: 360, height: 740 } });
      await page.evaluate(`localStorage.setItem("plinth-language", "de")`);
      for (const path of ["/applications/demo.web", "/tenants/demo", "/people/ada@demo.example", "/keys", "/media"]) {
        await page.goto(`${stage().url}/console${path}`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await settle(page);
        expect([path, await page.evaluate(BROKEN_WORDS)]).toEqual([path, []]);
      }
    });

    test("shows a long address whole to the mouse, where a list cuts it", async () => {
      const email = `${"very.".repeat(10)}long@department-of-lengthy-subdomains.demo.example`;
      expect((await stage().operate("PUT", `users/${email}`, {})).status).toBe(201);
      const page = await stage().open({ path: "/people" });
      await page.locator("strong", { hasText: email }).waitFor();
      expect(await page.evaluate(CUT_WITHOUT_TITLE)).toEqual([]);
    });

    test("shows a very long name with its icon and id in the palette", async () => {
      const long = { organization: "demo", name: "Donaudampfschiff".repeat(7) };
      expect((await stage().operate("PUT", "tenants/donau", long)).status).toBe(201);
      const page = await stage().open({ viewport: { width: 360, height: 740 } });
      await page.getByRole("button", { name: "Find anything" }).click();
      await page.getByRole("searchbox").fill("donau");
      const found = page.getByRole("option", { name: /^Donaudampfschiff/ });
      await found.waitFor();
      expect((await found.locator("svg").boundingBox())?.width).toBeGreaterThan(15);
      const [name, id] = [await found.locator("bdi").boundingBox(), await found.locator("code").boundingBox()];
      expect(id?.height).toBeLessThan((name?.height ?? 0) / 2);
    });

    test("fits a screen of 360 pixels, where the navigation is a drawer", async () => {
      const page = await stage().open({ viewport: { width: 360, height: 740 } });
      for (const name of PAGES) {
        await page.getByRole("button", { name: "Menu" }).click();
        await page.getByRole("dialog").getByRole("link", { name, exact: true }).click();
        await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
        await settle(page);
        const width = await page.evaluate("document.documentElement.scrollWidth");
        expect([name, width]).toEqual([name, 360]);
      }
      await page.getByRole("button", { name: /^Your account/ }).click();
      expect(await barriers(page)).toEqual([]);
    });

    test.each([360, 1280])("fits with letters twice as large, %i pixels wide", async (width) => {
      const page = await stage().open({ viewport: { width, height: 800 } });
      const devtools = await page.context().newCDPSession(page);
      await devtools.send("Page.setFontSizes", { fontSizes: { standard: 32, fixed: 26 } });
      await page.reload();
      await page.getByRole("button", { name: "Find anything" }).waitFor();
      expect(await page.evaluate(CUT_WORDS)).toEqual([]);
      await page.locator("canvas").first().waitFor();
      expect(await page.evaluate(CHART_LETTERS)).toEqual([24]);
      for (const name of PAGES) {
        await page.getByRole("button", { name: "Menu" }).click();
        await page.getByRole("dialog").getByRole("link", { name, exact: true }).click();
        await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
        await settle(page);
        expect([name, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([name, width]);
        expect([name, await page.evaluate(CUT_ROWS)]).toEqual([name, []]);
        expect([name, await page.evaluate(SMALL_ICONS)]).toEqual([name, []]);
      }
      expect(await page.evaluate("getComputedStyle(document.body).fontSize")).toBe("30px");
    });

    test.each([360, 1280])(
      "fits with letters twice as large, in German and with data, %i pixels wide",
      async (width) => {
        const brand = { name: "Laden", accentColor: "#8a1c6b" };
        await stage().operate("PUT", "tenants/grand", { organization: "demo", name: "Großer Laden", brand });
        const machine = { confidential: true, grantTypes: ["client_credentials"], scopes: ["plat.media_view"] };
        await stage().operate("PUT", "tenants/grand/subscriptions/platform", {});
        await stage().operate("PUT", "clients/grand.shop", { tenant: "grand", ...machine });
        for (const name of ["one", "two", "three", "four", "five"])
          await storeFile(stage(), "grand/files/grand.shop/private", { name }, name);
        const page = await stage().open({ viewport: { width, height: 800 } });
        await page.evaluate(`localStorage.setItem("plinth-language", "de")`);
        const devtools = await page.context().newCDPSession(page);
        await devtools.send("Page.setFontSizes", { fontSizes: { standard: 32, fixed: 26 } });
        for (const path of ["/tenants/grand", "/media?tenant=grand&client=grand.shop"]) {
          await page.goto(`${stage().url}/console${path}`);
          await page.getByRole("heading", { level: 1 }).waitFor();
          await settle(page);
          expect([path, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([path, width]);
        }
        await expect.poll(() => page.locator(".file-tile").count()).toBeGreaterThan(1);
        expect(await page.evaluate(COVERING_TILES)).toEqual([]);
      },
    );

    test("gives each button of a page a name of its own, which a screen reader lists", async () => {
      const { operate } = stage();
      for (const name of ["one", "two"]) {
        const service = { sourceUrl: `https://${name}.example`, proxyPath: `/named/${name}`, tenant: "demo" };
        await operate("PUT", `services/named-${name}`, { ...service, scopes: [`named.${name}`], access: "token" });
        await operate("PUT", `packages/named-${name}`, { version: "1", organization: "demo", services: [] });
        const idp = { issuer: `https://${name}.example`, clientId: "x", clientSecret: "y" };
        await operate("PUT", `identity-providers/named-${name}`, idp);
        await operate("PUT", `users/named-${name}@demo.example`, {});
        await operate("PUT", `tenants/demo/members/named-${name}@demo.example`, { roles: [] });
        await operate("PUT", `tenants/demo/subscriptions/named-${name}`, {});
      }
      const page = await stage().open();
      for (const path of ["/services", "/providers", "/tenants/demo", "/applications/demo.web"]) {
        await page.goto(`${stage().url}/console${path}`);
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.getByRole("main").getByRole("button").first().waitFor();
        await settle(page);
        const tree = await page.getByRole("main").ariaSnapshot();
        const names = Array.from(tree.matchAll(/- button "([^"]+)"/g), ([, name]) => name);
        expect([path, names.filter((name, at) => names.indexOf(name) !== at)]).toEqual([path, []]);
      }
      for (const name of ["one", "two"]) {
        await operate("DELETE", `identity-providers/named-${name}`);
        await operate("DELETE", `tenants/demo/subscriptions/named-${name}`);
        for (const kind of ["packages", "services"]) await operate("DELETE", `${kind}/named-${name}`);
      }
    });

    test("fits a phone with events, and keeps what is chosen in view", async () => {
      const { topic, token } = await makeTopic(stage());
      const payload = JSON.stringify({ note: "a long text ".repeat(20) });
      const published = await fetch(`${stage().url}/pubsub/v1/topics/${topic}/publish`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ payload }),
      });
      expect(published.status).toBe(201);
      const page = await stage().open({ viewport: { width: 360, height: 740 }, path: `/topics/${topic}` });
      await page.getByRole("button", { name: "Look", exact: true }).click();
      await page.locator(".event").first().waitFor();
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);

      for (const name of ["first", "second"]) await storeFile(stage(), "demo/files/demo.shop/private", { name }, name);
      await page.goto(`${stage().url}/console/media?tenant=demo&client=demo.shop`);
      await page.locator(".tile-check").first().click();
      const bar = page.locator(".selection");
      await bar.waitFor();
      await page.evaluate("document.querySelector('.page').style.minHeight = '3000px', scrollTo(0, 1200)");
      expect((await bar.boundingBox())?.y).toBeGreaterThanOrEqual(52);
    });

    test("shows what is reached by the keyboard below its head, not behind it", async () => {
      const page = await stage().open({ path: "/applications/demo.web", viewport: { width: 360, height: 400 } });
      await page.getByRole("button", { name: "Delete" }).focus();
      await page.evaluate("document.querySelector('main').style.minHeight = '3000px', scrollTo(0, 2000)");
      for (let times = 0; times < 8; times++) {
        await page.keyboard.press("Shift+Tab");
        const hidden = `(({ top, height }) => height < 200 && top < 52)(document.activeElement.getBoundingClientRect())`;
        expect(await page.evaluate(hidden)).toBe(false);
      }
    });
  });
}

export function firstViewSuite(stage: () => Stage): void {
  describe("the first view", () => {
    test("needs less than 150 KiB of script, and nothing from elsewhere", async () => {
      const page = await stage().open();
      await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
      const loaded = (await page.evaluate(
        `performance.getEntriesByType("resource").map(({ name, startTime }) => ({ name, startTime }))`,
      )) as { readonly name: string; readonly startTime: number }[];
      expect(loaded.filter(({ name }) => !name.startsWith(stage().url))).toEqual([]);
      // The chart comes with the numbers, after the first view, and brings its colours (`theme-…`) before or after
      // itself.
      const chart = loaded.find(({ name }) => /\/(?:chart|theme)-/.test(name));
      const scripts = loaded
        .filter(({ name, startTime }) => name.endsWith(".js") && startTime < (chart?.startTime ?? Infinity))
        .map(({ name }) => name);
      const sizes = await Promise.all(
        scripts.map(async (address) => gzipSync(Buffer.from(await (await fetch(address)).arrayBuffer())).byteLength),
      );
      expect(sizes.length).toBeGreaterThan(3);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(BUDGET_BYTES);
    });

    test("is in the browser's language, and in the one that is chosen", async () => {
      const page = await stage().open();
      await page.getByRole("button", { name: /^Your account/ }).click();
      await page.getByText("Deutsch").click();
      await page.keyboard.press("Escape");
      await page.getByRole("heading", { level: 1, name: "Übersicht" }).waitFor();
      expect(await page.evaluate("document.documentElement.lang")).toBe("de");
    });
  });
}

/** Runs in the page: the words of buttons that do not stand on one line. */
const BROKEN_WORDS = `[...document.querySelectorAll(".button, .badge")].flatMap((button) => {
  const broken = [];
  const texts = document.createTreeWalker(button, NodeFilter.SHOW_TEXT);
  while (texts.nextNode())
    for (const { 0: word, index } of texts.currentNode.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      if (range.getClientRects().length > 1) broken.push(word);
    }
  return broken;
})`;

/** Runs in the page: bold texts that a list cuts and that the mouse does not show. */
const CUT_WITHOUT_TITLE = `[...document.querySelectorAll(".table strong")]
  .filter(({ scrollWidth, clientWidth, title, textContent }) => scrollWidth > clientWidth && title !== textContent)
  .map(({ textContent }) => textContent)`;

/** Runs in the page: the cells of tables whose text is higher than their row. */
const CUT_ROWS = `[...document.querySelectorAll(".table [role=gridcell], .table [role=rowheader]")]
  .filter(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight)
  .map(({ textContent }) => textContent)`;

/** Runs in the page: words of the head that are cut. Without room for them, the sign alone is shown. */
const CUT_WORDS = `[...document.querySelectorAll(".top span")]
  .filter((one) => one.scrollWidth > one.clientWidth && getComputedStyle(one).clipPath === "none")
  .map(({ textContent }) => textContent)`;

/** Runs in the page: file tiles that are higher than their place, and cover others. */
const COVERING_TILES = `[...document.querySelectorAll(".file-tile")]
  .map((tile) => tile.getBoundingClientRect().height - tile.parentElement.getBoundingClientRect().height)
  .filter((beyond) => beyond > 1)`;

/** Runs in the page: icons that are smaller than the letters beside them. */
const SMALL_ICONS = `[...document.querySelectorAll("svg")]
  .filter((icon) => icon.getBoundingClientRect().width > 0 && icon.parentElement.className !== "box")
  .filter((icon) => icon.getBoundingClientRect().width < Number.parseFloat(getComputedStyle(icon).fontSize))
  .map((icon) => icon.outerHTML)`;

/** Runs in the page: the sizes of the letters in its charts. */
const CHART_LETTERS = `[...new Set([...document.querySelectorAll("canvas")]
  .map((canvas) => Number.parseFloat(/[\\d.]+(?=px)/.exec(canvas.getContext("2d").font)[0]) / devicePixelRatio))]`;

/** Waits until nothing is loading and nothing fades. */
export async function settle(page: Page): Promise<void> {
  await expect.poll(() => page.locator(".loading").count()).toBe(0);
}

/**
 * In the other theme, colours alone are others. The component set's region for announcements may still name a button
 * of the page before.
 */
export async function barriers(page: Page, what: "all" | "colours" = "all"): Promise<string[]> {
  await page.evaluate(`window.axe ?? (() => { ${AXE} })()`);
  const rules = what === "all" ? "{}" : `{ runOnly: ["color-contrast"] }`;
  const { violations } = (await page.evaluate(`axe.run({ exclude: ["[data-live-announcer]"] }, ${rules})`)) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`);
}
