import { randomBytes } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readDevVars } from "../../scripts/lib/local/dev-vars.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { run } from "../../scripts/lib/run.ts";
import { UserError } from "../../scripts/lib/user-error.ts";

/** The names in examples/catalog-service/platform.yaml. */
export const CATALOG = {
  file: join(ROOT, "examples", "catalog-service", "platform.yaml"),
  platform: "plat",
  sourceUrl: "http://127.0.0.1:8790",
  proxyPath: "/catalog/v1",
  package: "catalog",
  client: "shelfware.catalog",
  searchClient: "shelfware.search",
  shopClient: "acme.shop",
  otherShopClient: "globex.shop",
  tenant: "acmeshop",
};

/** Environment variables with the file's secrets. */
const SECRETS = ["CATALOG_CLIENT_SECRET", "SEARCH_CLIENT_SECRET", "ACME_CLIENT_SECRET", "GLOBEX_CLIENT_SECRET"];

export type Secrets = Readonly<Record<string, string>>;

/** Reads the secrets of this directory, or makes them, in a file that only its owner may read. */
export function ensureSecrets(directory: string): { path: string; secrets: Secrets } {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, "secrets.env");
  const known = readDevVars(path);
  for (const name of SECRETS.filter((secret) => known[secret] === undefined))
    appendFileSync(path, `${name}="${randomBytes(32).toString("base64url")}"\n`, { mode: 0o600 });
  return { path, secrets: readDevVars(path) };
}

/**
 * Returns the file to apply: the example's if it fits, else a copy in `directory` with the local service address and
 * prefix.
 */
export function describedPlatform(directory: string, here: { sourceUrl: string; platform: string }): string {
  if (here.sourceUrl === CATALOG.sourceUrl && here.platform === CATALOG.platform) return CATALOG.file;
  const text = readFileSync(CATALOG.file, "utf8")
    .replaceAll(CATALOG.sourceUrl, here.sourceUrl)
    .replaceAll(`${CATALOG.platform}.`, `${here.platform}.`);
  mkdirSync(directory, { recursive: true });
  const path = join(directory, "platform.yaml");
  writeFileSync(path, text);
  return path;
}

/** Runs `npm run plat -- apply <file>` and returns its output. `env` names the platform and holds the secrets. */
export async function applyFile(file: string, env: NodeJS.ProcessEnv, setSecrets: boolean): Promise<string> {
  const args = ["scripts/plat.ts", "apply", file, ...(setSecrets ? ["--set-secrets"] : [])];
  const { code, output } = await run(process.execPath, [...process.execArgv, ...args], { env, timeoutMs: 120_000 });
  if (code !== 0) throw new UserError(`npm run plat -- apply ${file} failed:\n${output}`);
  return output;
}
