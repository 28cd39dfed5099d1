import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../scripts/lib/local/free-port.ts";
import { findPython } from "../../scripts/lib/local/python.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { launchChromium } from "../acceptance/support/chromium.ts";
import { npmAnswers } from "./support/registry.ts";

/**
 * A stranger with nothing but a shell, a browser and the documents: what README.md and docs/start say is run word by
 * word in a fresh clone of the last commit, with applications beside it. Only ports differ.
 *
 *   clone ──▶ npm start ──▶ init in their own app ──▶ the printed code ──▶ a signed-in person: timed
 *          then the quickstarts, each copied out of the clone
 */
const hasNpm = await npmAnswers();
const LIMIT_MS = 300_000;
const world = mkdtempSync(join(tmpdir(), "plinth-stranger-"));
const clone = join(world, "plinth");
const children: ChildProcess[] = [];
let port = 0;
let startedMs = 0;
let platform: Running;

/** The blocks of a page that have no language: what to type, or a part of it. */
const blocks = (page: string): string[] =>
  Array.from(readFileSync(join(ROOT, page), "utf8").matchAll(/^```([^\n]*)\n([^]*?)^```$/gm))
    .filter(([, info]) => info === "")
    .map(([, , block = ""]) => block);
const blockWith = (page: string, words: string): string =>
  blocks(page).find((block) => block.includes(words)) ?? expect.fail(`${page} has no block with ${words}`);

interface Running {
  output(): string;
  readonly ended: Promise<number>;
  /** Waits for words of the output. */
  said(words: string | RegExp, timeoutMs?: number): Promise<void>;
}

/** Without what belongs to this test run or to another application. */
const SURROUNDINGS = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(VITEST|NODE_ENV|NODE_OPTIONS|NODE_COMPILE_CACHE|TEST|CI$|PLINTH_|STATE_DIR|SITE$|npm_)/.test(name),
  ),
);

/** Types lines into a shell. */
function type(lines: string, cwd: string, more: Record<string, string> = {}): Running {
  const env = { ...SURROUNDINGS, PORT: String(port), ...more };
  const child = spawn("bash", ["-euo", "pipefail", "-c", lines], {
    cwd,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part: Buffer) => (output += part.toString()));
  const ended = once(child, "close").then(([code]) => code as number);
  return {
    output: () => output,
    ended,
    async said(words, timeoutMs = 60_000) {
      await expect
        .poll(() => (child.exitCode === null ? output : `${output}\n(ended)`), { timeout: timeoutMs, interval: 100 })
        .toMatch(words);
    },
  };
}
async function typeAll(lines: string, cwd: string, more?: Record<string, string>): Promise<string> {
  const run = type(lines, cwd, more);
  expect(await run.ended, run.output()).toBe(0);
  return run.output();
}

beforeAll(() => mkdirSync(join(world, "my-own-app")));
afterAll(() => {
  for (const { pid } of children)
    try {
      if (pid !== undefined) process.kill(-pid, "SIGKILL");
    } catch {}
  // The packages of several applications: many thousand files.
  rmSync(world, { recursive: true, force: true });
}, 300_000);

async function signIn(page: Page): Promise<void> {
  const password = /ada@demo\.example\W+(?:password )?(\S+)/.exec(platform.output())?.[1] ?? "";
  await page.getByLabel("E-mail address").fill("ada@demo.example");
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** The person's own app: a page by Vite, which knows nothing of the platform. */
function ownApp(): string {
  const folder = join(world, "my-own-app");
  writeFileSync(
    join(folder, "package.json"),
    '{ "private": true, "type": "module", "devDependencies": { "vite": "*" } }',
  );
  writeFileSync(join(folder, "index.html"), '<!doctype html><script type="module" src="/main.js"></script>');
  writeFileSync(join(folder, "main.js"), "");
  return folder;
}

test.skipIf(!hasNpm)(
  "from git clone to a signed-in person in an own app: three commands and one piece of code",
  { timeout: 400_000 },
  async () => {
    const browser = await launchChromium();
    port = await freePort("127.0.0.1");
    const app = ownApp();
    const [cloning = "", starting = "", ...more] = blockWith("README.md", "git clone").trim().split("\n");
    expect(more).toEqual([]);
    startedMs = performance.now();
    await typeAll(cloning.replace(/<[^>]*>/, ROOT), world);
    platform = type(starting, world);
    await platform.said(/^ready /m, LIMIT_MS);
    const startMs = performance.now() - startedMs;

    const init = blockWith("README.md", "cli init").trim();
    expect(init.split("\n")).toHaveLength(1);
    const said = await typeAll(init, app);
    const [, file = "", code = ""] = /^1\. (\S+)\n\n([^]*?)\n2\. Run$/m.exec(said) ?? [];
    writeFileSync(join(app, file), code);

    const appPort = await freePort("127.0.0.1");
    const vite = type(`exec node node_modules/vite/bin/vite.js --host 127.0.0.1 --port ${appPort} --strictPort`, app);
    await vite.said("ready in");
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${appPort}/`);
      await page.getByRole("button", { name: "Sign in" }).click();
      await signIn(page);
      await page.getByRole("button", { name: "Hello ada@demo.example. Sign out" }).waitFor();
      const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;
      const wholeMs = performance.now() - startedMs;
      console.log(`signed in after ${seconds(wholeMs)}, of which ${seconds(startMs)} until the platform was ready`);
      expect(wholeMs).toBeLessThan(LIMIT_MS);
    } finally {
      await browser.close();
    }
  },
);

/** What the pages call `…:8787`, and the ports of their applications, as they are here. */
const here = (text: string, ports: Readonly<Record<string, number>> = {}): string =>
  Object.entries({ "8787": port, ...ports }).reduce((all, [from, to]) => all.replaceAll(from, String(to)), text);

test.skipIf(!hasNpm)("the quickstarts of Node and the browser, as their pages say", { timeout: 300_000 }, async () => {
  const urls = { PLINTH_URL: here("http://127.0.0.1:8787"), VITE_PLINTH_URL: here("http://127.0.0.1:8787") };
  await typeAll(blockWith("docs/start/node.md", "cp -r"), clone);
  const [setting = "", worker = "", publish = ""] = blockWith("docs/start/node.md", "worker.ts").trim().split("\n");
  const service = join(world, "my-service");
  const path = { ...urls, PATH: `${join(ROOT, "node_modules/.bin")}:${process.env["PATH"]}` };
  const working = type(`${setting}; exec ${worker}`, service, path);
  await working.said("waiting for orders");
  await typeAll(`${setting}; ${publish}`, service, path);
  await working.said("order 4711");

  const appPort = await freePort("127.0.0.1");
  const app = type(here(blockWith("docs/start/browser-app.md", "cp -r"), { "5173": appPort }), clone, urls);
  await app.said("ready in", 120_000);
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${appPort}/`);
    await page.getByRole("button", { name: "Sign in" }).click();
    await signIn(page);
    await page.getByText("order 4711").first().waitFor();
  } finally {
    await browser.close();
  }
  // A client of one's own, with an address where it is deployed.
  const own = join(world, "my-app");
  await typeAll(
    `${blockWith("docs/start/browser-app.md", "cli init")}${blockWith("docs/start/browser-app.md", "client set")}`,
    own,
  );
  expect(readFileSync(join(own, ".env"), "utf8")).toContain('PLINTH_CLIENT_ID="demo.my-app"');
});

test.skipIf(!hasNpm)("the quickstart of Hono on Workers, as its page says", { timeout: 300_000 }, async () => {
  const page = "docs/start/hono-workers.md";
  const apiPort = await freePort("127.0.0.1");
  const api = join(world, "my-api");
  const ports = { "8788": apiPort };
  await typeAll(blockWith(page, "cp -r"), clone);
  for (const name of ["wrangler.toml", "package.json"])
    writeFileSync(join(api, name), here(readFileSync(join(api, name), "utf8"), ports));
  const worker = type(blockWith(page, "npm run dev"), api, { CI: "1", WRANGLER_SEND_METRICS: "false" });
  await worker.said(/Ready on/, 120_000);
  const said = await typeAll(`. ../plinth/.dev.vars\n${here(blockWith(page, "TOKEN="), ports)}`, api);
  expect(said).toContain('{"user":"","client":"demo.shop","tenant":"demo"}');
  expect(said).toContain('{"accepted":true}');
});

test.skipIf(!hasNpm || findPython() === undefined)(
  "the quickstart of Python, as its page says",
  { timeout: 200_000 },
  async () => {
    await typeAll(`${findPython()} -m venv ${join(world, "venv")}`, world);
    const path = {
      PATH: `${join(world, "venv", "bin")}:${process.env["PATH"]}`,
      PLINTH_URL: here("http://127.0.0.1:8787"),
    };
    expect(await typeAll(blockWith("docs/start/python.md", "pip install"), clone, path)).toMatch(/^order 4711$/m);
  },
);
