import { globSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { faultsOf, packagesOf, type Lockfile, type Manifest, type Package } from "./lib/dependencies.ts";
import { ROOT } from "./lib/root.ts";

/**
 * `npm run licences` writes docs/licences.md, the packages of others with their licences; with `--check` it only says
 * whether the file is what it would write. Either way it holds package.json and package-lock.json to the rules of
 * lib/dependencies.ts, and src to importing nothing but `dependencies`. It asks nobody: see scripts/audit.ts for that.
 */
const FILE = join(ROOT, "docs", "licences.md");
const isCheck = process.argv.includes("--check");

const manifest = readJson("package.json") as Manifest;
const lock = readJson("package-lock.json") as Lockfile;
const packages = packagesOf(manifest, lock);
const faults = [...faultsOf(manifest, lock), ...faultsOfImports()];
const text = faults.length === 0 ? documentOf() : "";
if (isCheck && faults.length === 0 && readFileSync(FILE, "utf8") !== text)
  faults.push(`${relative(ROOT, FILE)} is stale: run npm run licences, look at the difference and commit it`);
for (const fault of faults) console.error(`✗ ${fault}`);
if (faults.length > 0) process.exitCode = 1;
else if (isCheck) console.log(`${packages.length} packages`);
else {
  writeFileSync(FILE, text);
  console.log(`wrote ${relative(ROOT, FILE)}, ${packages.length} packages`);
}

/** The Worker's code may import what goes into the bundle by name, and what is asked for there is imported. */
function faultsOfImports(): string[] {
  const wanted = new Set(Object.keys(manifest.dependencies ?? {}));
  const imported = new Set<string>();
  for (const file of globSync("src/**/*.ts", { cwd: ROOT }))
    for (const [, name = ""] of readFileSync(join(ROOT, file), "utf8").matchAll(
      /^(?:import|export|\}) .*?from "((?:@[^/"]+\/)?[^./"][^/":]*)(?:\/[^"]*)?";$/gm,
    ))
      imported.add(name);
  return [
    ...[...imported].filter((name) => !wanted.has(name)).map((name) => `src imports ${name}, which is no dependency`),
    ...[...wanted].filter((name) => !imported.has(name)).map((name) => `src imports nothing of ${name}: take it away`),
  ];
}

function documentOf(): string {
  const runtime = packages.filter(({ use }) => use === "runtime");
  const direct = packages.filter(({ use }) => use === "direct");
  const indirect = packages.filter(({ use }) => use === "indirect");
  const counts = Map.groupBy(indirect, ({ licence }) => licence);
  return `# Packages of others, and their licences

Written by \`npm run licences\` from package-lock.json, and checked by \`npm test\` (stage \`dependencies\`).

## In the Worker

These are bundled into the Worker. Whoever hands the bundle on (a deployment to an account of one's own hands on nothing)
hands on the notices below with it: this file does.

${table(runtime)}

## Made of others' data

The commonest passwords, which are refused (\`src/platform/common-passwords-filter.ts\`, a Bloom filter), come from the list of
@zxcvbn-ts/language-common 4.1.3 (MIT; Copyright (c) 2012-2016 Dan Wheeler and Dropbox, Inc., Copyright (c) 2021
@zxcvbn-ts), read on 22 November 2026 by \`scripts/common-passwords.ts\`. The list stands
in no file here. The permission of the MIT licence below goes for it too.

## For development

Named by package.json, and not in the bundle: they build, test and start the platform, and are not handed on.

${table(direct)}

## What these bring along

${indirect.length} packages more, installed on the machine of a developer and not handed on.

| licence | packages |
| --- | --- |
${[...counts]
  .toSorted(([one], [other]) => (one < other ? -1 : 1))
  .map(([licence, those]) => `| ${licence} | ${those.length <= 15 ? those.map(named).join(", ") : those.length} |`)
  .join("\n")}

## Notices of what is in the Worker

${runtime.map((one) => `### ${one.name}\n\n\`\`\`text\n${noticeOf(one.name)}\n\`\`\``).join("\n\n")}
`;
}

function named({ name, version }: Package): string {
  return `${name} ${version}`;
}

function table(rows: readonly Package[]): string {
  const lines = rows.map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`);
  return ["| name | version | licence |", "| --- | --- | --- |", ...lines].join("\n");
}

/** The licence as the package brings it, with the names of its owners. */
function noticeOf(name: string): string {
  const folder = join(ROOT, "node_modules", name);
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  if (file === undefined) throw new Error(`${name} brings no text of its licence`);
  const lines = readFileSync(join(folder, file), "utf8").split("\n");
  return lines
    .map((line) => line.trimEnd())
    .join("\n")
    .trim();
}

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, name), "utf8"));
}
