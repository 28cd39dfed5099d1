import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { testsFor } from "../../scripts/lib/changed.ts";
import { applyMigrations } from "../../scripts/lib/local/database.ts";
import { ensureDevVars, readDevVars } from "../../scripts/lib/local/dev-vars.ts";
import { remember } from "../../scripts/lib/remember.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { makeOrders, ORDERS_PATH } from "../../scripts/make-orders.ts";
import { parseSealKeys } from "../../src/platform/secrets/seal.ts";
import { npm } from "./support/process/program.ts";
import { freePort } from "./support/process/state.ts";

const execute = promisify(execFile);

describe("npm run deploy", () => {
  test("refuses an unknown option in one line", async () => {
    const deploy = npm("deploy", { npm_config_loglevel: "silent" }, ["--", "--frob"]);
    expect(await deploy.ended).toBe(1);
    expect(deploy.output()).toBe("Unknown option '--frob'. --help tells more.\n");
  });
});

describe("a stored state", () => {
  test("of another version is refused in a sentence", async () => {
    const statement = {
      bind: () => statement,
      run: async () => undefined,
      all: async () => ({ results: [{ name: "9999_later.sql" }] }),
    };
    const db = { prepare: () => statement, batch: () => Promise.reject(new Error("nothing may be written")) };
    await expect(applyMigrations(db)).rejects.toThrow("another version of Plinth (9999_later.sql)");
  });
});

test("what is made of sources is made again once one of them changes, appears or is gone", async () => {
  const folder = `.build/remember-${process.pid}`;
  const source = (name: string): string => join(ROOT, folder, name);
  let times = 0;
  const make = () => remember(folder, [folder], async () => ({ times: ++times }));
  try {
    mkdirSync(source("."), { recursive: true });
    writeFileSync(source("a"), "1");
    expect([await make(), await make()]).toEqual([{ times: 1 }, { times: 1 }]);
    writeFileSync(source("a"), "2");
    expect([await make(), await make()]).toEqual([{ times: 2 }, { times: 2 }]);
    writeFileSync(source("b"), "");
    expect([await make(), await make()]).toEqual([{ times: 3 }, { times: 3 }]);
    rmSync(source("a"));
    expect([await make(), await make()]).toEqual([{ times: 4 }, { times: 4 }]);
  } finally {
    rmSync(source("."), { recursive: true });
    rmSync(join(ROOT, ".build", "made", `${folder.replaceAll("/", "-")}.json`));
  }
});

// shows: running/commands/npm-start
test("concurrent starts agree on the local secrets, which only their owner may read", async () => {
  const dir = mkdtempSync(join(tmpdir(), "plinth-vars-"));
  const path = join(dir, ".dev.vars");
  const code = `import("${ROOT}/scripts/lib/local/dev-vars.ts").then((m) => console.log(JSON.stringify(m.ensureDevVars("${path}"))))`;
  const starts = Array.from({ length: 8 }, () => execute(process.execPath, ["-e", code]));
  const seen = new Set((await Promise.all(starts)).map(({ stdout }) => stdout));
  expect(seen.size).toBe(1);
  expect(JSON.parse([...seen][0] ?? "")).toEqual(readDevVars(path));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  rmSync(dir, { recursive: true });
});

test("a .dev.vars gets missing values and keeps the others", () => {
  const dir = mkdtempSync(join(tmpdir(), "plinth-vars-"));
  const path = join(dir, ".dev.vars");
  writeFileSync(path, "LOG_LEVEL=info\nSEAL_KEYS=\nDEMO_USER_PASSWORD='mine'");
  const vars = ensureDevVars(path);
  expect(vars).toMatchObject({ LOG_LEVEL: "info", DEMO_USER_PASSWORD: "mine" });
  expect(vars["OPERATOR_CLIENT_SECRET"]).toHaveLength(43);
  expect(parseSealKeys(vars["SEAL_KEYS"] ?? "")).toMatchObject({ ok: true });
  expect(ensureDevVars(path)).toEqual(vars);
  rmSync(dir, { recursive: true });
});

test("npm start refuses an unusable STATE_DIR in one line", async () => {
  for (const STATE_DIR of ["/dev/null/x", join(ROOT, "package.json")]) {
    const start = npm("start", { STATE_DIR, PORT: String(await freePort()), npm_config_loglevel: "silent" });
    expect(await start.ended).toBe(1);
    expect(start.output()).toMatch(/^STATE_DIR must be a directory .*, not \S+: .*\n$/);
    expect(start.output()).toContain(STATE_DIR);
  }
});

// shows: running/commands/npm-run-tour
test("npm run tour gives advice if nothing listens", async () => {
  const tour = npm("tour", { PORT: String(await freePort()) });
  expect(await tour.ended).toBe(1);
  expect(tour.output()).toContain("Start it first: npm start");
});

test("the stored orders are those of the script", () => {
  expect(readFileSync(ORDERS_PATH, "utf8")).toBe(`${makeOrders().join("\n")}\n`);
});

describe("npm test -- --changed", () => {
  test("runs the tests in the mirrored folder, or those of the service", () => {
    const of = (...paths: string[]) => testsFor(paths);
    expect(of("src/events/push/eligibility.ts").worker).toEqual(["test/architecture.test.ts", "test/events/push/"]);
    expect(of("src/media/images/gif/lzw.ts").worker).toContain("test/media/images/");
    // What lies loose, and not all of a service.
    expect(of("src/oauth/routes.ts").worker).toContain("test/oauth/cost.test.ts");
    expect(of("src/oauth/routes.ts").worker).not.toContain("test/oauth/");
    expect(of("src/deps.ts").worker).toContain("test/http/");
    expect(of("test/events/push/push-log.test.ts", "test/events/support/push/test-push.ts")).toEqual({
      worker: ["test/events/cost.test.ts", "test/events/push/push-log.test.ts"],
      acceptance: [],
      nightly: [],
    });
    expect(of("test/acceptance/support/process/platform.ts").acceptance).toEqual([]);
    const cli = {
      worker: [],
      acceptance: ["test/acceptance/plat"],
      nightly: ["test/nightly/browser", "test/nightly/plat"],
    };
    expect(of("cli/main.ts", "README.md")).toEqual(cli);
    expect(of("tools/soak/run.ts")).toEqual({ worker: [], acceptance: [], nightly: ["test/nightly/soak"] });
    const upgrade = { acceptance: ["test/acceptance/released"], nightly: ["test/nightly/upgrade"] };
    expect(of("test/upgrade/rpc.ts")).toEqual({ worker: [], ...upgrade });
    expect(of("migrations/0001_schema.sql").nightly).toEqual(upgrade.nightly);
    expect(of("docs/storage.md")).toEqual({
      worker: [],
      acceptance: ["test/acceptance/samples"],
      nightly: ["test/nightly/site"],
    });
    expect(of("examples/tour/main.ts").nightly).toEqual(["test/nightly/example", "test/nightly/tour"]);
    expect(of("package-lock.json")).toEqual({ worker: [], acceptance: [], nightly: [] });
  });

  test("refuses an unknown stage or commit", async () => {
    for (const [args, said] of [
      [["--changed", "no-such-commit"], "git does not know no-such-commit."],
      [["wroker"], "There is no stage wroker. Stages: types, lint,"],
    ] as const) {
      const asked = npm("test", {}, ["--", ...args]);
      expect(await asked.ended).toBe(1);
      expect(asked.output()).toContain(said);
    }
  });
});
