import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { RELEASED, type Released } from "./lib/released.ts";
import { ROOT } from "./lib/root.ts";
import { failWith, UserError } from "./lib/user-error.ts";

/**
 * `npm run release -- <commit>` stores a release in test/upgrade/released/, in place of the one before it. `npm run
 * nightly` runs it beside today's Worker. It is stored as files, since a checkout may be shallow and without tags: the
 * bundle as it is uploaded, its configuration, the digests of its migrations, and the types of its objects' methods.
 */
function release(commit: string): void {
  const folder = mkdtempSync(join(tmpdir(), "plinth-release-"));
  try {
    const checkout = join(folder, "checkout");
    mkdirSync(checkout);
    execFileSync("tar", ["x", "-C", checkout], { input: git("archive", commit) });
    const read = (path: string): Buffer => readFileSync(join(checkout, path));
    const lock = "package-lock.json";
    if (!read(lock).equals(readFileSync(join(ROOT, lock))))
      throw new UserError(
        `${commit} has another ${lock}. Check that commit out, install its packages, and run this there.`,
      );
    symlinkSync(join(ROOT, "node_modules"), join(checkout, "node_modules"));

    const bundle = makeBundle(checkout, join(folder, "bundle"));
    const migrations = globSync("migrations/*.sql", { cwd: checkout }).toSorted();
    const about: Released = {
      version: (JSON.parse(read("package.json").toString()) as { version: string }).version,
      commit: git("rev-parse", commit).toString().trim(),
      bundleSha256: sha256(bundle),
      migrations: Object.fromEntries(migrations.map((path) => [path.slice("migrations/".length), sha256(read(path))])),
    };
    rmSync(RELEASED, { recursive: true, force: true });
    const keep = (path: string, content: string | Buffer): void => {
      mkdirSync(dirname(join(RELEASED, path)), { recursive: true });
      writeFileSync(join(RELEASED, path), content);
    };
    keep("release.json", `${JSON.stringify(about, null, 2)}\n`);
    keep("worker.js.gz", gzipSync(bundle, { level: 9 }));
    keep("wrangler.toml", read("wrangler.toml"));
    keep("NOTICES.md", makeNotices(checkout));
    for (const [path, text] of makeTypes(checkout, join(folder, "types"))) keep(join("types", path), text);
    console.log(`${relative(ROOT, RELEASED)} holds ${about.version}, commit ${about.commit}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const git = (...args: string[]): Buffer => execFileSync("git", args, { cwd: ROOT, maxBuffer: 1 << 28 });
const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

function tool(checkout: string, path: string, args: readonly string[]): void {
  try {
    execFileSync(process.execPath, [join(checkout, "node_modules", path), ...args], { cwd: checkout, stdio: "pipe" });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: Buffer; stderr: Buffer };
    throw new UserError(`${path} failed:\n${String(stdout)}${String(stderr)}`);
  }
}

function makeBundle(checkout: string, to: string): Buffer {
  tool(checkout, "wrangler/bin/wrangler.js", ["deploy", "--dry-run", "--minify=true", "--outdir", to]);
  return readFileSync(join(to, "worker.js"));
}

/** The licence notices that must accompany the bundle. */
function makeNotices(checkout: string): string {
  execFileSync(process.execPath, ["scripts/dependencies.ts"], { cwd: checkout, stdio: "ignore" });
  const text = readFileSync(join(checkout, ".build", "licences.md"), "utf8");
  return text.slice(text.indexOf("## Notices of the packages in the bundle")).replace("##", "#");
}

/** The type of queue messages: one that the old version sent may be read by the new one. */
const QUEUED = ["media/model/job.ts", "MediaJob"] as const;

/** Members of an object's class that no caller uses. They are left out, with the many types that they refer to. */
const NOT_CALLED = /^ +(#private|constructor\(.*\)|readonly ports: .*);\n/gm;

/** Declarations by path below src: queue messages, the objects' classes, and every type that their methods use. */
function makeTypes(checkout: string, to: string): Map<string, string> {
  const emit = ["--noEmit", "false", "--declaration", "--emitDeclarationOnly", "--removeComments", "--outDir", to];
  tool(checkout, "typescript/bin/tsc", ["-p", ".", ...emit]);
  const wanted = new Map<string, Set<string>>();
  const sources = new Map<string, readonly string[]>();
  const sourceOf = (path: string): readonly string[] => {
    const known = sources.get(path);
    if (known !== undefined) return known;
    const text = readFileSync(join(to, "src", path.replace(/\.ts$/, ".d.ts")), "utf8");
    const parts = (path.endsWith(".do.ts") ? text.replaceAll(NOT_CALLED, "") : text).split(DECLARATION);
    sources.set(path, parts);
    return parts;
  };
  const want = (path: string, name: string): void => {
    const names = wanted.get(path) ?? new Set();
    if (names.has(name)) return;
    wanted.set(path, names.add(name));
    const own = sourceOf(path).find((part) => nameOf(part) === name);
    if (own === undefined) throw new UserError(`src/${path} declares no ${name}`);
    const words = new Set(own.match(/\w+/g));
    for (const part of sourceOf(path)) {
      const other = nameOf(part);
      if (other !== undefined && words.has(other)) want(path, other);
      for (const imported of namesOf(part).filter((one) => words.has(one)))
        if (fromOf(part).startsWith(".")) want(normalize(join(dirname(path), fromOf(part))), imported);
    }
  };
  for (const path of globSync("**/*.do.ts", { cwd: join(checkout, "src") }).toSorted())
    for (const part of sourceOf(path)) if (part.startsWith("export declare class")) want(path, nameOf(part)!);
  want(...QUEUED);
  return new Map([...wanted].map(([path, names]) => [path, keptOf(sourceOf(path), names)]));
}

/** Where a declaration or an import begins. */
const DECLARATION = /^(?=(?:import|export|declare|interface|type|const)\b)/m;
const nameOf = (part: string): string | undefined =>
  /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|const|function) (\w+)/.exec(part)?.[1];
const namesOf = (part: string): string[] =>
  (/^import (?:type )?\{(.*)\}/.exec(part)?.[1] ?? "").split(",").map((name) => name.trim().replace(/^type /, ""));
const fromOf = (part: string): string => / from "(.*)";/.exec(part)?.[1] ?? "";

/** The wanted declarations, and the imports that they use. */
function keptOf(parts: readonly string[], names: ReadonlySet<string>): string {
  const body = parts.filter((part) => names.has(nameOf(part) ?? "")).join("");
  const used = new Set(body.match(/\w+/g));
  const imports = parts
    .map((part) => ({ from: fromOf(part), some: namesOf(part).filter((name) => used.has(name)) }))
    .filter(({ some }) => some.length > 0)
    .map(({ from, some }) => `import ${from.startsWith(".") ? "type " : ""}{ ${some.join(", ")} } from "${from}";\n`);
  return imports.join("") + body;
}

try {
  const [commit, ...more] = process.argv.slice(2);
  if (commit === undefined || more.length > 0)
    throw new UserError("Which commit was released? npm run release -- v0.1.0");
  release(commit);
} catch (error) {
  failWith(error);
}
