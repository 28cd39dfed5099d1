import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, globSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FILTER_PATH } from "../../src/platform/secrets/common-passwords.ts";
import { builtOnce } from "../lib/build-cache.ts";
import { ROOT } from "../lib/root.ts";
import { UserError } from "../lib/user-error.ts";
import { readPages, SOURCES } from "./pages.ts";

export interface SiteSettings {
  readonly pathPrefix: string;
  readonly platform: string;
}

const HOME = join(ROOT, ".build", "site");

/** Builds the documentation site of a deployment. Returns its folder, whose `docs/` is served below the path prefix. */
export const buildSite = (settings: SiteSettings, say: (line: string) => void = () => {}): Promise<string> =>
  builtOnce(
    {
      home: HOME,
      digest: digestOf(settings),
      what: "the documentation",
      make: (making) => make(making, settings),
    },
    say,
  );

async function make(making: string, { pathPrefix, platform }: SiteSettings): Promise<void> {
  // Imported only here, since a start with a built site does not need these modules.
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

/** Runs the generator in a process of its own, since it changes process state and takes much memory. */
function astro(settings: object): void {
  const program = join(ROOT, "node_modules/astro/bin/astro.mjs");
  // Passes few variables on: those of a test runner would make it build development pages.
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
