import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readDevVars } from "../../scripts/lib/local/dev-vars.ts";
import { freePort } from "../../scripts/lib/local/free-port.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { startPlatform, type Platform } from "../acceptance/support/process/platform.ts";
import { stopGroup } from "../acceptance/support/process/program.ts";
import { newStateDir } from "../acceptance/support/process/state.ts";

const stateDir = newStateDir();
let platform: Platform | undefined;
const hasCurl = spawnSync("curl", ["--version"]).status === 0;

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** The pages in the order of the documentation's index: a guide may use what the quickstart and earlier guides set. */
function pages(): string[] {
  const index = Array.from(
    read("docs/README.md").matchAll(/\(((?:guides|operate)\/[a-z-]+\.md)\)/g),
    ([, path]) => `docs/${path}`,
  );
  return ["README.md", "docs/quickstart.md", ...index];
}

const blocks = (path: string): string[] =>
  Array.from(read(path).matchAll(/^```sh(?: tab)?\n(.*?)^```$/gms), ([, block = ""]) => block);

afterAll(async () => {
  if (platform !== undefined) await stopGroup(platform, "SIGKILL");
  rmSync(stateDir, { recursive: true, force: true });
});

test.skipIf(!hasCurl)("the commands of README.md, the quickstart and the guides work in order", async () => {
  const commands = pages().flatMap(blocks).join("\n");
  expect(commands).toContain("PLINTH=http://127.0.0.1:8787\n");
  platform = await startPlatform({ STATE_DIR: stateDir });
  const script = commands
    .replaceAll("http://127.0.0.1:8787", platform.url)
    .replaceAll("8788", String(await freePort("127.0.0.1")));

  const { status, stdout, stderr } = spawnSync("bash", ["-euo", "pipefail", "-c", script], {
    cwd: ROOT,
    encoding: "utf8",
    timeout: 100_000,
  });

  expect(status, `${stdout}\n${stderr}`).toBe(0);
  expect(stdout).toContain('{"sub":"ada@demo.example"}');
  expect(stdout).toContain('"order_v1"');
  expect(stdout).toContain('"delivered":true');
  expect(stdout).toMatch(/^pushed: .*"payload":"\{\\"order\\":4\}"/m);
  expect(stdout).toContain('"state":"delivered"');
  expect(stdout).toContain("hello\n");
  expect(stdout).toContain('"transformations":2');
  expect(stdout).toMatch(/"type":"crop","size":"64x64"[^}]*"state":"ready"/);
  expect(stdout).toContain("asked: /v1/products/1?lang=de for demo by demo.shop");
  expect(stdout).toContain(`{"self":"${platform.url}/hello/v1/products/1?lang=de"}`);
  expect(stdout).toMatch(/"scope":"plat\.tenant=demo plat\.media_view"/);
  expect(stdout).toMatch(/\/authorize\?client_id=demo\.web&request_uri=urn:/);
  expect(stdout).toContain(`{"resource":"${platform.url}/notes/v1"`);
  expect(stdout).toMatch(/"kind":"all"[^}]*"state":"deleted"/);
  expect(stdout).toMatch(/"state":"done"/);
  expect(stdout).toMatch(/^example +The example shop +example/m);
  expect(stdout).toMatch(/^example\.jobs +example/m);
  expect(stderr).toContain("There are no such users.\n");
  expect(stdout).toMatch(/^✓ granted: plat\.tenant=example plat\.media_view$/m);
  expect(stderr).toContain("The tenant example is gone");

  const [, example = ""] = /^```ts\n(.*?)^```$/ms.exec(read("docs/guides/typed-client.md")) ?? [];
  const program = example.replace("http://127.0.0.1:8787", platform.url).replace("./plinth.ts", "./api/plinth.ts");
  const published = spawnSync(process.execPath, ["--input-type=module-typescript", "--eval", program], {
    cwd: ROOT,
    encoding: "utf8",
    env: { ...process.env, ...readDevVars(join(ROOT, ".dev.vars")) },
    timeout: 30_000,
  });
  expect(published.stdout, published.stderr).toMatch(/^published: \w+/);
});
