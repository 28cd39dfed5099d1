import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { askForFaults, judge } from "./lib/audit.ts";
import { BUNDLE_BUDGET_GZIP_BYTES, bundleWorker } from "./lib/bundle.ts";
import { changedFiles, testsFor, type ChosenTests } from "./lib/changed.ts";
import { packagesOf, type Lockfile, type Manifest } from "./lib/dependencies.ts";
import { ROOT } from "./lib/root.ts";
import { run } from "./lib/run.ts";
import { paint } from "./lib/terminal.ts";
import { UserError } from "./lib/user-error.ts";
import { inParallel } from "../src/platform/runtime/parallel.ts";

/**
 * `npm test`: every check that a change must pass. The quick stages run at the same time, beside the start of the first
 * tests, which takes 20 s and hardly more than one core; the second tests follow them. Stops at the first failing stage
 * and shows its output. The last line is `N passed, N failed`; a stage without tests counts as one.
 *
 * `npm test -- lint worker` runs only these stages. `npm test -- --changed [commit]` runs the quick stages and the
 * tests beside the files that differ from a commit (default HEAD), lints these files alone, and names the nightly
 * tests. `npm run nightly` runs the stages that `npm test` leaves out: benches, crashes, deployments, examples and the
 * site, longer searches, tests with shards that are objects, and with an object for each tenant.
 */
interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly output: string;
  /** A remark on a stage that passed. */
  readonly note?: string;
}

const STAGE_TIMEOUT_MS = 540_000;
/** On a slow machine, a stage that runs only if it is named takes ten minutes. */
const NIGHTLY_TIMEOUT_MS = 1_800_000;
const QUICK_DIR_BYTES = 2 ** 31;
const environment = {
  ...process.env,
  ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}),
  // The compiler and the linter are Go programs that end soon: a fifth less CPU time for 2 GB of memory each.
  GOGC: process.env["GOGC"] ?? "400",
};
/** Ends the stages that run. */
const stop = new AbortController();
const scratch = mkdtempSync(join(tmpdir(), "plinth-test-"));

const stages: Readonly<Record<string, () => Promise<Outcome>>> = {
  // SDK and console have their own settings, for runtimes that are not ours.
  async types() {
    // One checker, because the linter runs beside it: more of them check what they share again.
    const own = await command("tsc", "--checkers", "1");
    if (own.failed > 0) return own;
    const sdk = ["-p", "packages/sdk", "--noEmit"];
    // A service may have the types of Node alone.
    for (const more of [[], ["--lib", "es2023", "--types", "node"]]) {
      const checked = await command("tsc", ...sdk, ...more);
      if (checked.failed > 0) return checked;
    }
    return command("tsc", "-p", "console");
  },
  lint: () => command("oxlint", "--type-aware", "--deny-warnings", "--no-error-on-unmatched-pattern", ...linted),
  format: () => command("oxfmt", "--check"),
  openapi: () => command(process.execPath, "scripts/openapi.ts", "--check"),
  coverage: () => command("node", "scripts/coverage.ts", "--check"),
  dependencies: () => command(process.execPath, "scripts/dependencies.ts", "--check"),
  audit,
  bundle,
  worker: () => inRuntime(chosen.worker),
  acceptance: () => againstPlatforms("acceptance", chosen.acceptance, isBeside ? 0 : 2),
  nightly: () => againstPlatforms("nightly", [], 1, NIGHTLY_TIMEOUT_MS),
  searches: () => inRuntime(SEARCHES, { env: { RUNS: "10" }, timeoutMs: NIGHTLY_TIMEOUT_MS }),
  objects: () => inRuntime(ON_SHARDS, { env: { SHARDS: "objects" }, timeoutMs: NIGHTLY_TIMEOUT_MS }),
  own: () => inRuntime(WITH_OWN, { env: { SHARDS: "own" }, timeoutMs: NIGHTLY_TIMEOUT_MS }),
};

/** Stages that run only if they are named. */
const NIGHTLY = ["nightly", "searches", "objects", "own"];
/** The second starts when the quick stages have ended. It waits for half of its time, so it runs beside the first. */
const TESTS = ["worker", "acceptance"];
/** Both run. */
let isBeside = false;
/** The tests that try random cases or every case of many; test/support/model-runs.ts says how many. */
const SEARCHES = filesThat(/support\/model-runs\.ts"/);

/** Tests of services with data in shards. They run with shards that are objects too. */
const ON_SHARDS = ["test/media/", "test/shards/", "test/backup/", "test/oauth/homes/"];
/** Tests of files. They also run with an object for each tenant. */
const WITH_OWN = ["test/media/"];

let vitestRuns = 0;

/** Files to lint; empty: all. */
let linted: readonly string[] = [];
/** All tests, unless `--changed` chooses. */
let chosen: ChosenTests = { worker: [], acceptance: [], nightly: [] };

async function choose(since: string): Promise<readonly string[]> {
  const changed = await changedFiles(since);
  chosen = testsFor(changed);
  linted = changed.filter((path) => /\.(?:tsx?|mjs)$/.test(path) && existsSync(join(ROOT, path)));
  const isLeftOut = (name: string) => {
    if (name === "audit") return !changed.includes("package-lock.json");
    if (name === "lint") return linted.length === 0;
    return name in chosen && chosen[name as keyof ChosenTests].length === 0;
  };
  return Object.keys(stages).filter((name) => !isLeftOut(name) && !NIGHTLY.includes(name));
}

async function test(args: readonly string[]): Promise<boolean> {
  const [first, since = "HEAD"] = args;
  const wanted = first === "--changed" ? await choose(since) : args;
  const unknown = wanted.find((name) => !(name in stages));
  if (unknown !== undefined)
    throw new UserError(
      `There is no stage ${unknown}. Stages: ${Object.keys(stages).join(", ")}; or --changed [commit].`,
    );
  const isWanted = (name: string) => (wanted.length > 0 ? wanted.includes(name) : !NIGHTLY.includes(name));
  const counts = { passed: 0, failed: 0 };
  const perform = async (name: string): Promise<void> => {
    if (stop.signal.aborted) return;
    const startedMs = performance.now();
    const outcome = await stages[name]!();
    // Another stage failed and ended this one.
    if (stop.signal.aborted) return;
    counts.passed += outcome.passed;
    counts.failed += outcome.failed;
    say(name, outcome, performance.now() - startedMs);
    if (outcome.failed > 0) stop.abort();
  };
  const quick = Object.keys(stages).filter((one) => isWanted(one) && ![...TESTS, ...NIGHTLY].includes(one));
  const [beside, ...behind] = TESTS.filter(isWanted);
  isBeside = behind.length > 0;
  // Vitest caches globs of sources, so a new file would escape the tests that read the sources.
  rmSync(join(ROOT, "node_modules", ".vitest-cache"), { recursive: true, force: true });
  const inTurn = async (): Promise<void> => {
    // Most quick stages use one core, or wait for a registry.
    await inParallel(quick, availableParallelism(), perform);
    for (const name of behind) await perform(name);
  };
  await Promise.all([inTurn(), beside === undefined ? undefined : perform(beside)]);
  for (const name of NIGHTLY.filter(isWanted)) await perform(name);
  if (first === "--changed" && chosen.nightly.length > 0)
    console.log(`Not run, since it takes minutes: npx vitest run --project nightly ${chosen.nightly.join(" ")}`);
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  return counts.failed === 0;
}

function say(name: string, { passed, failed, output, note = "" }: Outcome, tookMs: number): void {
  const time = `${(tookMs / 1_000).toFixed(1)} s`.padStart(8);
  const tests = passed + failed > 1 ? `${passed + failed} tests` : "";
  const mark = failed === 0 ? paint.green("✓") : paint.red("✗");
  console.log(`${mark} ${name.padEnd(12)}${paint.dim(`${time}  ${tests}${note}`)}`.trimEnd());
  if (failed > 0) console.log(process.stdout.isTTY ? output : stripVTControlCharacters(output));
}

async function command(name: string, ...args: string[]): Promise<Outcome> {
  const { code, output } = await run(name, args, {
    env: environment,
    timeoutMs: STAGE_TIMEOUT_MS,
    signal: stop.signal,
  });
  return code === 0 ? { passed: 1, failed: 0, output } : { passed: 0, failed: 1, output };
}

interface Settings {
  readonly env?: NodeJS.ProcessEnv;
  readonly timeoutMs?: number;
}

async function vitest(
  project: string,
  args: readonly string[],
  { env = {}, timeoutMs = STAGE_TIMEOUT_MS }: Settings,
): Promise<Outcome> {
  const report = join(scratch, `${vitestRuns++}.json`);
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { code, output } = await run("vitest", ["run", "--project", project, ...args, ...reporters], {
    env: { ...environment, ...env },
    timeoutMs,
    signal: stop.signal,
  });
  const { passed, failed } = readCounts(report);
  // A run can fail without a failed test: an unhandled error, or no test at all.
  return { passed, failed: code === 0 && passed > 0 ? failed : Math.max(1, failed), output };
}

/** These tests run in the Workers runtime. A runtime more than there are cores costs an eighth more CPU time. */
const inRuntime = (files: readonly string[], { env, timeoutMs }: Settings = {}): Promise<Outcome> =>
  vitest("worker", [`--maxWorkers=${availableParallelism()}`, ...files], {
    env: { TMPDIR: quickDir(), ...env },
    timeoutMs,
  });

/** These tests mostly wait for platforms and for time. */
const againstPlatforms = (
  project: string,
  files: readonly string[],
  more: number,
  timeoutMs?: number,
): Promise<Outcome> => vitest(project, [`--maxWorkers=${availableParallelism() + more}`, ...files], { timeoutMs });

function filesThat(contain: RegExp): readonly string[] {
  return globSync("test/**/*.test.ts", { cwd: ROOT }).filter((file) =>
    contain.test(readFileSync(join(ROOT, file), "utf8")),
  );
}

function readCounts(report: string): { passed: number; failed: number } {
  try {
    const { numPassedTests: passed, numFailedTests: failed } = JSON.parse(readFileSync(report, "utf8"));
    return { passed, failed };
  } catch {
    return { passed: 0, failed: 0 };
  }
}

async function audit(): Promise<Outcome> {
  const audits = await askForFaults();
  const { isFine, note } = judge(audits);
  const output = audits.map(({ whose, output: said }) => `${whose}: ${said}`).join("\n\n");
  return isFine ? { passed: 1, failed: 0, output, note } : { passed: 0, failed: 1, output };
}

async function bundle(): Promise<Outcome> {
  const { gzipBytes, packages } = await bundleWorker(join(scratch, "bundle"), { minify: true });
  const read = (file: string): unknown => JSON.parse(readFileSync(join(ROOT, file), "utf8"));
  const known = packagesOf(read("package.json") as Manifest, read("package-lock.json") as Lockfile);
  // `npm run licences` writes the notices of these alone.
  const noticed = new Set(known.filter(({ use }) => use === "runtime").map(({ name }) => name));
  const foreign = packages.filter((name) => !noticed.has(name));
  const output = `gzip ${gzipBytes} bytes, budget ${BUNDLE_BUDGET_GZIP_BYTES}; no dependencies: ${foreign.join(", ")}`;
  const isFine = gzipBytes <= BUNDLE_BUDGET_GZIP_BYTES && foreign.length === 0;
  return isFine ? { passed: 1, failed: 0, output } : { passed: 0, failed: 1, output };
}

/** The tests write many small databases, so memory is faster, if there is enough. (A container often has 64 MB.) */
function quickDir(): string {
  try {
    const { bavail, bsize } = statfsSync("/dev/shm");
    if (bavail * bsize >= QUICK_DIR_BYTES) return "/dev/shm";
  } catch {}
  return tmpdir();
}

try {
  process.exitCode = (await test(process.argv.slice(2))) ? 0 : 1;
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
