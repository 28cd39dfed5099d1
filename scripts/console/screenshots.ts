import { mkdirSync, rmSync, statSync, writeFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import sharp from "sharp";
import { launchChromium } from "../../test/acceptance/support/chromium.ts";
import { startPlatform } from "../../test/acceptance/support/process/platform.ts";
import { stopGroup } from "../../test/acceptance/support/process/program.ts";
import { localSecret, newStateDir } from "../../test/acceptance/support/process/state.ts";
import { ROOT } from "../lib/root.ts";
import { setScene, type Scene } from "./scene.ts";

/**
 * The table of pages and states in docs/console.md: a contact sheet for each theme and width, taken in Chromium at a
 * platform that it starts. For each state, the script answers the console's requests: never (loading), without rows
 * (empty), with a 403 (refused), with a 500 (failed); or the platform itself does (full).
 */
const STATES = ["full", "loading", "empty", "refused", "failed"] as const;
type State = (typeof STATES)[number];

/** Addresses below `/console`, with the page's name in the table. */
const pagesOf = (scene: Scene): readonly (readonly [path: string, title: string])[] => [
  ["", "Overview"],
  ["/tenants", "Tenants"],
  ["/tenants/new", "New tenant"],
  ["/tenants/demo", "A tenant"],
  ["/organizations", "Organizations"],
  ["/organizations/demo", "An organization"],
  ["/people", "People"],
  ["/people/ada@demo.example", "A person"],
  ["/applications", "Applications"],
  ["/applications/new", "New application"],
  ["/applications/demo.web", "An application"],
  ["/roles", "Roles"],
  ["/roles/operator", "A role"],
  ["/services", "Services"],
  ["/providers", "Sign-in elsewhere"],
  ["/keys", "Signing keys"],
  ["/explain?client=demo.web&user=ada@demo.example&scope=plat.nothing", "Why a scope?"],
  ["/audit", "Audit log"],
  ["/topics", "Topics"],
  [scene.topic, "A topic"],
  [scene.push, "A push"],
  [`/media${OF_SHOP}`, "Files"],
  [scene.file, "A file"],
  [`/media/erasures${OF_SHOP}`, "Deletions"],
  [scene.deletion, "A deletion"],
  [`/media/work${OF_SHOP}`, "Work"],
  [scene.comparison, "A comparison"],
];
type Pages = ReturnType<typeof pagesOf>;
const OF_SHOP = "?tenant=demo&client=demo.shop";
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
/** The folder for every picture in its full size, to look at. */
const LARGE = join(ROOT, ".build", "screenshots");

export async function takeScreenshots(): Promise<void> {
  const stateDir = newStateDir();
  const [platform, browser] = await Promise.all([startPlatform({ STATE_DIR: stateDir, SITE: "" }), launchChromium()]);
  mkdirSync(FOLDER, { recursive: true });
  mkdirSync(LARGE, { recursive: true });
  let scene: Scene | undefined;
  try {
    scene = await setScene(platform.url);
    const pages = pagesOf(scene);
    // The sheets are made at the same time, since most of the time is waiting.
    const sections = SHEETS.map(async (sheet): Promise<readonly string[]> => {
      const { theme: colorScheme, width, height } = sheet;
      const context = await browser.newContext({ locale: "en-GB", colorScheme, viewport: { width, height } });
      const name = `${sheet.theme}-${width}.webp`;
      await contactSheet(sheet, pages, await takeAll(context, platform.url, pages, sheet), join(FOLDER, name));
      await context.close();
      console.log(`${name}: ${Math.round(statSync(join(FOLDER, name)).size / 1024)} KiB`);
      const size = width < 700 ? `${width} px` : `${width} px, as on a desk`;
      return [
        `### ${sheet.theme === "light" ? "Light" : "Dark"}, ${size}`,
        "",
        `![Every page in every state, ${sheet.theme}, ${width} pixels wide](pictures/console/${name})`,
        "",
      ];
    });
    writeTable((await Promise.all(sections)).flat());
  } finally {
    scene?.end();
    await browser.close();
    await stopGroup(platform, "SIGKILL");
    rmSync(stateDir, { recursive: true, force: true });
  }
}

/** Rows are pages, columns are states. */
async function takeAll(
  context: BrowserContext,
  url: string,
  pages: Pages,
  { theme, width }: Sheet,
): Promise<Buffer[][]> {
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
  for (const [path, title] of pages) {
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
  const isReady = async () =>
    (await page.locator(".loading, div.chart-frame:not(:has(canvas))").count()) === 0 &&
    (await page.evaluate(ALL_LOADED));
  for (let looks = 0; looks < 20 && !(await isReady()); looks++) await page.waitForTimeout(250);
}

/** Waits until the images in view are drawn. Images further down load only when somebody scrolls. */
const ALL_LOADED = `Promise.all([...document.images]
  .filter((image) => image.getBoundingClientRect().top < innerHeight)
  .map(async (image) => image.naturalWidth > 0 && (await image.decode().then(() => true, () => false))))
  .then((drawn) => drawn.every(Boolean))`;

const PROBLEMS = {
  refused: {
    type: "insufficient_permissions",
    message: "The access token lacks the scope plat.admin_read.",
    details: [],
  },
  missing: { type: "element_resource_non_existing", message: "There is nothing of this name.", details: [] },
  failed: { type: "internal_service_error", message: "Something failed on our side.", details: [] },
} as const;

/** Tells whether the address is of a single record, which is there or missing, but never empty. */
const isRecord = (address: string): boolean => RECORDS.test(new URL(address).pathname);
const RECORDS =
  /\/(tenants\/demo|organizations\/demo|users\/[^/]+|clients\/[^/]+|roles\/[^/]+|topics\/[^/]+\/[^/]+|push-subscriptions\/[^/]+|v1\/files\/[^/]+|v1\/erasures\/[^/]+|explain|media\/consistency\/[^/]+)$/;

/** The answer of a new platform. */
function emptyOf(address: string): unknown {
  const { pathname } = new URL(address);
  if (pathname.endsWith("/health/deep")) return { status: "ok", checkedAt: Date.now(), checks: [] };
  if (pathname.endsWith("/attention")) return { items: [] };
  if (pathname.endsWith("/metrics"))
    return { from: Date.now() - 3_600_000, to: Date.now(), stepMs: 60_000, series: [] };
  if (pathname.endsWith("/variants")) return { waiting: 0, more: false };
  if (pathname.includes("/metrics/")) return { tenants: [] };
  return [];
}

async function contactSheet(
  { width, height, shown }: Sheet,
  pages: Pages,
  rows: Buffer[][],
  path: string,
): Promise<void> {
  const tall = Math.round((height / width) * shown);
  const [wide, high] = [SIDE + STATES.length * (shown + GAP), LABEL + rows.length * (tall + GAP)];
  const words = [
    ...STATES.map((state, at) => text(SIDE + at * (shown + GAP) + shown / 2, 15, state, "middle")),
    ...pages.map(([, title], at) => text(4, LABEL + at * (tall + GAP) + 18, title, "start")),
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
