import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { askForFaults, judge } from "../../scripts/lib/audit.ts";
import { bundleWorker } from "../../scripts/lib/bundle.ts";
import { faultsOf, packagesOf, type Lockfile, type Manifest } from "../../scripts/lib/dependencies.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { npm } from "../acceptance/support/process/program.ts";
import { newStateDir } from "../acceptance/support/process/state.ts";

/** Faults that the stage `dependencies` finds; each case changes one thing in the real lockfile. */
const manifest = readJson("package.json") as Manifest;
const lock = readJson("package-lock.json") as Lockfile;

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, name), "utf8"));
}

const changed = (place: string, change: object): Lockfile => ({
  ...lock,
  packages: { ...lock.packages, [place]: { ...lock.packages[place], ...change } },
});

test("the lockfile has no fault", () => {
  expect(faultsOf(manifest, lock)).toEqual([]);
});

test.each<[string, string, object, RegExp]>([
  ["a licence that binds the Worker", "node_modules/hono", { license: "MPL-2.0" }, /^hono \(runtime\).*MPL-2\.0/],
  ["one of a tool's", "node_modules/vitest", { license: "AGPL-3.0-only" }, /^vitest \(direct\).*AGPL/],
  ["half of an expression", "node_modules/tslib", { license: "MIT AND SSPL-1.0" }, /^tslib \(indirect\).*SSPL/],
  ["no licence", "node_modules/jose", { license: undefined }, /^jose \(runtime\).*\(none\)/],
  ["no digest", "node_modules/zod", { integrity: undefined }, /^node_modules\/zod has no SHA-512/],
  ["an old digest", "node_modules/zod", { integrity: "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=" }, /has no SHA-512/],
  ["another host", "node_modules/ws", { resolved: "https://evil.example/ws.tgz" }, /comes from https:\/\/evil/],
  ["a folder", "node_modules/ws", { link: true }, /^node_modules\/ws is a link/],
  ["an install script", "node_modules/redis", { hasInstallScript: true }, /^node_modules\/redis runs a script/],
  ["a new package below another", "node_modules/ws/node_modules/x", { version: "1.0.0" }, /^node_modules\/ws.*SHA-512/],
])("finds %s", (_, place, change, expected) => {
  expect(faultsOf(manifest, changed(place, change))).toContainEqual(expect.stringMatching(expected));
});

test("finds a package that npm ci would miss, and takes a tool's program for another system without a digest", () => {
  const { ["node_modules/hono"]: hono, ...others } = lock.packages;
  expect(hono).toBeDefined();
  expect(faultsOf(manifest, { ...lock, packages: others })).toContainEqual(
    expect.stringMatching(/^hono of package\.json is not in package-lock\.json/),
  );
  const other = { version: "1.0.0", license: "MIT", dev: true, optional: true, os: ["darwin"], cpu: ["arm64"] };
  const place = "node_modules/@x/darwin-arm64";
  expect(faultsOf(manifest, changed(place, other))).toEqual([]);
  for (const change of [{ os: ["linux"], cpu: ["x64"] }, { dev: false }, { optional: false }])
    expect(faultsOf(manifest, changed(place, { ...other, ...change })).join()).toContain("no SHA-512");
});

test("finds a version range, and a lockfile of another package.json", () => {
  const loose = { ...manifest, dependencies: { ...manifest.dependencies, hono: "^4.0.0" } };
  const faults = faultsOf(loose, lock);
  expect(faults).toContainEqual(expect.stringMatching(/^hono is asked for as \^4\.0\.0/));
  expect(faults).toContainEqual(expect.stringMatching(/^hono differs in package-lock\.json/));
});

test("the packages listed for the Worker are those in its bundle, and what a package of it brings and the bundle leaves out", async () => {
  const dir = newStateDir();
  const { packages } = await bundleWorker(dir, { minify: true }).finally(() => rmSync(dir, { recursive: true }));
  const listed = packagesOf(manifest, lock).filter(({ use }) => use === "runtime");
  expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining([...packages]));
  const { dependencies } = manifest as { readonly dependencies: Readonly<Record<string, string>> };
  expect(packages).toEqual(expect.arrayContaining(Object.keys(dependencies)));
});

test("a package is listed by its own name, even under an alias", () => {
  const names = Object.entries(lock.packages).flatMap(([place, { name }]) => (place === "" ? [] : (name ?? [])));
  expect(names).not.toEqual([]);
  expect(packagesOf(manifest, lock).map(({ name }) => name)).toEqual(expect.arrayContaining(names));
});

/** Plays npm's registry for an audit: its advisories, or 405 as mirrors answer. */
async function startRegistry(against: string | undefined) {
  const registry = createServer((request, response) => {
    request.resume();
    const fault = { id: 1, url: "https://advisories.example/1", title: "A fault", severity: "high" };
    const known = against === undefined ? {} : { [against]: [{ ...fault, vulnerable_versions: "*" }] };
    if (against === "") response.writeHead(405).end();
    else if (request.method === "POST") response.end(JSON.stringify(known));
    else response.writeHead(404).end("{}");
  }).listen(0, "127.0.0.1");
  await once(registry, "listening");
  return { registry, url: `http://127.0.0.1:${(registry.address() as AddressInfo).port}/` };
}

test.each<[string, string | undefined, number, boolean, string]>([
  ["nothing known", undefined, 0, true, ""],
  ["a fault of the Worker's", "hono", 1, false, "a package of the Worker has a known fault"],
  ["a fault of a tool's", "vitest", 1, true, "a tool has a known fault: npm run audit"],
  ["a mirror that knows nothing of faults", "", 2, true, "not known: the registry gave no answer (npm run audit)"],
])("an audit: %s", async (_, against, code, isFine, note) => {
  const { registry, url } = await startRegistry(against);
  try {
    const audit = npm("audit", { npm_config_registry: url });
    const [ended, audits] = await Promise.all([
      audit.ended,
      askForFaults({ ...process.env, npm_config_registry: url }),
    ]);
    expect([ended, judge(audits)], audit.output()).toEqual([code, { isFine, note }]);
  } finally {
    registry.close();
  }
});
