import { createHash } from "node:crypto";
import { globSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./root.ts";

/** A source of every result, since packages do the work. */
const PACKAGES = "package-lock.json";

/**
 * Returns the result of `make`, kept in `.build/` until a source changes. `sources`: files and folders of the checkout.
 * The result must survive JSON. (Loading wrangler and bundling takes longer than the rest of a start.)
 */
export async function remember<T>(name: string, sources: readonly string[], make: () => Promise<T>): Promise<T> {
  const dir = join(ROOT, ".build", "made");
  const path = join(dir, `${name.replaceAll(/[^\w.]/g, "-")}.json`);
  const digest = digestOf([...sources, PACKAGES]);
  const known = read(path);
  if (known?.digest === digest) return known.made as T;
  const made = await make();
  mkdirSync(dir, { recursive: true });
  // Written under another name first: another process may read or write the result at the same time.
  writeFileSync(`${path}.${process.pid}`, JSON.stringify({ digest, made }));
  renameSync(`${path}.${process.pid}`, path);
  return made;
}

function read(path: string): { readonly digest: string; readonly made: unknown } | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

function digestOf(sources: readonly string[]): string {
  const hash = createHash("sha256").update(ROOT);
  for (const path of sources.flatMap(filesOf)) hash.update(`${path}\0`).update(readFileSync(join(ROOT, path)));
  return hash.digest("base64");
}

/** Sorted, so that the digest is the same on every file system. */
function filesOf(path: string): string[] {
  if (!statSync(join(ROOT, path)).isDirectory()) return [path];
  const found = globSync(`${path}/**`, { cwd: ROOT, withFileTypes: true }).filter((entry) => entry.isFile());
  return found.map(({ parentPath, name }) => join(parentPath, name).slice(ROOT.length + 1)).toSorted();
}
