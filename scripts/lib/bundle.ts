import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve, sep } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { remember } from "./remember.ts";
import { ROOT } from "./root.ts";
import { UserError } from "./user-error.ts";

/**
 * The largest compressed size of the Worker, a little above the present one, so that a large addition is noticed and
 * decided. The start time of an isolate depends on it.
 */
export const BUNDLE_BUDGET_GZIP_BYTES = 516 * 1024;

export interface Bundle {
  /** Absolute path of the one module. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly gzipBytes: number;
  /** Names of the bundled third-party packages, from the source map. */
  readonly packages: readonly string[];
}

export interface BundleOptions {
  readonly minify: boolean;
  /** The configuration of another Worker, relative to the checkout. */
  readonly config?: string;
  /** The main file in place of the configuration's, relative to the checkout and named `worker.ts`. */
  readonly main?: string | undefined;
}

const CONFIG = "wrangler.toml";
/** The sources of the platform's Worker, besides packages. */
const SOURCES = ["src", "api/openapi.json", "tsconfig.json"];
/** More sources of other Workers: these are tools, which import from scripts and tests. */
const OTHER_SOURCES = ["tools", "scripts", "test/support"];

/**
 * Bundles the Worker offline, like `wrangler deploy`, unless no source has changed since the last time. Throws
 * wrangler's message if that fails.
 */
export async function bundleWorker(outDir: string, { minify, config = CONFIG, main }: BundleOptions): Promise<Bundle> {
  const sources = [config, ...SOURCES, ...(config === CONFIG && main === undefined ? [] : OTHER_SOURCES)];
  const name = `bundle ${minify ? "minified" : "whole"} ${main ?? config}`;
  const { code, map, ...facts } = await remember(name, sources, () => bundle({ minify, config, main }, sources));
  mkdirSync(outDir, { recursive: true });
  const path = join(outDir, "worker.js");
  writeFileSync(path, code);
  writeFileSync(`${path}.map`, map);
  return { path, ...facts };
}

interface Output extends Omit<Bundle, "path"> {
  readonly code: string;
  /** The source map. */
  readonly map: string;
}

async function bundle({ minify, config = CONFIG, main }: BundleOptions, known: readonly string[]): Promise<Output> {
  const dir = mkdtempSync(join(tmpdir(), "plinth-bundle-"));
  try {
    const script = main === undefined ? [] : [main];
    await wrangler(["deploy", ...script, "--dry-run", "--outdir", dir, `--minify=${minify}`, "--config", config]);
    const code = readFileSync(join(dir, "worker.js"), "utf8");
    const map = readFileSync(join(dir, "worker.js.map"), "utf8");
    const { sources } = JSON.parse(map) as { sources: readonly string[] };
    const unknown = sources
      .map((source) => relative(ROOT, resolve(dir, source)).replaceAll(sep, "/"))
      .find((path) => !["node_modules", ...known].some((one) => path === one || path.startsWith(`${one}/`)));
    if (unknown !== undefined) throw new Error(`${unknown} is no known source of the Worker's bundle`);
    const gzipBytes = gzipSync(code, { level: 9 }).length;
    return { code, map, sizeBytes: Buffer.byteLength(code), gzipBytes, packages: packagesOf(sources) };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function packagesOf(sources: readonly string[]): string[] {
  const names = sources.map((source) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1]);
  return [...new Set(names.filter((name) => name !== undefined))];
}

const WRANGLER = join(ROOT, "node_modules", "wrangler", "bin", "wrangler.js");

/** Runs the locked wrangler in the checkout and returns its output; throws it on failure. */
export async function wrangler(args: readonly string[]): Promise<string> {
  const options = {
    cwd: ROOT,
    maxBuffer: 1 << 26,
    env: { ...process.env, WRANGLER_WRITE_LOGS: "false", WRANGLER_HIDE_BANNER: "true" },
  };
  try {
    return (await promisify(execFile)(process.execPath, [WRANGLER, ...args], options)).stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new UserError(`wrangler ${args.slice(0, 3).join(" ")} failed:\n${stdout}${stderr}`, { cause: error });
  }
}
