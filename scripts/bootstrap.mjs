/**
 * Every npm script enters here: `node scripts/bootstrap.mjs <script> [arguments]` runs `scripts/<script>.ts`.
 *
 * Plain JavaScript for Node 20 with nothing installed. It installs the locked packages where they are missing, picks a
 * Node that runs TypeScript (the locked one of node-linux-*, else the running one), and stays as the parent: signals
 * go down, the exit code comes up. All processes stay in one process group. (package.json says `exec`: a shell between
 * npm and this process would keep npm's signals to itself.)
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, linkSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const INSTALL_LOCK = join(ROOT, ".build", "install.lock");
const INSTALL_WAIT_MS = 300_000;
/** wrangler and vitest need it; 22.18 and newer run TypeScript and have SQLite without flags. */
const OLDEST_NODE = [22, 12];

const [script, ...args] = process.argv.slice(2);
await ensurePackages();
run(pickNode());

// --- packages

async function ensurePackages() {
  if (isInstalled()) return;
  // npm empties what a link leads to before it installs: packages of another checkout.
  if (lstatSync(join(ROOT, "node_modules"), { throwIfNoEntry: false })?.isSymbolicLink())
    fail("node_modules is a link, and what it leads to does not fit package-lock.json. Remove the link and try again.");
  mkdirSync(join(ROOT, ".build"), { recursive: true });
  const deadline = Date.now() + INSTALL_WAIT_MS;
  while (!takeInstallLock()) {
    if (Date.now() > deadline) fail(`another install does not end; if none runs, remove ${INSTALL_LOCK}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  try {
    if (!isInstalled()) install();
  } finally {
    rmSync(INSTALL_LOCK, { force: true });
  }
}

/** npm writes its list of what it installed last, so a list that agrees with the lockfile means a whole install. */
function isInstalled() {
  const installed = readPackages(join(ROOT, "node_modules", ".package-lock.json"));
  if (installed === undefined) return false;
  return Object.entries(readPackages(join(ROOT, "package-lock.json")) ?? {}).every(([path, wanted]) => {
    if (path === "") return true;
    const found = installed[path];
    if (found === undefined) return isForOthers(wanted);
    return found.version === wanted.version && found.integrity === wanted.integrity;
  });
}

/** Whether npm may leave the package out on this machine. */
function isForOthers({ optional, os, cpu, libc }) {
  if (!optional) return false;
  return !os?.includes(process.platform) || !cpu?.includes(process.arch) || libc !== undefined;
}

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages;
  } catch {
    return undefined;
  }
}

function install() {
  const startedMs = Date.now();
  console.error("Installing the locked packages (once; some 15 s)…");
  const npm = process.env.npm_execpath;
  const command = ["ci", "--include=dev", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"];
  const options = { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 26 };
  const done = npm?.endsWith("npm-cli.js")
    ? spawnSync(process.execPath, [npm, ...command], options)
    : spawnSync("npm", command, { ...options, shell: process.platform === "win32" });
  if (done.error !== undefined) fail(`npm could not be run: ${done.error.message}`);
  if (done.status !== 0) fail(`npm ci failed:\n${done.stdout}${done.stderr}`);
  console.error(`Installed in ${Math.round((Date.now() - startedMs) / 1000)} s.`);
}

/** One install at a time. The lock appears with its owner in it, so a lock whose owner died can be told. */
function takeInstallLock() {
  const mine = `${INSTALL_LOCK}.${process.pid}`;
  writeFileSync(mine, String(process.pid));
  try {
    linkSync(mine, INSTALL_LOCK);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    if (!isAlive(readOwner())) rmSync(INSTALL_LOCK, { force: true });
    return false;
  } finally {
    rmSync(mine, { force: true });
  }
}

function readOwner() {
  try {
    return Number(readFileSync(INSTALL_LOCK, "utf8"));
  } catch {
    return process.pid;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

// --- the script

function pickNode() {
  const locked = join(ROOT, "node_modules", ".bin", "node");
  if (existsSync(locked) && spawnSync(locked, ["--version"]).status === 0) return [locked];
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]))
    fail(`Node ${OLDEST_NODE.join(".")} or newer is needed on this system; this is ${process.versions.node}.`);
  return process.features.typescript
    ? [process.execPath]
    : [
        process.execPath,
        "--experimental-strip-types",
        "--experimental-sqlite",
        "--disable-warning=ExperimentalWarning",
      ];
}

function run([node, ...flags]) {
  const child = spawn(node, [...flags, join(ROOT, "scripts", `${script}.ts`), ...args], {
    stdio: "inherit",
    env: {
      ...process.env,
      PATH: `${join(ROOT, "node_modules", ".bin")}${process.platform === "win32" ? ";" : ":"}${process.env.PATH}`,
      // No question, no telemetry, no attempt to reach the network.
      CI: process.env.CI ?? "1",
      WRANGLER_SEND_METRICS: "false",
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
      X_LOCAL_OBSERVABILITY: "false",
    },
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  stopWithNpm(child);
  child.on("error", (error) => fail(`${node} could not be run: ${error.message}`));
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? 128 + (signal === "SIGINT" ? 2 : signal === "SIGKILL" ? 9 : 15);
    process.exit();
  });
}

/** A killed npm can pass nothing on: it is seen by its absence. */
function stopWithNpm(child) {
  const npm = findNpm();
  if (npm === undefined) return;
  setInterval(() => {
    if (!isAlive(npm)) child.kill("SIGTERM");
  }, 100).unref();
}

function findNpm() {
  if (process.env.npm_lifecycle_event === undefined || process.platform !== "linux") return undefined;
  let pid = process.ppid;
  for (let height = 0; height < 3 && pid > 1; height++) {
    // "<pid> (<name>) <state> <parent's pid> …"
    const [, name, parent] = /\((.*)\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    if (name?.startsWith("npm")) return pid;
    pid = Number(parent);
  }
  return undefined;
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
