import { globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { faultsOf, packagesOf, type Lockfile, type Manifest, type Package } from "./lib/dependencies.ts";
import { ROOT } from "./lib/root.ts";

/**
 * `npm run licences` writes .build/licences.md: third-party packages, their licences, and the notices to hand on with
 * the Worker's bundle. `--check` writes nothing. Both hold package.json, package-lock.json and the imports of src to
 * the rules of lib/dependencies.ts, without asking a registry (scripts/audit.ts does that).
 */
const FILE = join(ROOT, ".build", "licences.md");

const manifest = readJson("package.json") as Manifest;
const lock = readJson("package-lock.json") as Lockfile;
const packages = packagesOf(manifest, lock);
const faults = [...faultsOf(manifest, lock), ...faultsOfImports()];
for (const fault of faults) console.error(`✗ ${fault}`);
if (faults.length > 0) process.exitCode = 1;
else if (process.argv.includes("--check")) console.log(`${packages.length} packages`);
else {
  mkdirSync(dirname(FILE), { recursive: true });
  writeFileSync(FILE, renderDocument());
  console.log(`wrote ${relative(ROOT, FILE)}, ${packages.length} packages`);
}

/** src imports exactly the packages that package.json lists as `dependencies`. */
function faultsOfImports(): string[] {
  const wanted = new Set(Object.keys(manifest.dependencies ?? {}));
  const imported = new Set<string>();
  for (const file of globSync("src/**/*.ts", { cwd: ROOT }))
    for (const [, name = ""] of readFileSync(join(ROOT, file), "utf8").matchAll(
      /^(?:import|export|\}) .*?from "((?:@[^/"]+\/)?[^./"][^/":]*)(?:\/[^"]*)?";$/gm,
    ))
      imported.add(name);
  return [
    ...[...imported]
      .filter((name) => !wanted.has(name))
      .map((name) => `src imports ${name}, which is not in dependencies`),
    ...[...wanted]
      .filter((name) => !imported.has(name))
      .map((name) => `src does not import ${name}: remove it from dependencies`),
  ];
}

function renderDocument(): string {
  const runtime = packages.filter(({ use }) => use === "runtime");
  const parts = [
    ["In the Worker's bundle; the notices below go with it", "runtime"],
    ["For development, named by package.json", "direct"],
    ["For development, brought along by those", "indirect"],
  ] as const;
  return [
    "# Third-party packages and their licences",
    ...parts.map(([title, part]) => `## ${title}\n\n${table(packages.filter(({ use }) => use === part))}`),
    "## Notices of the packages in the bundle",
    ...runtime.map(({ name }) => `### ${name}\n\n\`\`\`text\n${readNotice(name)}\n\`\`\``),
    "",
  ].join("\n\n");
}

function table(rows: readonly Package[]): string {
  const lines = rows.map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`);
  return ["| name | version | licence |", "| --- | --- | --- |", ...lines].join("\n");
}

/** The licence text of the package, with the names of its owners. */
function readNotice(name: string): string {
  const folder = join(ROOT, "node_modules", name);
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  if (file === undefined) throw new Error(`${name} brings no licence text`);
  return readFileSync(join(folder, file), "utf8").trim();
}

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, name), "utf8"));
}
