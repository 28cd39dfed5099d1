import { join } from "node:path";
import { readTextIfThere } from "../client/env-file.ts";

/**
 * Kinds of application, by how they keep a secret and who uses them:
 *
 *   browser   a page without a secret; people sign in
 *   server    a server with a secret; people sign in, and it acts for itself
 *   machine   a program with a secret that acts for itself
 */
export const KINDS = ["browser", "server", "machine"] as const;
export type Kind = (typeof KINDS)[number];

export interface Framework {
  readonly id: string;
  readonly title: string;
  readonly kind: Kind;
  /** The port of its development server. */
  readonly port?: number;
}

/** The first match counts, since a Next.js application may depend on others of these too. */
const OF_NODE: readonly (Framework & { readonly dependency: string })[] = [
  { id: "nextjs", title: "Next.js", dependency: "next", kind: "server", port: 3000 },
  { id: "fastify", title: "Fastify", dependency: "fastify", kind: "server", port: 3000 },
  { id: "express", title: "Express", dependency: "express", kind: "server", port: 3000 },
  { id: "hono", title: "Hono", dependency: "hono", kind: "server", port: 3000 },
  { id: "vite", title: "Vite", dependency: "vite", kind: "browser", port: 5173 },
];
const OF_PYTHON: readonly (Framework & { readonly dependency: string })[] = [
  { id: "fastapi", title: "FastAPI", dependency: "fastapi", kind: "server", port: 8000 },
  { id: "flask", title: "Flask", dependency: "flask", kind: "server", port: 5000 },
];
const HONO_ON_WORKERS: Framework = { id: "hono-workers", title: "Hono on Workers", kind: "server", port: 8787 };
const NODE: Framework = { id: "node", title: "Node", kind: "machine" };
const PYTHON: Framework = { id: "python", title: "Python", kind: "machine" };

/** The framework of a folder, by package.json, pyproject.toml or requirements.txt. */
export function detectFramework(folder: string): Framework | undefined {
  const manifest = readTextIfThere(join(folder, "package.json"));
  const named = manifest === "" ? [] : dependenciesOf(manifest);
  const python = ["pyproject.toml", "requirements.txt"].map((name) => readTextIfThere(join(folder, name))).join("\n");
  const names = (name: string): boolean => new RegExp(`(^|["'\\s])${name}(?![\\w.-])`, "im").test(python);
  const found = OF_NODE.find(({ dependency }) => named.includes(dependency));
  if (found?.id === "hono" && named.includes("wrangler")) return HONO_ON_WORKERS;
  return (
    found ??
    OF_PYTHON.find(({ dependency }) => names(dependency)) ??
    (manifest !== "" ? NODE : python.trim() === "" ? undefined : PYTHON)
  );
}

function dependenciesOf(manifest: string): string[] {
  try {
    const { dependencies, devDependencies } = JSON.parse(manifest) as Record<string, object | undefined>;
    return Object.keys({ ...dependencies, ...devDependencies });
  } catch {
    return [];
  }
}
