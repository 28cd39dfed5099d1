import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import {
  applyFile,
  CATALOG,
  describedPlatform,
  ensureSecrets,
  type Secrets,
} from "../examples/walk/described-platform.ts";
import { startProgram, type Program } from "../examples/walk/program.ts";
import { walkThrough } from "../examples/walk/walk.ts";
import { exampleMcp } from "./example-mcp.ts";
import { ROOT } from "./lib/root.ts";
import { readPort, readSettings } from "./lib/local/settings.ts";
import { requireFreePort } from "./lib/local/state.ts";
import { paint } from "./lib/terminal.ts";
import { failWith, UserError } from "./lib/user-error.ts";
import { basic } from "../examples/tour/people.ts";
import { createSession } from "../examples/tour/session.ts";

/**
 * `npm run example`: starts a service of the platform (examples/catalog-service), describes it to the platform and
 * uses it.
 *
 * platform (the one at PORT, else one of its own) → `plat apply` → service → the walk, told like the tour
 *
 * `-- --serve` keeps it running and prints lines to try. The service listens at CATALOG_PORT (8790); its secrets and
 * its database are in STATE_DIR, in `catalog-service`. Everything that it started ends with this program.
 */
const START_MS = 120_000;
const HELP = `npm run example -- [--serve] | mcp

Starts the service in examples/catalog-service, describes it to the platform and uses it.
With mcp: serves examples/mcp-server, which agents sign people in to.
The platform is the one at PORT; if none is there, the example starts one.

  --serve  keeps the service running and prints lines to try

Example: CATALOG_PORT=8791 npm run example -- --serve`;
/** For the MCP server alone: the agents that come to this machine have no document at an https address. */
const AGENTS = process.argv.includes("mcp") ? { UNREGISTERED_CLIENTS: "registration" } : {};
const started: Program[] = [];

async function example(): Promise<void> {
  const startedMs = performance.now();
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { serve: { type: "boolean", default: false }, help: { type: "boolean", short: "h" } },
  });
  if (values.help === true) return console.log(HELP);
  const settings = readSettings(process.env);
  const { host, port, config, stateDir } = settings;
  const origin = `http://${host}:${port}`;
  const [which] = positionals;
  if (positionals.length > 1 || (which !== undefined && which !== "mcp")) throw new UserError(HELP);
  const servicePort = process.env["CATALOG_PORT"] ? readPort(process.env["CATALOG_PORT"]) : 8790;
  const sourceUrl = `http://${host}:${servicePort}`;
  const directory = join(stateDir, "catalog-service");
  if (which === undefined) await requireFreePort(host, servicePort, `CATALOG_PORT=${servicePort + 1} npm run example`);

  if (!(await answers(`${origin}${config.pathPrefix}/health`))) {
    console.log(`Nothing runs at ${origin}, so the platform is started there…`);
    started.push(await startProgram("scripts/start.ts", { env: { ...AGENTS, ...process.env }, patienceMs: START_MS }));
  }
  if (which === "mcp") return exampleMcp(settings, started);
  const { path: secretsPath, secrets } = ensureSecrets(directory);
  const file = describedPlatform(directory, { sourceUrl, platform: config.platform });
  const shown = relative(ROOT, file);
  console.log(`\n${paint.bold(`npm run plat -- apply ${shown.startsWith("..") ? file : shown}`)}`);
  const env = { ...process.env, ...secrets };
  console.log(indent(await applyFile(file, env, !(await isKnown(origin, config.pathPrefix, secrets)))));

  const service = await startProgram("examples/catalog-service/main.ts", {
    env: {
      PATH: process.env["PATH"],
      PLATFORM_URL: `${config.publicUrl || origin}${config.pathPrefix}`,
      PLATFORM: config.platform,
      CATALOG_PORT: String(servicePort),
      CATALOG_CLIENT_SECRET: secrets["CATALOG_CLIENT_SECRET"],
      CATALOG_DATABASE: join(directory, "catalog.sqlite"),
    },
    showLog: values.serve,
    patienceMs: START_MS,
  });
  started.push(service);
  console.log(`\nThe catalog listens at ${sourceUrl}; the world finds it at ${origin}${config.pathPrefix}/catalog/v1`);
  if (values.serve) {
    console.log(linesToTry(`${origin}${config.pathPrefix}`, secretsPath));
    console.log(`ready ${origin}${config.pathPrefix}${CATALOG.proxyPath}`);
    await Promise.race(started.map(({ ended }) => ended));
    throw new UserError("The platform or the catalog has ended.");
  }

  const session = createSession(origin, config.pathPrefix, config.platform, true);
  const direct = createSession(sourceUrl, "", config.platform, true);
  try {
    await walkThrough({
      session,
      direct,
      secretOf: (clientId) => secrets[SECRET_OF[clientId] ?? ""] ?? "",
      operatorSecret: config.operatorSecret,
    });
  } catch (error) {
    console.error(paint.dim(`\nThe catalog's log:\n${service.output()}`));
    throw error;
  }
  const requests = session.counts.requests + direct.counts.requests;
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  console.log(
    `\n${paint.green("Everything is as it should be")}: ${requests} requests, ${session.counts.checks} checks, ${seconds} s`,
  );
  console.log(
    `What ${shown} describes stays on the platform: tenants, clients, people, and the service catalog at ${sourceUrl}, where nothing\n` +
      "listens from now on. Start it again: npm run example -- --serve. Remove a tenant: npm run plat -- tenant erase <tenant>",
  );
}

const SECRET_OF: Readonly<Record<string, string>> = {
  [CATALOG.client]: "CATALOG_CLIENT_SECRET",
  [CATALOG.searchClient]: "SEARCH_CLIENT_SECRET",
  [CATALOG.shopClient]: "ACME_CLIENT_SECRET",
  [CATALOG.otherShopClient]: "GLOBEX_CLIENT_SECRET",
};

async function answers(address: string): Promise<boolean> {
  try {
    const answer = await fetch(address, { signal: AbortSignal.timeout(5_000) });
    await answer.arrayBuffer();
    return answer.status === 200;
  } catch {
    return false;
  }
}

/** Tells whether the platform has these clients with these secrets. A secret can only be tried, not read. */
async function isKnown(origin: string, pathPrefix: string, secrets: Secrets): Promise<boolean> {
  const tried = Object.entries(SECRET_OF).map(async ([id, name]) => {
    const headers = { authorization: basic({ id, secret: secrets[name] ?? "" }) };
    const body = new URLSearchParams({ grant_type: "client_credentials" });
    const answer = await fetch(`${origin}${pathPrefix}/oauth2/v1/token`, { method: "POST", headers, body });
    await answer.arrayBuffer();
    return answer.status !== 401;
  });
  return (await Promise.all(tried)).every(Boolean);
}

const indent = (text: string): string => text.trimEnd().replaceAll(/^/gm, "  ");

const linesToTry = (base: string, secretsPath: string): string => `
Try it, in another terminal:

  . ${secretsPath}
  TOKEN=$(curl -sS -u "${CATALOG.shopClient}:$ACME_CLIENT_SECRET" -d grant_type=client_credentials \\
    ${base}/oauth2/v1/token | node -pe "JSON.parse(require('fs').readFileSync(0)).access_token")
  catalog() { curl -sS -i -H "Authorization: Bearer $TOKEN" "$@"; echo; }
  PRODUCTS=${base}${CATALOG.proxyPath}/products
  catalog -X PUT -H 'Content-Type: application/json' \\
    -d '{"name":"Lamp","price":{"amount":1999,"currency":"EUR"}}' $PRODUCTS/lamp
  catalog -T scripts/data/photo.jpg -H 'Content-Type: image/jpeg' $PRODUCTS/lamp/picture
  catalog $PRODUCTS
  catalog -X DELETE $PRODUCTS/lamp

Stop: Ctrl-C
`;

async function end(code: number): Promise<never> {
  for (const program of started.toReversed()) await program.stop();
  process.exit(code);
}

let isEnding = false;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => {
    if (isEnding) return;
    isEnding = true;
    void end(0);
  });
try {
  await example();
  await end(0);
} catch (error) {
  if (!isEnding) {
    for (const program of started.toReversed()) await program.stop();
    failWith(error);
  }
}
