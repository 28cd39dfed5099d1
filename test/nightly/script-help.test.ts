import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { SHELL } from "../acceptance/support/process/program.ts";

/** The options of the npm scripts are shown on request, with no platform. Port 1 has no listener. */
const run = promisify(execFile);

it.each(["tour", "example", "start"])("npm run %s refuses an option that it does not have", async (script) => {
  const refused = run(process.execPath, [`scripts/${script}.ts`, "--hepl"], { env: SHELL });
  await expect(refused).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("--hepl") });
});

const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
const own = Object.entries(scripts).filter(([, command]) => command.includes("bootstrap.mjs"));
const options: Readonly<Record<string, readonly string[]>> = {
  tour: ["--url", "--sweep"],
  example: ["--serve"],
  start: ["PORT", "STATE_DIR"],
};

it.each(own)("npm run %s shows what it is for at --help", async (name, command) => {
  const words = command.replace(/^exec node /, "").split(" ");
  const { stdout, stderr } = await run(process.execPath, [...words, "--help"], {
    env: { ...SHELL, PORT: "1", STATE_DIR: "/nowhere" },
  });
  expect(stderr, name).toBe("");
  expect(stdout).toMatch(/^(npm |Usage: |usage: |[A-Z])/);
  expect(stdout.split("\n").length, name).toBeGreaterThan(2);
  for (const option of options[name] ?? []) expect(stdout).toContain(option);
});
