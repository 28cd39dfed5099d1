import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { FILTER_PATH } from "../../src/platform/common-passwords.ts";
import { ROOT } from "../lib/root.ts";
import { UserError } from "../lib/user-error.ts";
import { readPages, SOURCES } from "./pages.ts";

export interface SiteSettings {
  readonly pathPrefix: string;
  readonly platform: string;
}

const HOME = join(ROOT, ".build", "site");
const LOCK = join(HOME, "lock");
const LOCK_WAIT_MS = 180_000;
/** Sites that are kept: a platform may still serve an older one. */
const KEPT = 4;

/**
 * Makes the documentation site for a deployment and gives its folder, in which `docs/` is served below the path prefix.
 * A site of the same sources is taken as it is. One process builds at a time; the others wait and find it.
 */
export async function buildSite(settings: SiteSettings, say: (line: string) => void = () => {}): Promise<string> {
  const folder = join(HOME, digestOf(settings));
  if (isThere(folder)) return folder;
  mkdirSync(HOME, { recursive: true });
  const release = await takeLock();
  try {
    if (isThere(folder)) return folder;
    say("Building the documentation (after a change of it, about 10 s)…");
    const startedMs = performance.now();
    const making = join(HOME, `making-${randomBytes(4).toString("hex")}`);
    try {
      await make(making, settings);
      renameSync(join(making, "out"), folder);
    } finally {
      rmSync(making, { recursive: true, force: true });
    }
    removeOld();
    say(`Built in ${((performance.now() - startedMs) / 1000).toFixed(0)} s.`);
    return folder;
  } finally {
    release();
  }
}

async function make(making: string, { pathPrefix, platform }: SiteSettings): Promise<void> {
  // They take a moment to load, which a start with a built site does not have to spend.
  const [{ stagePages, llmsText }, { finishPages }, { sidebarOf }, { writeReference }, { noticesText }] =
    await Promise.all([
      import("./stage.ts"),
      import("./finish.ts"),
      import("./sidebar.ts"),
      import("./reference.ts"),
      import("./notices.ts"),
    ]);
  const pages = new Map(readPages().map((page) => [page.file, page]));
  const base = `${pathPrefix}/docs`;
  const content = join(making, "content");
  const out = join(making, "out", "docs");
  const extra = join(making, "extra");
  const sidebar = sidebarOf(pages);
  stagePages(pages, { base, platform, content, out: extra });
  astro({ base, content, out, cache: join(making, "cache"), sidebar });
  cpSync(extra, out, { recursive: true });
  finishPages(out, base);
  writeReference(out, base);
  writeFileSync(join(out, "licences.txt"), noticesText());
  cpSync(join(ROOT, "site", "unbuilt", FILTER_PATH), join(making, "out", FILTER_PATH));
  writeFileSync(join(making, "out", "llms.txt"), llmsText(pages, base, sidebar));
}

/** Runs the generator in a process of its own: it changes the process, and must not stay in the platform's memory. */
function astro(settings: object): void {
  const program = join(ROOT, "node_modules/astro/bin/astro.mjs");
  // Variables of a test runner would make the pages of a development server.
  const { PATH, HOME: home, TMPDIR } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, "build", "--root", join(ROOT, "site")], {
    encoding: "utf8",
    env: {
      PATH,
      HOME: home,
      TMPDIR,
      PLINTH_SITE: JSON.stringify(settings),
      ASTRO_TELEMETRY_DISABLED: "1",
      NODE_ENV: "production",
    },
  });
  if (status !== 0) throw new UserError(`The documentation could not be built:\n${stdout}${stderr}`);
}

function digestOf({ pathPrefix, platform }: SiteSettings): string {
  const hash = createHash("sha256").update(JSON.stringify([pathPrefix, platform]));
  const files = [
    ...[...SOURCES, "site", "scripts/site"].flatMap((path) =>
      statSync(join(ROOT, path)).isFile() ? [path] : globSync(`${path}/**/*.*`, { cwd: ROOT }),
    ),
    ...globSync("packages/*/README.md", { cwd: ROOT }),
    "package-lock.json",
  ];
  for (const file of files.filter((path) => !path.includes("/.astro/")).toSorted())
    if (statSync(join(ROOT, file)).isFile()) hash.update(`${file}\0`).update(readFileSync(join(ROOT, file)));
  return hash.digest("hex").slice(0, 24);
}

function isThere(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const now = new Date();
  utimesSync(folder, now, now);
  return true;
}

function removeOld(): void {
  const sites = readdirSync(HOME).filter((name) => /^[0-9a-f]{24}$/.test(name));
  const byAge = sites.map((name) => ({ name, usedMs: statSync(join(HOME, name)).mtimeMs }));
  for (const { name } of byAge.toSorted((one, other) => other.usedMs - one.usedMs).slice(KEPT))
    rmSync(join(HOME, name), { recursive: true, force: true });
}

async function takeLock(): Promise<() => void> {
  for (let waitedMs = 0; ; waitedMs += 200) {
    try {
      writeFileSync(LOCK, String(process.pid), { flag: "wx" });
      return () => rmSync(LOCK, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    if (!isRunning(readLock())) rmSync(LOCK, { force: true });
    if (waitedMs > LOCK_WAIT_MS)
      throw new UserError(`Another build of the documentation runs. If none does, remove ${LOCK}.`);
    await sleep(200);
  }
}

function readLock(): number | undefined {
  try {
    return Number(readFileSync(LOCK, "utf8")) || undefined;
  } catch {
    return undefined;
  }
}

/** A file without a number is being written. */
function isRunning(pid: number | undefined): boolean {
  if (pid === undefined) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
