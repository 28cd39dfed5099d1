import { globSync, readFileSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildSite } from "../../scripts/site/build.ts";
import { launchChromium } from "../acceptance/support/chromium.ts";
import { startPlatform, type Platform } from "../acceptance/support/process/platform.ts";
import { stopGroup } from "../acceptance/support/process/program.ts";
import { newStateDir } from "../acceptance/support/process/state.ts";

/** The documentation as `npm start` serves it: its links, what a browser and a reader without eyes make of it. */
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const stateDir = newStateDir();
let platform: Platform;
let folder: string;
let browser: Browser;

beforeAll(async () => {
  [platform, browser] = await Promise.all([startPlatform({ STATE_DIR: stateDir, SITE: "" }), launchChromium()]);
  folder = await buildSite({ pathPrefix: "", platform: "plat" });
});
afterAll(async () => {
  await browser.close();
  await stopGroup(platform, "SIGKILL");
  rmSync(stateDir, { recursive: true, force: true });
});

/** Address of each page → its HTML. */
const pages = (): Map<string, string> =>
  new Map(
    globSync("docs/**/*.html", { cwd: folder }).map((path) => [
      `/${path.replace(/(\/index)?\.html$/, "")}`,
      readFileSync(join(folder, path), "utf8"),
    ]),
  );
const idsOf = (html: string): Set<string> => new Set(Array.from(html.matchAll(/\sid="([^"]*)"/g), ([, id]) => id!));
const ask = (path: string, init: RequestInit = {}) => fetch(`${platform.url}${path}`, init);

/** A page whose faults are gathered: what the policy refuses, what fails, what comes from elsewhere. */
async function open(colorScheme: "light" | "dark", width = 1280): Promise<{ page: Page; faults: string[] }> {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: platform.url });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(platform.url) && !/^(data|blob):/.test(request.url())) faults.push(request.url());
  });
  return { page, faults };
}

/** What axe finds on a page, with an element each. */
async function barriers(page: Page): Promise<string[]> {
  // What fades in is pale on the way.
  await page.evaluate(`Promise.all(document.getAnimations()
    .filter((one) => one.effect?.getComputedTiming().iterations !== Infinity)
    .map((one) => one.finished.catch(() => undefined)))`);
  await page.evaluate(AXE);
  const { violations } = (await page.evaluate("axe.run()")) as {
    violations: { id: string; nodes: { html: string }[] }[];
  };
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]!.html}`);
}

describe("the built documentation", () => {
  it("has no link that leads nowhere, and no id twice", async () => {
    const all = pages();
    expect(all.size).toBeGreaterThan(60);
    const faults: string[] = [];
    const others = new Set<string>();
    for (const [address, html] of all) {
      const ids = Array.from(html.matchAll(/\sid="([^"]*)"/g), ([, id]) => id);
      for (const id of new Set(ids))
        if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push(`${address}: ${id} twice`);
      for (const [, link = ""] of html.matchAll(/<a\s[^>]*href="([^"]*)"/g)) {
        const { pathname, hash, origin } = new URL(link.replaceAll("&amp;", "&"), `https://site.example${address}`);
        if (origin !== "https://site.example") continue;
        const target = all.get(pathname);
        if (target === undefined) others.add(pathname);
        else if (hash !== "" && !idsOf(target).has(decodeURIComponent(hash.slice(1))))
          faults.push(`${address}: ${link}`);
      }
    }
    for (const path of others) if ((await ask(path, { redirect: "manual" })).status !== 200) faults.push(path);
    expect(faults).toEqual([]);
  });

  it("offers each page as Markdown, and all of them to programs", async () => {
    const list = await (await ask("/llms.txt")).text();
    const links = Array.from(list.matchAll(/\]\(([^)]+\.md)\)/g), ([, link = ""]) => link);
    expect(links.length).toBeGreaterThan(40);
    for (const link of links) expect(statSync(join(folder, link)).size, link).toBeGreaterThan(200);
    const page = await ask("/docs/quickstart.md");
    expect(page.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
    expect(await page.text()).toMatch(/^# Quickstart\n/);
  });

  it("is small, asked for again, and kept for ever where its name is a digest", async () => {
    const sizes = globSync("**/*.*", { cwd: folder }).map((path) => statSync(join(folder, path)).size);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(16_000_000);
    const first = await ask("/docs/quickstart");
    expect(first.headers.get("cache-control")).toBe("public, max-age=0, must-revalidate, no-transform");
    const etag = first.headers.get("etag") ?? "";
    expect((await ask("/docs/quickstart", { headers: { "if-none-match": etag } })).status).toBe(304);
    const html = await first.text();
    const loaded = Array.from(html.matchAll(/(?:src|href)="(\/docs\/[^"]+\.(?:js|css))"/g), ([, path = ""]) => path);
    let bytes = html.length;
    for (const path of new Set(loaded)) {
      const answer = await ask(path);
      bytes += (await answer.arrayBuffer()).byteLength;
      if (path.startsWith("/docs/site/"))
        expect(answer.headers.get("cache-control"), path).toBe("public, max-age=31536000, immutable");
    }
    expect(bytes).toBeLessThan(300_000);
  });
});

describe("a reader", () => {
  it("finds a page by its words, without a network", async () => {
    const { page, faults } = await open("light");
    await page.goto(`${platform.url}/docs`);
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("textbox", { name: "Search" }).fill("dead letter");
    await page.getByRole("dialog").getByRole("link", { name: "Push", exact: true }).first().click();
    await page.waitForURL(/\/docs\/guides\/push/);
    expect(faults).toEqual([]);
  });

  it("copies code with the address and the keys of the platform on this machine", async () => {
    const { page, faults } = await open("light");
    const { clientSecret } = (await (await ask("/docs/local.json")).json()) as { clientSecret: string };
    await page.goto(`${platform.url}/docs/quickstart`);
    const block = page.locator(".expressive-code", { hasText: "grant_type=client_credentials" }).first();
    await block.getByText(clientSecret).waitFor();
    await block.hover();
    await block.getByRole("button", { name: "Copy to clipboard" }).click();
    expect(await page.evaluate("navigator.clipboard.readText()")).toContain(`-u "demo.shop:${clientSecret}"`);
    expect(await page.locator("main").textContent()).toContain(`PLINTH=${platform.url}`);
    expect(faults).toEqual([]);
  });

  it("tries an operation at the platform that serves the page", async () => {
    const { page, faults } = await open("light");
    await page.goto(`${platform.url}/docs/api#tag/topics/GET/pubsub/v1/topics`);
    await page
      .getByRole("button", { name: /Test Request/ })
      .first()
      .click();
    const answered = page.waitForResponse((response) => response.url().startsWith(`${platform.url}/pubsub/v1/topics`));
    await page.getByRole("button", { name: /^Send/ }).first().click();
    expect((await answered).status()).toBeLessThan(300);
    expect(faults.filter((fault) => !fault.startsWith("Hydration"))).toEqual([]);
  });

  it.each([
    { theme: "light", width: 1280 },
    { theme: "dark", width: 1280 },
    { theme: "light", width: 360 },
    { theme: "dark", width: 360 },
  ] as const)("meets no barrier in the reference of operations: $theme, $width px wide", async ({ theme, width }) => {
    const { page } = await open(theme, width);
    const found: string[] = [];
    const look = async (where: string): Promise<void> => {
      found.push(...(await barriers(page)).map((barrier) => `${where}: ${barrier}`));
      if (await page.evaluate("document.documentElement.scrollWidth > innerWidth")) found.push(`${where}: too wide`);
    };
    await page.goto(`${platform.url}/docs/api`);
    await page.getByRole("heading", { level: 1 }).first().waitFor();
    await look("first view");
    await page.goto(`${platform.url}/docs/api#tag/topics/POST/pubsub/v1/topics`);
    const request = page.getByRole("button", { name: /Test Request/ }).first();
    await request.waitFor();
    await look("an operation");
    await request.click();
    await page.getByRole("button", { name: /^Send/ }).first().waitFor();
    await look("try it");
    expect(found).toEqual([]);
  });

  it("needs to scroll no page sideways on a phone with letters twice as large", async () => {
    const { page } = await open("light", 360);
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Page.setFontSizes", { fontSizes: { standard: 32, fixed: 26 } });
    const wide: string[] = [];
    for (const address of pages().keys()) {
      await page.goto(`${platform.url}${address}`);
      await page.getByRole("heading", { level: 1 }).first().waitFor();
      if (await page.evaluate("document.documentElement.scrollWidth > innerWidth")) wide.push(address);
    }
    expect(wide).toEqual([]);
    await page.goto(`${platform.url}/docs`);
    // The name is not cut: without room for it, its sign stands alone.
    const shown = `getComputedStyle(document.querySelector(".site-title span")).clipPath`;
    expect(await page.evaluate(shown)).toBe("inset(50%)");
  });

  it.each([
    { theme: "light", width: 1280 },
    { theme: "dark", width: 1280 },
    { theme: "dark", width: 360 },
  ] as const)("meets no barrier: $theme, $width px wide", async ({ theme, width }) => {
    const { page, faults } = await open(theme, width);
    for (const address of ["", "/quickstart", "/concepts/tenants-and-scopes", "/reference/limits", "/nothing-here"]) {
      await page.goto(`${platform.url}/docs${address}`);
      expect(await barriers(page), address).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address).toBe(true);
    }
    expect(faults.filter((fault) => !fault.includes("404"))).toEqual([]);
  });
});
