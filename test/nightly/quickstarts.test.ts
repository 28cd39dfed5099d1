import { execFile, spawn, type ChildProcess } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readDevVars } from "../../scripts/lib/local/dev-vars.ts";
import { freePort } from "../../scripts/lib/local/free-port.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { launchChromium } from "../acceptance/support/chromium.ts";
import { npmAnswers, pythonWith } from "./support/registry.ts";
import { startPlatform, type Platform } from "../acceptance/support/process/platform.ts";
import { living, stopGroup } from "../acceptance/support/process/program.ts";
import { newStateDir } from "../acceptance/support/process/state.ts";

/**
 * The quickstarts' files, copied as they stand (names of topics aside) and run against a started platform. Their
 * packages are those of this checkout; Next.js and Python's come from the registries, and are left out where those do
 * not answer.
 */
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "plinth-quickstarts-"));
const stateDir = newStateDir();
/** The first start of a platform in a checkout makes them. */
let secrets: Readonly<Record<string, string>>;
const python = await pythonWith();
const hasNpm = await npmAnswers();
let platform: Platform;
let env: Record<string, string>;
const children: ChildProcess[] = [];

/** The packed package has a test of its own; its modules are bundled here, which takes less time. */
async function placeSdk(packages: string): Promise<void> {
  const sdk = join(packages, "@plinth", "sdk");
  mkdirSync(sdk, { recursive: true });
  cpSync(join(ROOT, "packages/sdk/package.json"), join(sdk, "package.json"));
  const entryPoints = ["index", "middleware"].map((name) => join(ROOT, `packages/sdk/src/${name}.ts`));
  await build({
    entryPoints,
    outdir: join(sdk, "dist"),
    bundle: true,
    format: "esm",
    splitting: true,
    target: "es2022",
  });
}

beforeAll(async () => {
  const packages = join(folder, "node_modules");
  mkdirSync(packages, { recursive: true });
  for (const name of ["hono", "jose", "oidc-client-ts", "vite"])
    symlinkSync(join(ROOT, "node_modules", name), join(packages, name));
  cpSync(join(ROOT, "examples/quickstarts"), folder, { recursive: true });
  [platform] = await Promise.all([startPlatform({ STATE_DIR: stateDir }), placeSdk(packages)]);
  secrets = readDevVars(join(ROOT, ".dev.vars"));
  env = {
    PATH: process.env["PATH"] ?? "",
    PLINTH_URL: platform.url,
    PYTHONPATH: join(ROOT, "packages/python/src"),
    DEMO_CLIENT_SECRET: secrets["DEMO_CLIENT_SECRET"] ?? "",
    DEMO_USER_PASSWORD: secrets["DEMO_USER_PASSWORD"] ?? "",
  };
});
afterAll(async () => {
  // npm and a shell stand before some of them, so each has a group.
  for (const { pid = 0 } of children) if (living(pid).length > 0) process.kill(-pid, "SIGKILL");
  await stopGroup(platform, "SIGKILL");
  for (const path of [stateDir, folder]) rmSync(path, { recursive: true, force: true });
});

/** Starts a program and waits for words of its output. */
function start(program: string, args: readonly string[], cwd: string, more: Record<string, string> = {}) {
  const options = { cwd, env: { ...env, ...more }, detached: true } as const;
  const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part: Buffer) => (output += part.toString()));
  const said = (words: string): Promise<unknown> =>
    expect.poll(() => output, { timeout: 60_000, interval: 50 }).toContain(words);
  return { child, said };
}

/** Gives a quickstart's copy a topic of its own, which no other test has made. */
function useTopic(path: string, eventType: string): void {
  const file = join(folder, path);
  writeFileSync(file, readFileSync(file, "utf8").replaceAll("orderPlaced", eventType));
}

/** Signs the demo's person in at the platform's page. */
async function signInAda(page: Page): Promise<void> {
  await page.getByLabel("E-mail address").fill("ada@demo.example");
  await page.getByLabel("Password").fill(secrets["DEMO_USER_PASSWORD"] ?? "");
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("the Node worker handles an order that another program publishes, and stops in good order", async () => {
  const cwd = join(folder, "node");
  const worker = start(process.execPath, ["worker.ts"], cwd);
  await worker.said("waiting for orders");
  const { stdout } = await run(process.execPath, ["publish.ts"], { cwd, env });
  expect(stdout).toBe("published\n");
  await worker.said("order 4711");
  worker.child.kill("SIGINT");
  await worker.said("stopped");
});

test("the browser app signs a person in before there is a topic, and shows an order as it is published", async () => {
  useTopic("browser-app/main.js", "browserOrders");
  useTopic("node/plinth.ts", "browserOrders");
  const port = await freePort("127.0.0.1");
  const vite = join(ROOT, "node_modules/vite/bin/vite.js");
  const args = [vite, "--host", "127.0.0.1", "--port", String(port), "--strictPort"];
  const app = start(process.execPath, args, join(folder, "browser-app"), { VITE_PLINTH_URL: platform.url });
  await app.said("ready in");
  const publish = () => run(process.execPath, ["publish.ts"], { cwd: join(folder, "node"), env });
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    const failed: string[] = [];
    page.on("pageerror", ({ message }) => failed.push(message));
    await page.goto(`http://127.0.0.1:${port}/`);
    await page.getByRole("button", { name: "Sign in" }).click();
    await signInAda(page);
    await page.getByText("Hello ada@demo.example").waitFor();
    await page.getByText("Nobody has published an order yet").waitFor();
    await publish();
    await page.getByText("order 4711").first().waitFor();
    await callAsDemo("/pubsub/v1/topics/demo.shop/browserOrders/publish", { payload: "good" });
    await page.getByText("not readable: good").waitFor();
    await publish();
    await page.getByText("order 4711").nth(1).waitFor();

    // As after a sleep in which the token ended: the platform refuses it, and the page renews it.
    await page.evaluate(() => {
      const at = Object.keys(sessionStorage).find((key) => key.startsWith("oidc.user:"))!;
      sessionStorage[at] = sessionStorage[at].replace(/("access_token":"[^"]{9})./, "$1");
    });
    await page.reload();
    await page.getByText("Hello ada@demo.example").waitFor();
    await publish();
    await page.getByText("order 4711").first().waitFor();

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("Nobody is signed in").waitFor();
    expect(new URL(page.url()).port).toBe(String(port));

    // A client that may not have a scope, as after a change of it: the page says why the sign-in failed.
    await page.route(/\/authorize\?/, (route) =>
      route.continue({ url: route.request().url().replace("scope=openid", "scope=openid+none.such") }),
    );
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("none.such cannot be granted").waitFor();
    expect(failed).toEqual([]);
  } finally {
    await browser.close();
  }
});

test("the Worker with Hono tells who calls, publishes for them, and takes signed pushes alone", async () => {
  useTopic("hono-workers/src/index.ts", "honoOrders");
  const bundle = await build({
    entryPoints: [join(folder, "hono-workers/src/index.ts")],
    bundle: true,
    format: "esm",
    write: false,
    external: ["cloudflare:workers"],
    logLevel: "silent",
  });
  const script = bundle.outputFiles[0]!.text;
  const api = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script,
      compatibilityDate: "2026-10-20",
      bindings: {
        PLINTH_URL: platform.url,
        CLIENT_SECRET: env["DEMO_CLIENT_SECRET"]!,
        WEBHOOK_SECRET: "whsec_c2VjcmV0",
      },
    }),
  );
  try {
    const url = await api.ready;
    const authorization = `Bearer ${await demoToken()}`;
    expect((await fetch(new URL("/api/me", url))).status).toBe(401);
    const me = await fetch(new URL("/api/me", url), { headers: { authorization } });
    expect(await me.json()).toMatchObject({ client: "demo.shop", tenant: "demo" });
    const order = { method: "POST", headers: { authorization }, body: JSON.stringify({ order: 1 }) };
    for (const _ of [1, 2]) expect((await fetch(new URL("/api/orders", url), order)).status).toBe(202);
    const { events } = await callAsDemo("/pubsub/v1/topics/demo.shop/honoOrders/read", { numEvents: 10 });
    expect(events.map(({ payload }: { payload: string }) => payload)).toEqual(['{"order":1}', '{"order":1}']);
    const refused = await fetch(new URL("/api/orders", url), { ...order, body: "no JSON" });
    expect(await refused.json()).toEqual({ message: "Something failed here." });
    expect((await fetch(new URL("/hooks/orders", url), { method: "POST", body: "{}" })).status).toBe(401);
  } finally {
    await api.dispose();
  }
});

/** The first quickstart, and the guides that go on from it, in the order of the documentation's index. */
const PAGES = [
  "docs/quickstart.md",
  ...Array.from(
    readFileSync(join(ROOT, "docs/README.md"), "utf8").matchAll(/\((guides\/[a-z-]+\.md)\)/g),
    ([, page]) => `docs/${page}`,
  ),
];

/** The blocks of a language of these pages, as one program. */
async function tabs(language: string): Promise<string> {
  const receiver = String(await freePort("127.0.0.1"));
  const fence = new RegExp(`^\`\`\`${language} tab\\n([^]*?)^\`\`\`$`, "gm");
  const blocks = PAGES.flatMap((page) =>
    Array.from(readFileSync(join(ROOT, page), "utf8").matchAll(fence), ([, block]) => block),
  );
  expect(blocks.length).toBeGreaterThan(15);
  return (
    importOnce(blocks.join("\n"))
      .replaceAll("http://127.0.0.1:8787", platform.url)
      .replaceAll("8788", receiver)
      // A topic of its own: other programs here read as the same client.
      .replaceAll("orderPlaced", `orderOf${language}`)
  );
}

/** Merges the imports of TypeScript: each guide has those that it needs, and a program takes a name once. */
function importOnce(program: string): string {
  const names = new Map<string, Set<string>>();
  const rest = program.replaceAll(/^import \{ ([^}]+) \} from "([^"]+)";.*$/gm, (_, list: string, from: string) => {
    names.set(from, new Set([...(names.get(from) ?? []), ...list.split(", ")]));
    return "";
  });
  const lines = Array.from(names, ([from, found]) => `import { ${[...found].join(", ")} } from "${from}";\n`);
  return lines.join("") + rest;
}

/** What the programs print at least, in TypeScript and Python alike. */
function expectStory(output: string): void {
  for (const said of [
    "order 5\n",
    /^\{"order": ?7\} attempt 2$/m,
    /stored \{"order": ?8\}/,
    /pushed: \{"order": ?4\}/,
    /^shared \w+$/m,
    "hello\n",
    /^crop 100x100 ready$/m,
    /^found \w+ \d+$/m,
    /^would delete .*files'?: \d/m,
    /^report .*/m,
    /^called by demo\.shop for demo with .*plat\.media_view/m,
    /^for demo {2}(false|False)$/m,
    /^.*plat\.media_manage/m,
    /\{ ?['"]?sub['"]?: 'ada@demo\.example' ?\}/,
    /clientId['"]?: 'demo\.web'/,
    /by assertion \{[^}]*plat\.media_view/,
    /^http.*\/authorize\?client_id=demo\.web&request_uri=urn:/m,
    "with a proof 200\n",
    "asked: /v1/products/1?lang=de for demo by demo.shop\n",
    /self['"]?: 'http.*\/hello\/v1\/products\/1\?lang=de'/,
    /notes\.write/,
  ])
    expect(output).toMatch(said);
}

test("the TypeScript of the first quickstart and the guides does what their shell does", async () => {
  writeFileSync(join(folder, "guides.ts"), await tabs("ts"));
  const more = { OPERATOR_CLIENT_SECRET: secrets["OPERATOR_CLIENT_SECRET"] ?? "" };
  const { stdout } = await run(process.execPath, [join(folder, "guides.ts")], { cwd: ROOT, env: { ...env, ...more } });
  expect(stdout).toContain(`{"order":3}`);
  expectStory(stdout);
});

test.skipIf(python === undefined)(
  "the Python of the first quickstart and the guides does what their shell does",
  async () => {
    writeFileSync(join(folder, "guides.py"), await tabs("python"));
    const more = { OPERATOR_CLIENT_SECRET: secrets["OPERATOR_CLIENT_SECRET"] ?? "" };
    const { stdout } = await run(python!, [join(folder, "guides.py")], { cwd: ROOT, env: { ...env, ...more } });
    expect(stdout).toMatch(/\{"order": ?3\}/);
    expectStory(stdout);
  },
);

test("the TypeScript of the first quickstart and the guides has no wrong types", async () => {
  writeFileSync(join(folder, "typed.mts"), await tabs("ts"));
  const settings = join(folder, "tsconfig.json");
  writeFileSync(
    settings,
    JSON.stringify({
      compilerOptions: {
        paths: { "@plinth/sdk": [join(ROOT, "packages/sdk/src/index.ts")] },
        noEmit: true,
        strict: true,
        module: "nodenext",
        target: "esnext",
        lib: ["esnext", "dom", "dom.iterable"],
        types: ["node"],
        typeRoots: [join(ROOT, "node_modules/@types")],
        skipLibCheck: true,
        allowImportingTsExtensions: true,
      },
      files: ["typed.mts"],
    }),
  );
  await run(join(ROOT, "node_modules/.bin/tsc"), ["-p", settings]).catch(({ stdout }: { stdout: string }) =>
    expect(stdout).toBe(""),
  );
});

async function demoToken(): Promise<string> {
  const basic = Buffer.from(`demo.shop:${env["DEMO_CLIENT_SECRET"]}`).toString("base64");
  const answer = await fetch(`${platform.url}/oauth2/v1/token`, {
    method: "POST",
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  return ((await answer.json()) as { access_token: string }).access_token;
}

async function callAsDemo(path: string, json: object): Promise<any> {
  const headers = { authorization: `Bearer ${await demoToken()}`, "content-type": "application/json" };
  const answer = await fetch(`${platform.url}${path}`, { method: "POST", headers, body: JSON.stringify(json) });
  expect(answer.ok).toBe(true);
  return answer.json();
}

test.skipIf(python === undefined)("the Python program publishes an order and reads it", async () => {
  const { stdout } = await run(python!, ["main.py"], { cwd: join(folder, "python"), env });
  expect(stdout).toBe("order 4711\n");
});

test.skipIf(!hasNpm)(
  "the Next.js application signs a person in and out, and its route knows who calls",
  async () => {
    const cwd = join(folder, "nextjs");
    const port = await freePort("127.0.0.1");
    const more = { APP_URL: `http://127.0.0.1:${port}`, NEXT_TELEMETRY_DISABLED: "1", HOME: folder };
    const sdk = join(folder, "node_modules", "@plinth", "sdk");
    const install = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--install-links", sdk];
    await run("npm", install, { cwd, env: { ...process.env, NEXT_TELEMETRY_DISABLED: "1" } });
    await run("npm", ["run", "build"], { cwd, env: { ...env, ...more } });
    const app = start("npm", ["run", "start", "--", "--port", String(port)], cwd, more);
    await app.said("Ready in");
    const browser = await launchChromium();
    try {
      const page = await browser.newPage();
      await page.goto(more.APP_URL);
      await page.getByRole("link", { name: "Sign in" }).click();
      await signInAda(page);
      await page.getByText("Hello ada@demo.example").waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("link", { name: "Sign in" }).waitFor();
    } finally {
      await browser.close();
    }
    const me = (headers: Record<string, string>) => fetch(`${more.APP_URL}/api/me`, { headers });
    expect((await me({})).status).toBe(401);
    const answer = await me({ authorization: `Bearer ${await demoToken()}` });
    expect(await answer.json()).toEqual({ user: "", client: "demo.shop", tenant: "demo" });
  },
  300_000,
);

/** The blocks of a language of a page, with the platform's address. */
const samples = (page: string, language: string): string[] =>
  Array.from(
    readFileSync(join(ROOT, page), "utf8").matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm")),
    ([, block = ""]) => block.replaceAll("http://127.0.0.1:8787", platform.url),
  );

test("the SDK's README publishes and consumes, and does the rest of what it shows", async () => {
  const [connect = "", consume = "", process_ = "", upload = "", check = "", operation = "", ...more] = samples(
    "packages/sdk/README.md",
    "ts",
  );
  expect(more).toEqual([]);
  writeFileSync(
    join(folder, "consume.ts"),
    `${connect}\nconst handle = async (order: unknown) => console.log("handled", JSON.stringify(order));\n${consume}`,
  );
  const consuming = start(process.execPath, ["consume.ts"], folder);
  await consuming.said('handled {"order":4711}');
  consuming.child.kill("SIGKILL");

  const blocks = [connect, process_, upload, check, operation].join("\n").replaceAll("orderPlaced", "readmeOrders");
  const imports = Array.from(blocks.matchAll(/^import .*$/gm), ([line]) => line).join("\n");
  const program = `import { readFileSync } from "node:fs";
import { Hono } from "hono";
${imports.replace("./plinth.ts", join(ROOT, "api/plinth.ts"))}
const app = new Hono();
const controller = new AbortController();
const { signal } = controller;
const handle = async (order: unknown) => { console.log("processed", JSON.stringify(order)); controller.abort(); };
const file = new Blob([readFileSync(${JSON.stringify(join(ROOT, "scripts/data/photo.jpg"))})], { type: "image/jpeg" });
const onProgress = ({ sentBytes }: { sentBytes: number }) => console.log("sent", sentBytes);
const notesOf = (tenant: string) => [tenant];
${blocks
  .replaceAll(/^import .*$/gm, "")
  .replace(
    "await topic.process",
    'const topic = plinth.topic("demo.shop", "readmeOrders");\nawait topic.create();\nawait topic.publish({ payload: { order: 1 } });\nawait topic.process',
  )}
console.log("without a token", (await app.request("/api/notes")).status);
console.log("found", found.status);`;
  writeFileSync(join(folder, "readme.ts"), program);
  symlinkSync(join(ROOT, "node_modules/@oazapfts"), join(folder, "node_modules/@oazapfts"));
  const { stdout } = await run(process.execPath, ["readme.ts"], { cwd: folder, env });
  expect(stdout).toContain('processed {"order":1}');
  expect(stdout).toMatch(/^sent \d{5,}$/m);
  expect(stdout).toContain("without a token 401");
  expect(stdout).toMatch(/^found (403|404)$/m);
});

test.skipIf(python === undefined)("Python's README publishes and consumes, with threads and with asyncio", async () => {
  const programs = samples("packages/python/README.md", "python");
  expect(programs).toHaveLength(2);
  for (const [at, program] of programs.entries()) {
    writeFileSync(join(folder, `readme${at}.py`), program.replaceAll("orderPlaced", `readmeOf${at}`));
    const running = start(python!, ["-u", `readme${at}.py`], folder);
    await running.said("{'order': 471");
    running.child.kill("SIGKILL");
  }
});

test("each block that names a file of the quickstarts has that file's text", () => {
  const pages = ["browser-app", "nextjs", "node", "hono-workers", "python"];
  const shown = pages.flatMap((page) =>
    Array.from(
      readFileSync(join(ROOT, `docs/start/${page}.md`), "utf8").matchAll(/^```\w+ title="([^"]+)"\n([^]*?)^```$/gm),
      ([, path = "", text = ""]) => ({ path, isSame: text === readFileSync(join(ROOT, path), "utf8") }),
    ),
  );
  expect(shown.length).toBeGreaterThan(10);
  expect(shown.filter(({ isSame }) => !isSame)).toEqual([]);
});
