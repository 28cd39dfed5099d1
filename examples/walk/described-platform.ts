import { randomBytes } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readDevVars } from "../../scripts/lib/dev-vars.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { run } from "../../scripts/lib/run.ts";
import { UserError } from "../../scripts/lib/user-error.ts";

/** What examples/catalog-service/platform.yaml says, which names each thing once. */
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

/** The environment variables that the file takes secrets from. */
const SECRETS = ["CATALOG_CLIENT_SECRET", "SEARCH_CLIENT_SECRET", "ACME_CLIENT_SECRET", "GLOBEX_CLIENT_SECRET"];

export type Secrets = Readonly<Record<string, string>>;

/** The secrets of this directory, made where there are none yet, in a file that only its owner may read. */
export function ensureSecrets(directory: string): { path: string; secrets: Secrets } {
  mkdirSync(directory, { recursive: true });
  const path = join(directory, "secrets.env");
  const known = readDevVars(path);
  for (const name of SECRETS.filter((secret) => known[secret] === undefined))
    appendFileSync(path, `${name}="${randomBytes(32).toString("base64url")}"\n`, { mode: 0o600 });
  return { path, secrets: readDevVars(path) };
}

/**
 * The file to apply: the one of the example where it fits as it stands, else a copy in `directory` with the service's
 * address and the platform's prefix as they are here.
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

/** `npm run plat -- apply <file>`; what it printed. `env` names the platform and holds the secrets. */
export async function applyFile(file: string, env: NodeJS.ProcessEnv, setSecrets: boolean): Promise<string> {
  const args = ["scripts/plat.ts", "apply", file, ...(setSecrets ? ["--set-secrets"] : [])];
  const { code, output } = await run(process.execPath, [...process.execArgv, ...args], { env, timeoutMs: 120_000 });
  if (code !== 0) throw new UserError(`npm run plat -- apply ${file} failed:\n${output}`);
  return output;
}
