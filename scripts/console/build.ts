import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { builtOnce } from "../lib/build-cache.ts";
import { ROOT } from "../lib/root.ts";
import { UserError } from "../lib/user-error.ts";

export interface ConsoleSettings {
  readonly pathPrefix: string;
}

const HOME = join(ROOT, ".build", "console");
/** Files and folders that the console is built from. */
const SOURCES = ["console", "api/plinth.ts", "packages/sdk/src", "scripts/console", "package-lock.json"];

/** Builds the console for a deployment. Returns its folder, whose files are served below `/console`. */
export const buildConsole = (
  { pathPrefix }: ConsoleSettings,
  say: (line: string) => void = () => {},
): Promise<string> =>
  builtOnce(
    {
      home: HOME,
      digest: digestOf(pathPrefix),
      what: "the console",
      make: async (making) => vite(join(making, "out"), pathPrefix),
    },
    say,
  );

/** Runs Vite in a process of its own, so that its memory is free again afterwards. */
function vite(out: string, pathPrefix: string): void {
  const program = join(ROOT, "node_modules/vite/bin/vite.js");
  const { PATH, HOME: home, TMPDIR } = process.env;
  const args = ["build", join(ROOT, "console"), "--base", `${pathPrefix}/console/`, "--outDir", out, "--emptyOutDir"];
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args, "--logLevel", "warn"], {
    encoding: "utf8",
    env: { PATH, HOME: home, TMPDIR, NODE_ENV: "production" },
  });
  if (status !== 0) throw new UserError(`The console could not be built:\n${stdout}${stderr}`);
}

function digestOf(pathPrefix: string): string {
  const hash = createHash("sha256").update(pathPrefix);
  const files = SOURCES.flatMap((path) =>
    statSync(join(ROOT, path)).isFile() ? [path] : globSync(`${path}/**/*.*`, { cwd: ROOT }),
  );
  for (const file of files.toSorted())
    if (statSync(join(ROOT, file)).isFile()) hash.update(`${file}\0`).update(readFileSync(join(ROOT, file)));
  return hash.digest("hex").slice(0, 24);
}
