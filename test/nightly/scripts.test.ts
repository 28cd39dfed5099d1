import { execFile } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { BUNDLE_BUDGET_GZIP_BYTES } from "../../scripts/lib/bundle.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { npm } from "../acceptance/support/process/program.ts";

const execute = promisify(execFile);

describe("npm run deploy", () => {
  // shows: running/commands/npm-run-deploy-dry-run
  test("--dry-run bundles offline and prints the size", async () => {
    const deploy = npm("deploy", {}, ["--", "--dry-run"]);
    expect(await deploy.ended, deploy.output()).toBe(0);
    const budget = (BUNDLE_BUDGET_GZIP_BYTES / 1024).toFixed(1);
    expect(deploy.output()).toMatch(
      new RegExp(`^\\d+\\.\\d KiB, gzip \\d+\\.\\d KiB \\(budget ${budget} KiB\\)$`, "m"),
    );
  });
});

describe("a fresh clone", () => {
  // A package in a file beside it: npm asks no registry then.
  // shows: running/commands/npm-start-npm-test-a-fresh-clone
  test("installs the locked packages only once among concurrent starts", async () => {
    const home = mkdtempSync(join(tmpdir(), "plinth-clone-"));
    const [clone, part] = [join(home, "clone"), join(home, "part")];
    const json = (path: string, value: object): void => writeFileSync(path, JSON.stringify(value));
    const pull = async (version: string): Promise<void> => {
      json(join(part, "package.json"), { name: "part", version, type: "module", exports: "./part.js" });
      writeFileSync(join(part, "part.js"), `export const version = "${version}";`);
      const origin = join(home, version);
      mkdirSync(origin);
      await execute("npm", ["pack", part], { cwd: origin });
      json(join(origin, "package.json"), { type: "module", devDependencies: { part: `file:part-${version}.tgz` } });
      await execute("npm", ["install", "--package-lock-only", "--offline"], { cwd: origin });
      cpSync(origin, clone, { recursive: true });
    };
    const env = { ...process.env, NODE_COMPILE_CACHE: undefined };
    const hello = () => execute(process.execPath, [join(clone, "scripts", "bootstrap.mjs"), "hello", "you"], { env });
    try {
      for (const folder of [part, join(clone, "scripts")]) mkdirSync(folder, { recursive: true });
      mkdirSync(join(clone, "scripts", "lib"), { recursive: true });
      for (const file of ["bootstrap.mjs", "lib/help.mjs"])
        copyFileSync(join(ROOT, "scripts", file), join(clone, "scripts", file));
      const program = 'import { version } from "part"; console.log(`part ${version}, ${process.argv[2] as string}`);';
      writeFileSync(join(clone, "scripts", "hello.ts"), program);

      await pull("1.0.0");
      const starts = await Promise.all([hello(), hello(), hello()]);
      expect(starts.map(({ stdout }) => stdout)).toEqual(Array(3).fill("part 1.0.0, you\n"));
      expect(starts.filter(({ stderr }) => stderr.includes("Installed in"))).toHaveLength(1);
      expect((await hello()).stderr).toBe("");
      expect(statSync(join(clone, ".build", "compiled")).isDirectory()).toBe(true);
      // The lockfile has changed.
      await pull("1.1.0");
      const { stdout, stderr } = await hello();
      expect([stdout, stderr]).toEqual(["part 1.1.0, you\n", expect.stringContaining("Installed in")]);
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});
