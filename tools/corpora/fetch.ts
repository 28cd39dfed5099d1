import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UserError } from "../../scripts/lib/user-error.ts";

/** A collection of test images for image libraries: part of a Debian source package. */
export interface Corpus {
  readonly name: string;
  readonly sourcePackage: string;
  /** Only images below folders of this name; without it, the whole package. */
  readonly within?: string;
}

export const CORPORA: readonly Corpus[] = [
  { name: "PngSuite", sourcePackage: "libstb", within: "pngsuite" },
  { name: "libpng", sourcePackage: "libpng1.6" },
  { name: "giflib", sourcePackage: "giflib" },
  { name: "libjpeg-turbo", sourcePackage: "libjpeg-turbo" },
  { name: "libvips", sourcePackage: "vips" },
  { name: "Pillow", sourcePackage: "pillow" },
];

/**
 * Fetches missing source packages into folders of their names in `home`, from the machine's own package mirror.
 * Without `apt-get` or a network, they have to be unpacked there by hand.
 */
export function fetchCorpora(home: string): void {
  const missing = CORPORA.filter(({ sourcePackage }) => !existsSync(join(home, sourcePackage)));
  if (missing.length === 0) return;
  if (spawnSync("apt-get", ["--version"]).error !== undefined)
    throw new UserError(
      `There is no apt-get here. Unpack the Debian source packages ${missing.map((corpus) => corpus.sourcePackage).join(", ")} ` +
        `into folders of these names below ${home}.`,
    );
  const options = aptOptions(home);
  run("apt-get", [...options, "update"], home);
  for (const { sourcePackage } of missing) fetchPackage(home, sourcePackage, options);
}

/** Fetches into a temporary name, so that an interrupted fetch starts anew. */
function fetchPackage(home: string, sourcePackage: string, options: readonly string[]): void {
  console.log(`fetching ${sourcePackage}`);
  const making = join(home, `${sourcePackage}.part`);
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  run("apt-get", [...options, "source", "--download-only", "--tar-only", sourcePackage], making);
  const archive = readdirSync(making).find((name) => /\.orig\.tar\.\w+$/.test(name));
  if (archive === undefined) throw new UserError(`${sourcePackage} came without an archive.`);
  run("tar", ["-xf", archive], making);
  renameSync(making, join(home, sourcePackage));
}

/**
 * The machine's own package sources as source-package lines, with separate lists and caches, so that nothing of the
 * machine changes.
 */
function aptOptions(home: string): string[] {
  const [parts, lists, cache] = ["sources", "lists", "cache"].map((name) => join(home, "apt", name));
  for (const folder of [parts!, join(lists!, "partial"), join(cache!, "archives", "partial")])
    mkdirSync(folder, { recursive: true });
  for (const path of machineSources()) {
    const text = readFileSync(path, "utf8");
    const sources = path.endsWith(".sources")
      ? text.replaceAll(/^Types:.*$/gm, "Types: deb-src")
      : text.replaceAll(/^deb(-src)? /gm, "deb-src ");
    writeFileSync(join(parts!, path.replaceAll("/", "_")), sources);
  }
  const settings = {
    "Dir::Etc::sourcelist": "/dev/null",
    "Dir::Etc::sourceparts": parts,
    "Dir::State::lists": lists,
    "Dir::Cache": cache,
    "APT::Sandbox::User": "root",
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
}

/** Only the distribution's lists: others do not have these packages. */
function machineSources(): string[] {
  const parts = "/etc/apt/sources.list.d";
  const inParts = existsSync(parts) ? readdirSync(parts).map((name) => join(parts, name)) : [];
  return ["/etc/apt/sources.list", ...inParts].filter(
    (path) =>
      /\.(list|sources)$/.test(path) && existsSync(path) && /\/(debian|ubuntu)\b/.test(readFileSync(path, "utf8")),
  );
}

function run(command: string, args: readonly string[], cwd: string): void {
  try {
    execFileSync(command, args, { cwd, stdio: ["ignore", "ignore", "pipe"] });
  } catch (error) {
    throw new UserError(`${command} failed: ${String((error as { stderr?: unknown }).stderr ?? error)}`, {
      cause: error,
    });
  }
}
