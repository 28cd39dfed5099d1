import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Miniflare } from "miniflare";
import { DEMO, demoKeys, loadDemo } from "./demo.ts";
import { applyMigrations, forgetLostMessages } from "./database.ts";
import { objectShardsOf } from "../../../src/platform/storage/shards.ts";
import { runCrons, serve, shardBindings, type OtherWorker } from "./server.ts";
import { ROOT } from "../root.ts";
import { readSettings, type Settings } from "./settings.ts";
import { lockState, requireFreePort, requireKnownSealKeys, requireSoundDatabase } from "./state.ts";
import { paint } from "../terminal.ts";
import { failWith } from "../user-error.ts";

/** Parts of the platform that a caller may replace or add. */
interface Parts {
  /** Replaces the platform's own Worker. */
  readonly other?: OtherWorker | undefined;
  /** Builds documentation and console, and returns their folder. Without it, the platform has neither. */
  readonly buildAssets?: BuildAssets | undefined;
}

type BuildAssets = (
  deployment: { readonly pathPrefix: string; readonly platform: string },
  say: (line: string) => void,
) => Promise<string>;

const STOP_MS = 2_000;
/** A local platform has four databases and an object as shards, so that code that works here works with many shards. */
const LOCAL_SHARDS = 4;
const stopping = new AbortController();

/**
 * Runs the whole platform on this machine, with its state in STATE_DIR, for the life of this process.
 *
 * settings → lock and port → bundle and runtime → migrations → demo → "ready <url>". Ends with Ctrl-C, SIGTERM,
 * SIGHUP, or when its parent ends. Stopping needs no clean-up, because acknowledged writes are on disk.
 */
export async function runPlatform({ other, buildAssets }: Parts = {}): Promise<Miniflare> {
  // Hides wrangler's own notices.
  process.env["WRANGLER_LOG"] ??= "warn";
  stopOnSignal();
  try {
    return await start({ other, buildAssets });
  } catch (error) {
    failWith(error);
  }
}

async function start({ other, buildAssets }: Parts): Promise<Miniflare> {
  const startedMs = performance.now();
  const settings = readSettings(process.env);
  await lockState(settings.stateDir);
  await requireFreePort(settings.host, settings.port);
  if (settings.s3Port !== undefined) await requireFreePort(settings.host, settings.s3Port);
  requireKnownSealKeys(settings.stateDir, settings.config.sealKeys);
  requireSoundDatabase(settings.stateDir);

  const { pathPrefix, platform } = settings.config;
  const siteDir = settings.withSite ? await buildAssets?.({ pathPrefix, platform }, console.log) : undefined;
  const vars = { ...settings.vars, LOCAL_DEMO: JSON.stringify(demoKeys(settings)) };
  const server = await serve({ ...settings, vars, siteDir, shards: LOCAL_SHARDS }, other);
  stopOnSignal(server);
  for (const name of shardBindings(LOCAL_SHARDS)) {
    const db = await server.getD1Database(name);
    await applyMigrations(db);
    await forgetLostMessages(db, Date.now());
  }
  const objects = await server.getDurableObjectNamespace("SHARD_DATABASE");
  for (const { db } of objectShardsOf(settings.config.objectShards, objects)) await forgetLostMessages(db, Date.now());
  const url = `http://${settings.host}:${settings.port}`;
  // A platform in maintenance may be about to be restored, for which it must be empty.
  if (!settings.config.maintenance) await loadDemo(url, settings);
  runCrons(server, settings.crons, stopping.signal);
  console.log(summary(url, settings, performance.now() - startedMs));
  console.log(`ready ${url}`);
  return server;
}

/**
 * Stops at a signal, or when the parent has ended. Replaces Miniflare's handlers, which would leave the runtime's
 * process unwaited-for.
 */
function stopOnSignal(server?: Miniflare): void {
  const stop = async (): Promise<void> => {
    if (stopping.signal.aborted) return;
    stopping.abort();
    console.log("\nstopped");
    await Promise.race([server?.dispose(), sleep(STOP_MS)]);
    process.exit(0);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.removeAllListeners(signal);
    process.on(signal, () => void stop());
  }
  if (server !== undefined) {
    const parent = process.ppid;
    setInterval(() => process.ppid !== parent && void stop(), 250).unref();
  }
}

function summary(url: string, settings: Settings, tookMs: number): string {
  const { config, demoUserPassword, demoOperatorPassword, demoClientSecret, stateDir } = settings;
  const base = `${url}${config.pathPrefix}`;
  const rows = [
    ["Start page", `${base}/`],
    ["OAuth 2.0", `${base}/oauth2/v1`],
    ["Publish/subscribe", `${base}/pubsub/v1`],
    ["Media", `${base}/media/v2`],
    ["Operator", `${base}/admin/v1`],
    ["Console", `${base}/console`],
    ["Documentation", `${base}/docs`],
    ["Account page", `${base}/account`],
    ...(config.s3 === undefined ? [] : [["uploads go to", `${config.s3.endpoint}/${config.s3.bucket}`]]),
    [],
    ...(config.maintenance
      ? [["in maintenance", "for the operator alone; without demo data"]]
      : [
          ["demo tenant", DEMO.tenant],
          ["demo user", DEMO.user, `password ${demoUserPassword}`],
          ["demo operator", DEMO.operator, `password ${demoOperatorPassword}; for the console`],
          ["demo client", DEMO.client, `secret ${demoClientSecret}`],
          ["demo application", DEMO.web, `no secret; redirects to ${DEMO.redirectUri}, any port`],
        ]),
    ["operator client", `${config.platform}.operator`, "secret in .dev.vars"],
    ["state", stateDir],
  ];
  const lines = rows.map(([label = "", value = "", note = ""]) =>
    `  ${paint.dim(label.padEnd(18))}${value}${note === "" ? "" : paint.dim(`  ${note}`)}`.trimEnd(),
  );
  const head = `  ${paint.bold("Plinth")} is up ${paint.dim(`(${(tookMs / 1000).toFixed(1)} s)`)}`;
  // Another terminal does not know of a PORT that was set in this one.
  const { port } = new URL(url);
  const [before, behind] = port === "8787" ? ["", ""] : [`PORT=${port} `, ` --url ${base}`];
  const next = [
    `  See its story: ${paint.bold(`${before}npm run tour`)}   Stop: Ctrl-C`,
    `  Your own application, in its folder: ${paint.bold(`npx ${join(ROOT, "packages", "cli")} init${behind}`)}`,
  ];
  return ["", head, "", ...lines, "", ...next, ""].join("\n");
}
