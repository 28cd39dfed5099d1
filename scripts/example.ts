import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createAdminClient } from "../cli/client/admin-client.ts";
import {
  applyFile,
  CATALOG,
  describedPlatform,
  ensureSecrets,
  type Secrets,
} from "../examples/walk/described-platform.ts";
import { startProgram, type Program, type ProgramOptions } from "../examples/walk/program.ts";
import { rememberNew, removeMade } from "../examples/walk/removal.ts";
import { walkThrough } from "../examples/walk/walk.ts";
import { exampleMcp } from "./example-mcp.ts";
import { ROOT } from "./lib/root.ts";
import { readPort, readSettings } from "./lib/local/settings.ts";
import { requireFreePort } from "./lib/local/state.ts";
import { paint } from "./lib/terminal.ts";
import { failWith, UserError } from "./lib/user-error.ts";
import { STOPPED } from "../examples/tour/clear-up.ts";
import { basic } from "../examples/tour/people.ts";
import { createSession } from "../examples/tour/session.ts";

/**
 * `npm run example`: starts a service of the platform (examples/catalog-service), describes it to the platform and
 * uses it.
 *
 * platform (the one at PORT, else one of its own) → `plat apply` → service → the walk, told like the tour → removal
 *
 * `-- --serve` keeps the service running and prints lines to try. It listens at CATALOG_PORT (8790); its secrets and
 * its database are in STATE_DIR, in `catalog-service`. Processes that this program started end with it. It also removes
 * the records that it made (examples/walk/removal.ts), even if it fails or is stopped; `--keep` leaves them.
 */
const START_MS = 120_000;
/** One Ctrl-C arrives several times: from the terminal, from npm, from npm's child. */
const SAME_STOP_MS = 1_000;
const HELP = `npm run example -- [--serve] [--keep] | mcp

Starts the service in examples/catalog-service, describes it to the platform and uses it.
Removes at the end what it made; ends at once if the platform has records with its names already. With mcp: serves examples/mcp-server, which agents sign people in to, until Ctrl-C.
The platform is the one at PORT; if none is there, the example starts one.

  --serve  keeps the service running until Ctrl-C and prints lines to try
  --keep   leaves what it made; the next run without --keep removes it

Example: CATALOG_PORT=8791 npm run example -- --serve`;
/** Settings for the MCP server: agents on this machine register, since they have no document at an https address. */
const AGENTS = process.argv.includes("mcp") ? { UNREGISTERED_CLIENTS: "registration" } : {};
const started: Program[] = [];
/** Runs on a signal: ends this program; once there are records to remove, lets it end in order. */
let onStop = (): void => void end(0);

interface Stage {
  readonly settings: ReturnType<typeof readSettings>;
  readonly directory: string;
  readonly sourceUrl: string;
  readonly servicePort: number;
  readonly serve: boolean;
  /** Resolves at the first Ctrl-C. */
  readonly stopped: Promise<void>;
}

async function example(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      serve: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      help: { type: "boolean", short: "h" },
    },
  });
  if (values.help === true) return console.log(HELP);
  const settings = readSettings(process.env);
  const { host, port, config, stateDir } = settings;
  const base = `http://${host}:${port}${config.pathPrefix}`;
  const [which] = positionals;
  if (positionals.length > 1 || (which !== undefined && which !== "mcp")) throw new UserError(HELP);
  const servicePort = process.env["CATALOG_PORT"] ? readPort(process.env["CATALOG_PORT"]) : 8790;
  const sourceUrl = `http://${host}:${servicePort}`;
  const directory = join(stateDir, "catalog-service");
  if (which === undefined) await requireFreePort(host, servicePort, `CATALOG_PORT=${servicePort + 1} npm run example`);

  if (!(await answers(`${base}/health`))) {
    console.log(`Nothing runs at http://${host}:${port}, so the platform is started there…`);
    await start("scripts/start.ts", { env: { ...AGENTS, ...process.env } });
  }
  const operator = createAdminClient({ base, platform: config.platform, secret: config.operatorSecret });
  const stopped = Promise.withResolvers<void>();
  let isStopped = false;
  let isGivenUp = false;
  onStop = () => {
    if (isStopped) isGivenUp = true;
    isStopped = true;
    stopped.resolve();
  };
  if (which === "mcp") return exampleMcp(settings, started, stopped.promise, values.keep);
  const wait = async (ms: number): Promise<void> => {
    await sleep(ms);
    if (isGivenUp) throw new UserError(STOPPED);
  };
  const note = (text: string): void => console.log(`  ${paint.dim(text)}`);
  const remove = async (): Promise<readonly string[]> => {
    // A second Ctrl-C abandons the removal.
    isStopped = true;
    console.log(`\n${paint.bold("What the example made is removed")}`);
    return removeMade(operator, directory, { done: note, waiting: note, wait });
  };
  await rememberNew(operator, CATALOG.file, directory);
  try {
    const stage = { settings, directory, sourceUrl, servicePort, serve: values.serve };
    await use({ ...stage, stopped: stopped.promise });
  } catch (error) {
    // What failed is reported, even if the removal fails too.
    const failure = isStopped ? new UserError(STOPPED) : error;
    if (!values.keep) for (const text of await remove()) console.error(text);
    throw failure;
  }
  if (values.keep) return console.log(KEPT);
  const left = await remove();
  if (left.length > 0) throw new UserError(left.join("\n"));
}

/** Describes the catalog to the platform and starts it; walks through it, or leaves that to the person. */
async function use({ settings, directory, sourceUrl, servicePort, serve, stopped }: Stage): Promise<void> {
  const startedMs = performance.now();
  const { host, port, config } = settings;
  const origin = `http://${host}:${port}`;
  const file = describedPlatform(directory, { sourceUrl, platform: config.platform });
  const { path: secretsPath, secrets } = ensureSecrets(directory);
  const shown = relative(ROOT, file);
  console.log(`\n${paint.bold(`npm run plat -- apply ${shown.startsWith("..") ? file : shown}`)}`);
  const env = { ...process.env, ...secrets };
  console.log(indent(await applyFile(file, env, !(await isKnown(origin, config.pathPrefix, secrets)))));

  const service = await start("examples/catalog-service/main.ts", {
    env: {
      PATH: process.env["PATH"],
      PLATFORM_URL: `${config.publicUrl || origin}${config.pathPrefix}`,
      PLATFORM: config.platform,
      CATALOG_PORT: String(servicePort),
      CATALOG_CLIENT_SECRET: secrets["CATALOG_CLIENT_SECRET"],
      CATALOG_DATABASE: join(directory, "catalog.sqlite"),
    },
    showLog: serve,
  });
  console.log(`\nThe catalog listens at ${sourceUrl}; the world finds it at ${origin}${config.pathPrefix}/catalog/v1`);
  const session = createSession(origin, config.pathPrefix, config.platform, true);
  const direct = createSession(sourceUrl, "", config.platform, true);
  let isStopped = false;
  try {
    if (serve) {
      console.log(linesToTry(`${origin}${config.pathPrefix}`, secretsPath));
      console.log(`ready ${origin}${config.pathPrefix}${CATALOG.proxyPath}`);
      const why = await Promise.race([stopped.then(() => STOPPED), ...started.map(({ ended }) => ended)]);
      if (why !== STOPPED) throw new UserError("The platform or the catalog has ended.");
      return;
    }
    const stopAll = (): void => {
      isStopped = true;
      for (const one of [session, direct]) one.stop(STOPPED);
    };
    void stopped.then(stopAll);
    await walkThrough({
      session,
      direct,
      secretOf: (clientId) => secrets[SECRET_OF[clientId] ?? ""] ?? "",
      operatorSecret: config.operatorSecret,
    });
  } catch (error) {
    if (!isStopped) console.error(paint.dim(`\nThe catalog's log:\n${service.output()}`));
    throw error;
  } finally {
    // The service stores pictures and publishes as long as it runs, so it stops before the removal.
    await service.stop();
  }
  const requests = session.counts.requests + direct.counts.requests;
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1);
  console.log(
    `\n${paint.green("Everything is as it should be")}: ${requests} requests, ${session.counts.checks} checks, ${seconds} s`,
  );
}

const KEPT = `
What the example made stays: tenants, clients, and the service catalog, where nothing listens from now on.
Start it again: npm run example -- --serve --keep. Remove it: npm run example`;

/** Starts a program in a process group of its own: the platform must survive Ctrl-C until the records are removed. */
const start = (file: string, options: Omit<ProgramOptions, "patienceMs">): Promise<Program> =>
  startProgram(file, {
    ...options,
    ownGroup: true,
    patienceMs: START_MS,
    onStart: (program) => started.push(program),
  });

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

Stop, and remove it all: Ctrl-C (--keep leaves it)
`;

async function end(code: number): Promise<never> {
  isEnding = true;
  for (const program of started.toReversed()) await program.stop();
  process.exit(code);
}

let isEnding = false;
let lastStopMs = -Infinity;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => {
    const nowMs = performance.now();
    if (nowMs - lastStopMs > SAME_STOP_MS) onStop();
    lastStopMs = nowMs;
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
