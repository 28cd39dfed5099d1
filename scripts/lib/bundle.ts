import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { ROOT } from "./root.ts";
import { UserError } from "./user-error.ts";

/** The compressed size that the Worker may have. An isolate's start time depends on it. */
export const BUNDLE_BUDGET_GZIP_BYTES = 304 * 1024;

export interface Bundle {
  /** Absolute path of the one module. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly gzipBytes: number;
  /** Names of the bundled third-party packages, from the source map. */
  readonly packages: readonly string[];
}

/**
 * Bundles the Worker offline, like `wrangler deploy`. Throws wrangler's message if that fails. `config`: of another
 * Worker. `main`: another file than the config's. Both are relative to the checkout; the main file must be named
 * `worker.ts`.
 */
export async function bundleWorker(
  outDir: string,
  options: { readonly minify: boolean; readonly config?: string; readonly main?: string | undefined },
): Promise<Bundle> {
  const { minify, config = "wrangler.toml", main } = options;
  const script = main === undefined ? [] : [main];
  await wrangler(["deploy", ...script, "--dry-run", "--outdir", outDir, `--minify=${minify}`, "--config", config]);
  const path = join(outDir, "worker.js");
  const bytes = readFileSync(path);
  const packages = packagesOf(JSON.parse(readFileSync(`${path}.map`, "utf8")) as { sources: string[] });
  return { path, sizeBytes: bytes.length, gzipBytes: gzipSync(bytes, { level: 9 }).length, packages };
}

function packagesOf({ sources }: { readonly sources: readonly string[] }): string[] {
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
