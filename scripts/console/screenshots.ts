import { mkdirSync, rmSync, statSync, writeFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import sharp from "sharp";
import { launchChromium } from "../../test/acceptance/support/chromium.ts";
import { localSecret, newStateDir, startPlatform, stopGroup } from "../../test/acceptance/support/platform-process.ts";
import { ROOT } from "../lib/root.ts";

/**
 * The table of pages and states in docs/console.md: a contact sheet for each theme and width, taken in Chromium at a
 * platform that it starts. A state is made by answering the console's own requests: never (loading), with nothing
 * (empty), with a 403 (refused), with a 500 (failed); full is what the platform has.
 */
const STATES = ["full", "loading", "empty", "refused", "failed"] as const;
type State = (typeof STATES)[number];

const PAGES = [
  ["", "Overview"],
  ["/tenants", "Tenants"],
  ["/tenants/demo", "A tenant"],
  ["/people", "People"],
  ["/applications", "Applications"],
  ["/applications/new", "New application"],
  ["/roles", "Roles"],
  ["/services", "Services"],
  ["/keys", "Signing keys"],
  ["/audit", "Audit log"],
  ["/topics", "Topics"],
] as const;
const SHEETS = [
  { theme: "light", width: 1280, height: 800, shown: 208 },
  { theme: "dark", width: 1280, height: 800, shown: 208 },
  { theme: "light", width: 360, height: 640, shown: 116 },
  { theme: "dark", width: 360, height: 640, shown: 116 },
] as const;
type Sheet = (typeof SHEETS)[number];

const GAP = 8;
const LABEL = 22;
const SIDE = 118;
const FOLDER = join(ROOT, "docs", "pictures", "console");
const DOCUMENT = join(ROOT, "docs", "console.md");
const [BEGIN, END] = ["<!-- screenshots -->", "<!-- /screenshots -->"];
/** For looking at them: every picture in its full size. */
const LARGE = join(ROOT, ".build", "screenshots");

export async function takeScreenshots(): Promise<void> {
  const stateDir = newStateDir();
  const [platform, browser] = await Promise.all([startPlatform({ STATE_DIR: stateDir, SITE: "" }), launchChromium()]);
  mkdirSync(FOLDER, { recursive: true });
  mkdirSync(LARGE, { recursive: true });
  try {
    const lines: string[] = [];
    for (const sheet of SHEETS) {
      const { theme: colorScheme, width, height } = sheet;
      const context = await browser.newContext({ locale: "en-GB", colorScheme, viewport: { width, height } });
      const name = `${sheet.theme}-${width}.webp`;
      await contactSheet(sheet, await takeAll(context, platform.url, sheet), join(FOLDER, name));
      await context.close();
      const size = width < 700 ? `${width} px` : `${width} px, as on a desk`;
      lines.push(`### ${sheet.theme === "light" ? "Light" : "Dark"}, ${size}`, "");
      lines.push(`![Every page in every state, ${sheet.theme}, ${width} pixels wide](pictures/console/${name})`, "");
      console.log(`${name}: ${Math.round(statSync(join(FOLDER, name)).size / 1024)} KiB`);
    }
    writeTable(lines);
  } finally {
    await browser.close();
    await stopGroup(platform, "SIGKILL");
    rmSync(stateDir, { recursive: true, force: true });
  }
}

/** Rows are pages, columns are states. */
async function takeAll(context: BrowserContext, url: string, { theme, width }: Sheet): Promise<Buffer[][]> {
  const page = await context.newPage();
  let state: State = "full";
  await page.route(/\/(admin\/v1|health)\//, async (route) => {
    switch (state) {
      case "full":
        return route.continue();
      case "loading":
        return;
      case "empty":
        return isRecord(route.request().url())
          ? route.fulfill({ status: 404, json: PROBLEMS.missing })
          : route.fulfill({ status: 200, json: emptyOf(route.request().url()) });
      case "refused":
        return route.fulfill({ status: 403, json: PROBLEMS.refused });
      case "failed":
        return route.fulfill({ status: 500, json: PROBLEMS.failed, headers: { "plat-request-id": "7f3a9c2e" } });
    }
  });
  await page.goto(`${url}/console`);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByLabel("E-mail address").fill("olga@demo.example");
  await page.getByLabel("Password").fill(localSecret("DEMO_OPERATOR_PASSWORD"));
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(/\/console\/?$/);
  await page.locator("h1").first().waitFor();
  const rows: Buffer[][] = [];
  for (const [path, title] of PAGES) {
    const row: Buffer[] = [];
    for (state of STATES) {
      await page.goto(`${url}/console${path}`);
      await page.locator("h1:visible, h2:visible").first().waitFor();
      await settle(page, state);
      const picture = await page.screenshot();
      writeFileSync(join(LARGE, `${title.replaceAll(" ", "-")}-${state}-${theme}-${width}.png`), picture);
      row.push(picture);
    }
    rows.push(row);
  }
  return rows;
}

async function settle(page: Page, state: State): Promise<void> {
  await page.waitForTimeout(350);
  if (state === "loading") return;
  for (let looks = 0; looks < 20 && (await page.locator(".loading").count()) > 0; looks++)
    await page.waitForTimeout(250);
}

const PROBLEMS = {
  refused: {
    type: "insufficient_permissions",
    message: "The access token lacks the scope plat.admin_read.",
    details: [],
  },
  missing: { type: "element_resource_non_existing", message: "There is no such tenant.", details: [] },
  failed: { type: "internal_service_error", message: "Something failed on our side.", details: [] },
} as const;

/** A single record is there or missing. */
const isRecord = (address: string): boolean => new URL(address).pathname.endsWith("/tenants/demo");

/** What a new platform would answer. */
function emptyOf(address: string): unknown {
  const { pathname } = new URL(address);
  if (pathname.endsWith("/health/deep")) return { status: "ok", checkedAt: Date.now(), checks: [] };
  if (pathname.endsWith("/attention")) return { items: [] };
  if (pathname.endsWith("/metrics")) return { from: 0, to: 0, stepMs: 60_000, series: [] };
  if (pathname.includes("/metrics/")) return { tenants: [] };
  return [];
}

async function contactSheet({ width, height, shown }: Sheet, rows: Buffer[][], path: string): Promise<void> {
  const tall = Math.round((height / width) * shown);
  const [wide, high] = [SIDE + STATES.length * (shown + GAP), LABEL + rows.length * (tall + GAP)];
  const words = [
    ...STATES.map((state, at) => text(SIDE + at * (shown + GAP) + shown / 2, 15, state, "middle")),
    ...PAGES.map(([, title], at) => text(4, LABEL + at * (tall + GAP) + 18, title, "start")),
  ];
  const labels = Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${high}">${words.join("")}</svg>`,
  );
  const pictures = await Promise.all(
    rows.flatMap((row, at) =>
      row.map(async (picture, column) => ({
        input: await sharp(picture).resize(shown, tall).png().toBuffer(),
        left: SIDE + column * (shown + GAP),
        top: LABEL + at * (tall + GAP),
      })),
    ),
  );
  await sharp({ create: { width: wide, height: high, channels: 3, background: "#8b93a1" } })
    .composite([{ input: labels, left: 0, top: 0 }, ...pictures])
    .webp({ quality: 45, effort: 6 })
    .toFile(path);
}

const text = (x: number, y: number, words: string, anchor: string): string =>
  `<text x="${x}" y="${y}" text-anchor="${anchor}" font-family="sans-serif" font-size="13" fill="#10131a">${words}</text>`;

function writeTable(lines: readonly string[]): void {
  const whole = readFileSync(DOCUMENT, "utf8");
  const before = whole.includes(BEGIN) ? whole.slice(0, whole.indexOf(BEGIN)) : `${whole.trimEnd()}\n\n`;
  const after = whole.includes(END) ? whole.slice(whole.indexOf(END) + END.length) : "\n";
  const head = [BEGIN, "", "## Pages and states", "", "`npm run console -- screenshots` takes these in Chromium.", ""];
  writeFileSync(DOCUMENT, `${before}${[...head, ...lines].join("\n")}${END}${after}`);
}
