import { createHash } from "node:crypto";
import { copyFileSync, globSync, linkSync, mkdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { buildConsole } from "../console/build.ts";
import { buildSite, type SiteSettings } from "../site/build.ts";
import { builtOnce } from "../lib/build-cache.ts";
import { ROOT } from "../lib/root.ts";

/** The Worker's static assets in one folder: documentation and console. Each is built again when its sources change. */
export async function buildAssets(settings: SiteSettings, say: (line: string) => void = () => {}): Promise<string> {
  const [site, console_] = await Promise.all([buildSite(settings, say), buildConsole(settings, say)]);
  const digest = createHash("sha256")
    .update(`${basename(site)} ${basename(console_)}`)
    .digest("hex")
    .slice(0, 24);
  const make = async (making: string) => {
    linkAll(site, join(making, "out"));
    linkAll(console_, join(making, "out", "console"));
  };
  return builtOnce({ home: join(ROOT, ".build", "assets"), digest, what: "the assets", make }, () => {});
}

/** Puts hard links to the files into another folder. Where the file system cannot link them, they are copied. */
function linkAll(from: string, to: string): void {
  for (const file of globSync("**/*", { cwd: from, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const target = join(file.parentPath, file.name).replace(from, to);
    mkdirSync(dirname(target), { recursive: true });
    const source = join(file.parentPath, file.name);
    try {
      linkSync(source, target);
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== "EXDEV") throw thrown;
      copyFileSync(source, target);
    }
  }
}
