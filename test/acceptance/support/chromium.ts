import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import packaged from "@sparticuz/chromium";
import { chromium, type Browser } from "playwright-core";
import { ROOT } from "../../../scripts/lib/root.ts";

/**
 * Chromium as npm brings it: `@sparticuz/chromium` has it packed, together with fonts and with libraries that small
 * systems lack. It is unpacked once, below `node_modules`.
 */
const PACKAGE = join(ROOT, "node_modules", "@sparticuz", "chromium");
const { version } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as { version: string };
const HOME = join(ROOT, "node_modules", ".cache", `chromium-${version}`);

/** The package's own flags are for machines without users: these switch off what is to be tested, or are unstable. */
const UNWANTED =
  /^--(disable-web-security|allow-running-insecure-content|disable-site-isolation-trials|disable-features|single-process|headless)/;
const QUIET = [
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export async function launchChromium(): Promise<Browser> {
  // Packed for this system alone; elsewhere the Chrome that is installed has to do.
  if (process.platform !== "linux" || process.arch !== "x64") return chromium.launch({ channel: "chrome" });
  await unpack();
  const executablePath = join(HOME, "chromium");
  packaged.setGraphicsMode = false;
  const args = [...packaged.args.filter((flag) => !UNWANTED.test(flag)), ...QUIET];
  return chromium.launch({ executablePath, args, env: environment(executablePath) });
}

/** Unpacks below `TMPDIR`, as the package does. In a process of its own, since others of this one need theirs. */
const UNPACK = `
  import packaged, { inflate } from "@sparticuz/chromium";
  await packaged.executablePath();
  await inflate(${JSON.stringify(join(PACKAGE, "bin", "al2023.tar.br"))});
`;

/** Whole or not at all: what was broken off, or is done twice at the same time, leaves nothing half there. */
async function unpack(): Promise<void> {
  if (existsSync(HOME)) return;
  const making = `${HOME}.${process.pid}`;
  mkdirSync(making, { recursive: true });
  const options = { cwd: ROOT, env: { ...process.env, TMPDIR: making } };
  await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", UNPACK], options);
  writeFileSync(join(making, "fonts", "fonts.conf"), FONTS);
  try {
    renameSync(making, HOME);
  } catch (error) {
    rmSync(making, { recursive: true });
    if (!existsSync(HOME)) throw error;
  }
}

/** The same fonts on every machine, and nothing of the system's. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(HOME, "fonts")}</dir>
  <cachedir>${join(HOME, "fonts-cache")}</cachedir>
</fontconfig>
`;

function environment(executablePath: string): Record<string, string> {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  const env = { ...inherited, FONTCONFIG_PATH: join(HOME, "fonts") };
  const { status } = spawnSync(executablePath, ["--version"], { env });
  return status === 0 ? env : { ...env, LD_LIBRARY_PATH: join(HOME, "al2023", "lib") };
}
