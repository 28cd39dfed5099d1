/**
 * Runs every npm script: `node scripts/bootstrap.mjs <script> [arguments]` runs `scripts/<script>.ts`.
 *
 * Plain JavaScript for Node 20 with nothing installed. It installs the locked packages if they are missing, picks a
 * Node that runs TypeScript (the locked one of node-linux-*, else the running one), passes signals down and the exit
 * code up. package.json says `exec`, because a shell between npm and this process would not pass npm's signals on.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { HELP } from "./lib/help.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const INSTALL_LOCK = join(ROOT, ".build", "install.lock");
const INSTALL_WAIT_MS = 300_000;
/** The oldest that wrangler and vitest take. From 22.18 on, TypeScript and SQLite need no flags. */
const OLDEST_NODE = [22, 12];
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

const [script, ...args] = process.argv.slice(2);
if (args.some((arg) => arg === "--help" || arg === "-h") && script in HELP) {
  console.log(HELP[script]);
  process.exit(0);
}
await ensurePackages();
run(pickNode());

// --- packages

async function ensurePackages() {
  if (isInstalled()) return;
  // npm would empty the folder that the link leads to, which belongs to another checkout.
  if (lstatSync(join(ROOT, "node_modules"), { throwIfNoEntry: false })?.isSymbolicLink())
    fail("node_modules is a link to packages that do not match package-lock.json. Remove the link and try again.");
  mkdirSync(join(ROOT, ".build"), { recursive: true });
  const deadline = Date.now() + INSTALL_WAIT_MS;
  while (!takeInstallLock()) {
    if (Date.now() > deadline) fail(`Another install is still running. If none is, remove ${INSTALL_LOCK}.`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  try {
    if (!isInstalled()) await install();
  } finally {
    rmSync(INSTALL_LOCK, { force: true });
  }
}

/** npm writes its list of installed packages last, so a list that matches the lockfile means a complete install. */
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

/** Tells whether npm may skip the package on this machine. */
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

async function install() {
  const startedMs = Date.now();
  // Counts top-level packages for this machine.
  const locked = Object.entries(readPackages(join(ROOT, "package-lock.json")) ?? {});
  const total = locked.filter(([path, one]) => path.split("node_modules/").length === 2 && !isForOthers(one)).length;
  console.error(`Installing ${total} locked packages (once, about 30 s, 1 GB)…`);
  const npm = process.env.npm_execpath;
  const command = ["ci", "--include=dev", "--include=optional", "--no-audit", "--no-fund", "--loglevel=error"];
  const options = { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] };
  const child = npm?.endsWith("npm-cli.js")
    ? spawn(process.execPath, [npm, ...command], options)
    : spawn("npm", command, { ...options, shell: process.platform === "win32" });
  const progress = showProgress(startedMs, total);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  const stop = () => {
    child.kill();
    process.exit(1);
  };
  for (const signal of SIGNALS) process.once(signal, stop);
  const status = await new Promise((resolve) => {
    child.on("error", (error) => fail(`npm did not start: ${error.message}`));
    child.on("close", resolve);
  });
  for (const signal of SIGNALS) process.removeListener(signal, stop);
  progress.end();
  if (status !== 0) fail(`npm ci failed:\n${output}`);
  console.error(`Installed in ${Math.round((Date.now() - startedMs) / 1000)} s.`);
}

/** Shows how many packages npm has unpacked: drawn each second at a terminal, a line each ten seconds elsewhere. */
function showProgress(startedMs, total) {
  const isTerminal = process.stderr.isTTY;
  let lines = 0;
  const timer = setInterval(() => {
    const seconds = Math.round((Date.now() - startedMs) / 1000);
    const text = `  ${seconds} s: ${Math.min(countPackages(), total)} of ${total} packages`;
    if (isTerminal) process.stderr.write(`\r\x1b[2K${text}`);
    else if (Math.floor(seconds / 10) > lines) {
      lines = Math.floor(seconds / 10);
      console.error(text);
    }
  }, 1000);
  return {
    end() {
      clearInterval(timer);
      if (isTerminal) process.stderr.write("\r\x1b[2K");
    },
  };
}

/** Counts the packages that are unpacked so far. npm makes their folders first, and may remove some meanwhile. */
function countPackages() {
  const list = (folder) => {
    try {
      return readdirSync(folder).filter((name) => !name.startsWith("."));
    } catch {
      return [];
    }
  };
  const modules = join(ROOT, "node_modules");
  const folders = list(modules).flatMap((name) =>
    name.startsWith("@") ? list(join(modules, name)).map((one) => join(name, one)) : [name],
  );
  return folders.filter((name) => existsSync(join(modules, name, "package.json"))).length;
}

/** Creates the lock file, which holds the owner's process id. The lock of a process that has ended is removed. */
function takeInstallLock() {
  try {
    writeFileSync(INSTALL_LOCK, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
  try {
    process.kill(Number(readFileSync(INSTALL_LOCK, "utf8")), 0);
  } catch (error) {
    if (error.code === "ESRCH") rmSync(INSTALL_LOCK, { force: true });
  }
  return false;
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
      // No questions, no telemetry, no network access.
      CI: process.env.CI ?? "1",
      WRANGLER_SEND_METRICS: "false",
      CLOUDFLARE_CF_FETCH_ENABLED: "false",
      X_LOCAL_OBSERVABILITY: "false",
      // A script starts in half the time if Node has compiled its files before.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(ROOT, ".build", "compiled"),
    },
  });
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  // A killed npm passes no signal on. Another parent process shows that it has ended.
  const npm = process.ppid;
  if (process.env.npm_lifecycle_event !== undefined)
    setInterval(() => process.ppid !== npm && child.kill("SIGTERM"), 250).unref();
  child.on("error", (error) => fail(`${node} did not start: ${error.message}`));
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? 128 + (signal === "SIGINT" ? 2 : signal === "SIGKILL" ? 9 : 15);
    process.exit();
  });
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
