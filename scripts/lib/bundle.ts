import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { ROOT } from "./root.ts";
import { UserError } from "./user-error.ts";

/** What the Worker may weigh, compressed as Cloudflare counts it (decision 11). A start of an isolate costs by it. */
export const BUNDLE_BUDGET_GZIP_BYTES = 284 * 1024;

export interface Bundle {
  /** Absolute path of the one module. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly gzipBytes: number;
  /** Names of the packages of others that are in it, as its source map tells. */
  readonly packages: readonly string[];
}

/**
 * Bundles the Worker as `wrangler deploy` would, offline. A source that does not bundle throws with wrangler's words.
 * `config`: of another Worker. `main`: another file than the config's. Both are relative to the checkout, and the main
 * file is named `worker.ts` in any case.
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

/** Runs the locked wrangler in the checkout and returns what it printed; a failure throws with what it said. */
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
