import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "../../scripts/lib/root.ts";
import { useRestarted } from "./support/restarted.ts";
import { npm, stopGroup } from "./support/process/program.ts";
import { freePort, localSecret, newStateDir } from "./support/process/state.ts";

const { stateDir, running, start } = useRestarted();

describe("npm start", () => {
  // shows: running/commands/npm-start
  test("is ready, and prints where, and the demo's secrets", async () => {
    // A busy machine takes 20 s and more, since the first start builds the console.
    const platform = await start();
    expect(platform.url).toBe(`http://127.0.0.1:${platform.port}`);
    const pages = [...platform.output().matchAll(/http:\S+\/(docs|account)$/gm)].map(([address]) => fetch(address));
    expect((await Promise.all(pages)).map(({ status }) => status)).toEqual([200, 200]);
    expect(platform.output()).toContain(localSecret("DEMO_CLIENT_SECRET"));
    expect(platform.output()).toContain(localSecret("DEMO_USER_PASSWORD"));
    expect(platform.output()).not.toContain(localSecret("OPERATOR_CLIENT_SECRET"));
    // What it proposes to type in another terminal reaches this platform.
    expect(platform.output()).toContain(`PORT=${platform.port} npm run tour`);
    expect(platform.output()).toContain(`init --url ${platform.url}\n`);
    expect(statSync(join(ROOT, ".dev.vars")).mode & 0o077).toBe(0);
  });

  // shows: running/commands/npm-run-tour
  test("npm run tour ends with 1 at the first thing that is not as expected", async () => {
    const tour = npm("tour", { PORT: String(running().port), OPERATOR_CLIENT_SECRET: "x".repeat(40) });
    expect(await tour.ended).toBe(1);
    expect(tour.output()).toMatch(/expected: POST \S+ answers 200\n +got: 401/);
  });

  test("SEAL_KEYS that cannot open the state are refused before anything is served", async () => {
    await stopGroup(running(), "SIGINT");
    const keys = `k1:${Buffer.alloc(32, 1).toString("base64")}`;
    const refused = npm("start", { STATE_DIR: stateDir, PORT: String(running().port), SEAL_KEYS: keys });
    expect(await refused.ended).toBe(1);
    expect(refused.output()).toContain("was sealed under another key");
    // Taken away, it may have been replaced; under its name there is another one here.
    expect(refused.output()).not.toContain("MAY GO");
    const renamed = keys.replace("k1:", "k2:");
    const replaced = npm("start", { STATE_DIR: stateDir, PORT: String(running().port), SEAL_KEYS: renamed });
    expect(await replaced.ended).toBe(1);
    expect(replaced.output()).toContain(`said MAY GO of it: rm ${join(stateDir, "seal-keys.json")}\n`);
  });

  test("a damaged database is refused with advice, not with an error of the runtime", async () => {
    const damaged = newStateDir();
    try {
      const folder = join(damaged, "d1", "miniflare-D1DatabaseObject");
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "noise.sqlite"), Buffer.alloc(4096, "noise"));
      const refused = npm("start", { STATE_DIR: damaged, PORT: String(await freePort()) });
      expect(await refused.ended).toBe(1);
      expect(refused.output()).toContain(`rm -r ${damaged}`);
      expect(refused.output()).not.toContain("    at ");
    } finally {
      rmSync(damaged, { recursive: true });
    }
  });
});
