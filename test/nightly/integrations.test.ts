import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { npm } from "../acceptance/support/process/program.ts";

/**
 * Pages whose programs come from npm alone. `npm run integrations` follows the others too, where their programs are.
 */
const PAGES = ["authjs", "browser-app", "cloudflare-worker"];
const reachesNpm = spawnSync("npm", ["ping"], { timeout: 10_000 }).status === 0;

test.skipIf(!reachesNpm)(
  "the pages of programs from npm do what they say",
  async () => {
    const program = npm("integrations", {}, ["--", ...PAGES]);
    expect(await program.ended, program.output()).toBe(0);
    for (const page of PAGES) expect(program.output()).toContain(`${page}: passed`);
  },
  300_000,
);
