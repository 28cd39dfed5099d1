import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ok } from "@oazapfts/runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RUNTIME, TYPED_RUNTIME } from "../../api/client.ts";
import { createTopic, getToken } from "../../api/plinth.ts";
import { readDevVars } from "../../scripts/lib/local/dev-vars.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { startPlatform, type Platform } from "../acceptance/support/process/platform.ts";
import { stopGroup } from "../acceptance/support/process/program.ts";
import { newStateDir } from "../acceptance/support/process/state.ts";

/** The typed client in a project of its own, as its guide says to make it. */
const guide = readFileSync(join(ROOT, "docs/guides/typed-client.md"), "utf8");
const [, setUp = ""] = /^```\n(npm init .*?)^```$/ms.exec(guide) ?? [];
const [, program = ""] = /^```ts\n(.*?)^```$/ms.exec(guide) ?? [];
const [, recipe = ""] = /^```\n(\{ echo .*?)^```$/ms.exec(guide) ?? [];
const written = readFileSync(join(ROOT, "api", "plinth.ts"), "utf8");

const project = mkdtempSync(join(tmpdir(), "plinth-typed-client-"));
const stateDir = newStateDir();
let platform: Platform | undefined;
let baseUrl = "";

beforeAll(async () => {
  writeFileSync(join(project, "package.json"), JSON.stringify({ type: /type=(\w+)/.exec(setUp)?.[1] }));
  // Nothing but what is said to be installed.
  for (const [, names = ""] of setUp.matchAll(/^npm install (?:--save-dev )?(.*)$/gm))
    for (const name of names.split(" ")) {
      const place = join(project, "node_modules", name);
      mkdirSync(dirname(place), { recursive: true });
      symlinkSync(join(ROOT, "node_modules", name), place);
    }
  copyFileSync(join(ROOT, "api", "plinth.ts"), join(project, "plinth.ts"));
  const [, init = ""] = /^npx tsc (--init .*)$/m.exec(setUp) ?? [];
  expect(tsc(...init.split(" ")).status).toBe(0);
  platform = await startPlatform({ STATE_DIR: stateDir });
  baseUrl = platform.url;
});
afterAll(async () => {
  if (platform !== undefined) await stopGroup(platform, "SIGKILL");
  rmSync(stateDir, { recursive: true, force: true });
  rmSync(project, { recursive: true });
});

/** What is wrong, a line each. */
function tsc(...options: string[]): { readonly status: number | null; readonly faults: readonly string[] } {
  const { status, stdout } = spawnSync(join(ROOT, "node_modules", ".bin", "tsc"), ["--pretty", "false", ...options], {
    cwd: project,
    encoding: "utf8",
  });
  return { status, faults: stdout.split("\n").filter((line) => line.includes(": error ")) };
}

describe("under the settings of tsc --init", () => {
  test("the client and the guide's program compile and work", async () => {
    writeFileSync(join(project, "main.ts"), program);
    expect(tsc()).toEqual({ status: 0, faults: [] });

    const { DEMO_CLIENT_SECRET = "" } = readDevVars(join(ROOT, ".dev.vars"));
    const Authorization = `Basic ${btoa(`demo.shop:${DEMO_CLIENT_SECRET}`)}`;
    const token = await ok(getToken({ grant_type: "client_credentials" }, {}, { baseUrl, headers: { Authorization } }));
    const headers = { Authorization: `Bearer ${token.access_token}` };
    expect((await createTopic({ eventType: "orderPlaced" }, { baseUrl, headers })).status).toBe(201);

    const main = join(project, "main.js");
    const compiled = readFileSync(main, "utf8");
    expect(compiled).toContain("http://127.0.0.1:8787");
    writeFileSync(main, compiled.replace("http://127.0.0.1:8787", baseUrl));
    const { stdout, stderr } = spawnSync(process.execPath, [main], {
      encoding: "utf8",
      env: { ...process.env, DEMO_CLIENT_SECRET },
      timeout: 30_000,
    });
    expect(stdout, stderr).toMatch(/^published: \w+/);
  });

  test("every wrong call is a compile error", () => {
    const wrong = [
      `await client.getTokens();`,
      `await client.publishEvents("demo.shop", "orderPlaced");`,
      `await client.publishEvents("demo.shop", 5, { payload: "" });`,
      `await client.publishEvents("demo.shop", "orderPlaced", { payload: 5 });`,
      `await client.publishEvents("demo.shop", "orderPlaced", { payload: "" }, {}, { baseUrl: 8787 });`,
      `await client.getToken({ grant_type: "implicit" });`,
      `export const { id } = await ok(client.publishEvents("demo.shop", "orderPlaced", { payload: "" }));`,
      `export const status: 418 = (await client.health()).status;`,
    ];
    const imports = "import { ok } from '@oazapfts/runtime'; import * as client from './plinth.ts';";
    writeFileSync(join(project, "wrong.ts"), [imports, ...wrong].join("\n"));
    const { faults } = tsc("--noEmit");
    rmSync(join(project, "wrong.ts"));
    const lines = faults.map((fault) => /^wrong\.ts\((\d+),/.exec(fault)?.[1]);
    expect(new Set(lines), faults.join("\n")).toEqual(new Set(wrong.map((_, at) => String(at + 2))));
  });

  test("the client is checked as a whole, with the types that it imports", () => {
    expect(written).not.toContain("@ts-nocheck");
    const broken = written.replace("runtime.json(given as Json)", "runtime.json(5)");
    expect(tsc("--noEmit", "--skipLibCheck", "false").faults).toEqual([]);
    writeFileSync(join(project, "plinth.ts"), broken);
    expect(tsc("--noEmit").faults).toHaveLength(1);
    writeFileSync(join(project, "plinth.ts"), written);
  });
});

test("the guide's command makes the same client of a platform's own document, except for its address", () => {
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;
  const command = `npx --yes oazapfts@${devDependencies["oazapfts"]?.split(".")[0]} https://plinth.example.com/openapi.json`;
  expect(recipe).toContain(command);
  const locked = `"${join(ROOT, "node_modules", ".bin", "oazapfts")}" ${baseUrl}/openapi.json`;
  const { status, stderr } = spawnSync("bash", ["-euc", recipe.replace(command, locked)], {
    cwd: project,
    encoding: "utf8",
  });
  expect(status, stderr).toBe(0);
  const made = readFileSync(join(project, "plinth.ts"), "utf8");
  expect(made).toContain(`baseUrl: "${baseUrl}"`);
  const checked = made.replace("// @ts-nocheck\n", "").replace(RUNTIME, TYPED_RUNTIME);
  expect(withoutAddress(checked)).toBe(withoutAddress(written));
});

interface Manifest {
  readonly devDependencies: Readonly<Record<string, string>>;
}

const withoutAddress = (client: string): string =>
  client
    .replace(/^ {4}baseUrl: .*$/m, "")
    .replace(/^export const servers = \{.*?^\};$/ms, "")
    .trimEnd();
