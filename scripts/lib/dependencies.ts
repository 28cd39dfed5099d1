/**
 * The rules for third-party packages, decided by package.json and package-lock.json alone. `runtime`: in the Worker's
 * bundle. `direct`: tools and tests that package.json names. `indirect`: what those bring along.
 */
type Use = "runtime" | "direct" | "indirect";

export interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Locked {
  /** Present if it differs from the folder's name. */
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
  readonly hasInstallScript?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

export interface Lockfile {
  readonly lockfileVersion: number;
  /** By folder: `node_modules/hono`; `""` is the project itself. */
  readonly packages: Readonly<Record<string, Locked & Manifest>>;
}

export interface Package {
  readonly name: string;
  readonly version: string;
  /** SPDX expression. */
  readonly licence: string;
  readonly use: Use;
}

const PERMISSIVE = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "Unlicense"];
const ALLOWED: Readonly<Record<Use, ReadonlySet<string>>> = {
  runtime: new Set(PERMISSIVE),
  // Tools run as published and are not redistributed, so they may have more licences.
  direct: new Set([...PERMISSIVE, "MPL-2.0"]),
  indirect: new Set([...PERMISSIVE, "BlueOak-1.0.0", "LGPL-3.0-or-later", "MPL-2.0", "PSF-2.0", "Python-2.0"]),
};

/** Licences of packages whose package.json does not name one. */
const KNOWN_LICENCES: Readonly<Record<string, string>> = {
  "@react-aria/optimize-locales-plugin": "Apache-2.0",
  "passport-strategy": "MIT",
};

/** Packages whose install scripts were reviewed: each installs its program for this system. */
const INSTALL_SCRIPTS = ["esbuild", "workerd"];

const EXACT = /^(npm:(@[\w.-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/;

/** Every violation of the rules, as a sentence that says what to do. */
export function faultsOf(manifest: Manifest, lock: Lockfile): string[] {
  const faults = [...faultsOfManifest(manifest, lock)];
  const packages = packagesOf(manifest, lock);
  for (const [folder, locked] of Object.entries(lock.packages)) {
    const { integrity, resolved, link, hasInstallScript } = locked;
    for (const name of Object.keys({ ...locked.dependencies, ...locked.optionalDependencies }))
      if (!isLocked(lock, folder, name))
        faults.push(`${name} of ${folder || "package.json"} is not in package-lock.json: npm ci stops`);
    if (folder === "") continue;
    if (link === true) faults.push(`${folder} is a link to a folder`);
    if (!(integrity === undefined && isForOthers(locked)) && !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ""))
      faults.push(`${folder} has no SHA-512 in package-lock.json`);
    // .npmrc leaves addresses out, so that every machine uses its own registry.
    if (resolved !== undefined) faults.push(`${folder} comes from ${resolved}`);
    if (hasInstallScript === true && !INSTALL_SCRIPTS.includes(nameOf(folder)))
      faults.push(`${folder} runs a script on install: read it, then add it to INSTALL_SCRIPTS, or drop the package`);
  }
  for (const { name, licence, use } of packages)
    if (!isAllowed(licence, ALLOWED[use]))
      faults.push(`${name} (${use}) has the licence ${licence || "(none)"}, which is not allowed for its use`);
  for (const name of [...INSTALL_SCRIPTS, ...Object.keys(KNOWN_LICENCES)])
    if (!packages.some((one) => one.name === name))
      faults.push(`${name} is an exception that nothing needs: remove it`);
  return faults;
}

/** Tells whether a package is locked where Node looks for it: below the folder, then below each folder above. */
function isLocked({ packages }: Lockfile, folder: string, name: string): boolean {
  for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    if (Object.hasOwn(packages, `${at === "" ? "" : `${at}/`}node_modules/${name}`)) return true;
    if (at === "") return false;
  }
}

/** A tool's program for another system. A registry mirror may lack it, so the lockfile may lack its digest. */
const isForOthers = ({ optional, dev, os, cpu }: Locked): boolean =>
  optional === true && dev === true && !(os?.includes("linux") === true && cpu?.includes("x64") === true);

function* faultsOfManifest(manifest: Manifest, lock: Lockfile): Generator<string> {
  if (lock.lockfileVersion !== 3) yield `package-lock.json has version ${lock.lockfileVersion}, expected 3`;
  for (const kind of ["dependencies", "devDependencies", "optionalDependencies"] as const) {
    const [given, known] = [manifest[kind] ?? {}, lock.packages[""]?.[kind] ?? {}];
    for (const name of new Set([...Object.keys(given), ...Object.keys(known)]))
      if (given[name] !== known[name]) yield `${name} differs in package-lock.json: run npm install`;
    for (const [name, version] of Object.entries(given))
      if (!EXACT.test(version)) yield `${name} is asked for as ${version}: name one version`;
  }
}

/** Every version of every package, by name. */
export function packagesOf(manifest: Manifest, lock: Lockfile): Package[] {
  const direct = new Set(Object.keys({ ...manifest.devDependencies, ...manifest.optionalDependencies }));
  const found = new Map<string, Package>();
  for (const [folder, locked] of Object.entries(lock.packages)) {
    if (folder === "") continue;
    const { name = nameOf(folder), version = "", license: licence = KNOWN_LICENCES[name] ?? "" } = locked;
    const isRuntime = locked.dev !== true && locked.optional !== true && locked.devOptional !== true;
    const isDirect = direct.has(folder.replace(/^node_modules\//, ""));
    const use = isRuntime ? "runtime" : isDirect ? "direct" : "indirect";
    found.set(`${name}@${version} ${use}`, { name, version, licence, use });
  }
  return [...found.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** `node_modules/a/node_modules/@b/c`: `@b/c`. */
const nameOf = (folder: string): string => folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);

/** Reads an SPDX expression without inner brackets: one of the alternatives, all of its parts. */
const isAllowed = (expression: string, allowed: ReadonlySet<string>): boolean =>
  expression
    .replaceAll(/^\(|\)$/g, "")
    .split(" OR ")
    .some((alternative) => alternative.split(" AND ").every((part) => allowed.has(part)));
