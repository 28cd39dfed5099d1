/**
 * What may come into the platform from others, decided by package.json and package-lock.json alone:
 *
 *   runtime      `dependencies` and what they need: a part of the Worker's bundle
 *   direct       named by package.json otherwise: tools and tests
 *   indirect     what those bring along; on the machine of a developer, never handed on
 */
export type Use = "runtime" | "direct" | "indirect";

export interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export interface Locked {
  /** Where the place has another one. */
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
}

export interface Lockfile {
  readonly lockfileVersion: number;
  /** By place: `node_modules/hono`; `""` is the project itself. */
  readonly packages: Readonly<Record<string, Locked & Manifest>>;
}

export interface Package {
  readonly name: string;
  readonly version: string;
  /** SPDX expression. */
  readonly licence: string;
  readonly use: Use;
}

/** Kept by a copy of their notice, which docs/licences.md is; or by nothing. */
const PERMISSIVE = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "Unlicense"];
const ALLOWED: Readonly<Record<Use, ReadonlySet<string>>> = {
  runtime: new Set(PERMISSIVE),
  direct: new Set(PERMISSIVE),
  // Tools that run as they were published and are not handed on.
  indirect: new Set([...PERMISSIVE, "LGPL-3.0-or-later", "MPL-2.0", "PSF-2.0", "Python-2.0"]),
};

/** Whose package.json says it in a way that npm does not read. */
const SAID_ELSEWHERE: Readonly<Record<string, string>> = { "passport-strategy": "MIT" };

/** May run something of their own when they are installed, and what. */
const INSTALL_SCRIPTS: Readonly<Record<string, string>> = {
  esbuild: "puts its program of this system in its place",
  workerd: "puts its program of this system in its place",
};

const EXACT = /^(npm:(@[\w.-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/;

/** What is wrong, each as a sentence that says what to do. Empty: all is well. */
export function faultsOf(manifest: Manifest, lock: Lockfile): string[] {
  const faults = [...faultsOfManifest(manifest, lock)];
  const used = new Set<string>();
  for (const [place, locked] of Object.entries(lock.packages)) {
    if (place === "") continue;
    const name = nameOf(place);
    used.add(name);
    faults.push(...faultsOfPackage(place, locked));
    if (locked.hasInstallScript === true && INSTALL_SCRIPTS[name] === undefined)
      faults.push(`${place} runs a script when it is installed: read it, then name it in INSTALL_SCRIPTS, or leave it`);
  }
  for (const { name, licence, use } of packagesOf(manifest, lock))
    if (!isAllowed(licence, ALLOWED[use]))
      faults.push(`${name} (${use}) has the licence ${licence || "(none)"}, which is not of those allowed for its use`);
  for (const name of [...Object.keys(INSTALL_SCRIPTS), ...Object.keys(SAID_ELSEWHERE)])
    if (!used.has(name)) faults.push(`${name} is named as an exception and is not there: take the exception away`);
  return faults;
}

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

function* faultsOfPackage(place: string, { integrity, resolved, link }: Locked): Generator<string> {
  if (link === true) yield `${place} is a link to a folder`;
  if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? "")) yield `${place} has no SHA-512 in package-lock.json`;
  // A package of a registry has none here (.npmrc): it comes from whichever registry the machine is set up with.
  if (resolved !== undefined) yield `${place} comes from ${resolved}`;
}

/** Every package once for each of its versions, by name. */
export function packagesOf(manifest: Manifest, lock: Lockfile): Package[] {
  const direct = new Set(Object.keys({ ...manifest.devDependencies, ...manifest.optionalDependencies }));
  const found = new Map<string, Package>();
  for (const [place, { name = nameOf(place), version = "", license, dev, optional, devOptional }] of Object.entries(
    lock.packages,
  )) {
    if (place === "") continue;
    const isRuntime = dev !== true && optional !== true && devOptional !== true;
    const isDirect = direct.has(place.replace(/^node_modules\//, ""));
    const use = isRuntime ? "runtime" : isDirect ? "direct" : "indirect";
    found.set(`${name}@${version} ${use}`, { name, version, licence: license ?? SAID_ELSEWHERE[name] ?? "", use });
  }
  return [...found.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** `node_modules/a/node_modules/@b/c`: `@b/c`. */
const nameOf = (place: string): string => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);

/** An SPDX expression without brackets: one of the alternatives, all of its parts. */
const isAllowed = (expression: string, allowed: ReadonlySet<string>): boolean =>
  expression.split(" OR ").some((alternative) => alternative.split(" AND ").every((part) => allowed.has(part)));
