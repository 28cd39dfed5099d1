import { execFile, spawn, type ChildProcess } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseEnv, promisify } from "node:util";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../scripts/lib/local/free-port.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { startPlatform, type Platform } from "../acceptance/support/process/platform.ts";
import { stopGroup } from "../acceptance/support/process/program.ts";
import { newStateDir } from "../acceptance/support/process/state.ts";
import { fromNpm, pythonWith } from "./support/registry.ts";

/**
 * The code that `plinth init` prints for a framework, written to the file that it names and run with the `.env` that it
 * wrote. Vite and Node without a framework are run by test/acceptance/browser/command-line.ts, Next.js by the
 * quickstarts.
 */
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "plinth-init-"));
const stateDir = newStateDir();
const python = await pythonWith("fastapi", "flask");
const nodeServer = await fromNpm("hono", { "@hono/node-server": "2.1.9", hono: "4.13.19" });
const children: ChildProcess[] = [];
let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform({ STATE_DIR: stateDir });
  const sdk = join(folder, "node_modules", "@plinth", "sdk");
  mkdirSync(sdk, { recursive: true });
  cpSync(join(ROOT, "packages/sdk/package.json"), join(sdk, "package.json"));
  await build({
    entryPoints: ["index", "middleware"].map((name) => join(ROOT, `packages/sdk/src/${name}.ts`)),
    outdir: join(sdk, "dist"),
    bundle: true,
    format: "esm",
    splitting: true,
    target: "es2022",
  });
  for (const name of ["express", "fastify", "hono"])
    symlinkSync(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
  if (nodeServer !== undefined)
    symlinkSync(join(nodeServer, "node_modules", "@hono"), join(folder, "node_modules", "@hono"));
});
afterAll(async () => {
  for (const child of children) child.kill("SIGKILL");
  await stopGroup(platform, "SIGKILL");
  for (const path of [stateDir, folder]) rmSync(path, { recursive: true, force: true });
});

/** A folder after `init`, with its code in place. */
async function init(name: string, manifest: string, text: string) {
  const cwd = join(folder, name);
  mkdirSync(cwd);
  writeFileSync(join(cwd, manifest), text);
  const bin = join(ROOT, "packages/cli/bin/plinth.mjs");
  const env = { PATH: process.env["PATH"], HOME: folder, PLINTH_URL: platform.url };
  const { stdout } = await run(process.execPath, [bin, "init", "--yes", "--json"], { cwd, env });
  const { snippet } = JSON.parse(stdout) as { snippet: { file: string; code: string; run: string } };
  const file = join(cwd, snippet.file);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, snippet.code);
  return { ...snippet, cwd, file, env: parseEnv(readFileSync(join(cwd, ".env"), "utf8")) as Record<string, string> };
}
type App = Awaited<ReturnType<typeof init>>;

async function tokenOf({ env }: App): Promise<string> {
  const basic = Buffer.from(`${env["PLINTH_CLIENT_ID"]}:${env["PLINTH_CLIENT_SECRET"]}`).toString("base64");
  const answer = await fetch(`${platform.url}/oauth2/v1/token`, {
    method: "POST",
    headers: { authorization: `Basic ${basic}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  return ((await answer.json()) as { access_token: string }).access_token;
}

/** What every printed server does: it knows its callers, and publishes for them. */
async function expectService(app: App, url: string): Promise<void> {
  const headers = { authorization: `Bearer ${await tokenOf(app)}` };
  expect((await fetch(`${url}/api/me`)).status).toBe(401);
  expect(await (await fetch(`${url}/api/me`, { headers })).json()).toEqual({ user: "", tenant: "demo" });
  const published = await fetch(`${url}/api/hello`, { method: "POST", headers });
  expect(await published.json()).toEqual([expect.any(String)]);
}

test.skipIf(nodeServer === undefined).for(["express", "fastify", "hono"])("%s", async (name) => {
  const app = await init(`an-${name}-app`, "package.json", JSON.stringify({ dependencies: { [name]: "*" } }));
  const port = await freePort("127.0.0.1");
  writeFileSync(app.file, app.code.replace("3000", String(port)));
  const [program, ...args] = app.run.split(" ");
  expect(program).toBe("node");
  children.push(spawn(process.execPath, args, { cwd: app.cwd, env: {}, stdio: "inherit" }));
  await expect
    .poll(
      () =>
        fetch(`http://127.0.0.1:${port}/api/me`).then(
          ({ status }) => status,
          () => 0,
        ),
      {
        timeout: 30_000,
      },
    )
    .toBe(401);
  await expectService(app, `http://127.0.0.1:${port}`);
});

test("Hono on Workers", async () => {
  const manifest = { dependencies: { hono: "*" }, devDependencies: { wrangler: "*" } };
  const app = await init("a-worker", "package.json", JSON.stringify(manifest));
  const bundle = await build({
    entryPoints: [app.file],
    bundle: true,
    format: "esm",
    write: false,
    external: ["cloudflare:workers"],
  });
  const script = bundle.outputFiles[0]!.text;
  // wrangler gives a Worker the lines of .env as bindings.
  const worker = new Miniflare(
    convertV4MiniflareOptions({ modules: true, script, compatibilityDate: "2026-10-20", bindings: app.env }),
  );
  try {
    await expectService(app, (await worker.ready).origin);
  } finally {
    await worker.dispose();
  }
});

test.skipIf(python === undefined).for([
  ["fastapi", "from fastapi.testclient import TestClient\nclient = TestClient(app.app)"],
  ["flask", "client = app.app.test_client()"],
] as const)("%s", async ([name, client]) => {
  const app = await init(`a-${name}-app`, "requirements.txt", `${name}\n`);
  const token = await tokenOf(app);
  const program = `import app
${client}
print(client.get("/api/me").status_code, client.get("/api/me", headers={"authorization": "Bearer ${token}"}).text)`;
  const { stdout } = await run(python!, ["-c", program], { cwd: app.cwd, env: app.env });
  const [status, ...body] = stdout.trim().split(" ");
  expect([status, JSON.parse(body.join(" "))]).toEqual(["401", { user: "", tenant: "demo" }]);
});

test.skipIf(python === undefined)("Python", async () => {
  const app = await init("a-python-app", "requirements.txt", "httpx\n");
  const child = spawn(python!, ["-u", app.file], { cwd: app.cwd, env: app.env, stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  let output = "";
  child.stdout.on("data", (part: Buffer) => (output += part.toString()));
  await expect.poll(() => output, { timeout: 30_000 }).toBe("{'hello': 'world'}\n");
});
