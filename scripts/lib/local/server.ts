import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { shardBinding } from "../../../src/platform/storage/shards.ts";
import { bundleWorker, type Bundle } from "../bundle.ts";
import { withS3Credentials } from "./local-s3.ts";
import { MAILBOX, mailboxWorker } from "./mailbox.ts";
import { remember } from "../remember.ts";
import { QUIET } from "./quiet.ts";
import { ROOT } from "../root.ts";
import { type Settings } from "./settings.ts";
import { UserError } from "../user-error.ts";

/** The Worker's name in wrangler.toml. */
export const WORKER = "plinth";
const SITE = "plinth-site";
const MINUTE_MS = 60_000;

/** A Worker that replaces the platform's, with the same bindings and extra variables. */
export interface OtherWorker {
  /** Its main file, also named `worker.ts`; relative to the checkout. */
  readonly main: string;
  readonly vars: Readonly<Record<string, string>>;
}

/** Serves the platform in the Workers runtime at its own port, with its state on disk. */
export async function serve(
  { vars, config, siteDir, shards = 1, ...place }: Place & Site & Shards & Pick<Settings, "vars" | "config">,
  other?: OtherWorker,
): Promise<Miniflare> {
  const bundle = await bundleWorker(join(place.stateDir, "bundle"), { minify: false, main: other?.main });
  const { assets, ...bindings } = await readBindings("wrangler.toml");
  const others = shardBindings(shards).slice(1);
  const d1Databases = {
    ...bindings.d1Databases,
    ...Object.fromEntries(others.map((name) => [name, name.toLowerCase()])),
  };
  const site = siteWorker({ ...assets, directory: siteDir ?? join(ROOT, "site", "unbuilt") });
  const worker = {
    ...bindings,
    d1Databases,
    name: WORKER,
    bindings: { ...vars, ...other?.vars },
    serviceBindings: {
      ASSETS: SITE,
      MAIL: { name: MAILBOX, entrypoint: "Mailbox" },
      MAILBOX: { name: MAILBOX },
    },
  };
  const beside = [site, mailboxWorker(place.stateDir)];
  return startRuntime(config.s3 === undefined ? worker : withS3Credentials(worker, config.s3), bundle, place, beside);
}

/** The names of the bindings of the databases. */
export const shardBindings = (shards: number): readonly string[] =>
  Array.from({ length: shards }, (_, shard) => shardBinding(shard));

/**
 * Serves the documentation's files to the platform's Worker. Assets of its own would put Miniflare's router in front of
 * it, which doubles the time of a short request.
 */
const siteWorker = (assets: { readonly directory: string }) => ({
  name: SITE,
  compatibilityDate: "2026-10-20",
  modules: [{ type: "ESModule" as const, path: "site.js", contents: "export default {};" }],
  assets: { ...assets, run_worker_first: false, routerConfig: { has_user_worker: false } },
});

type Place = Pick<Settings, "host" | "port" | "stateDir"> &
  Partial<Pick<Settings, "s3Port">> & {
    /** The runtime's inspector listens at a free port: `getInspectorURL` names it. */
    readonly isInspected?: boolean;
  };

/** The number of databases; each needs the migrations. */
interface Shards {
  readonly shards?: number | undefined;
}

/** The folder of the documentation; undefined: that of wrangler.toml. */
interface Site {
  readonly siteDir?: string | undefined;
}

/** Miniflare's options from a wrangler config, without the variables, since the local secrets are among these. */
export function readBindings(config: string): Promise<{ readonly assets?: object; readonly d1Databases?: object }> {
  return remember(`bindings ${config}`, [config], async () => {
    const { unstable_getMiniflareWorkerOptions: read } = await import("wrangler");
    return { ...(read(join(ROOT, config)).workerOptions as { readonly assets?: object }), bindings: {} };
  });
}

/**
 * Runs one bundled Worker, and the `others` that it is bound to. The port belongs to the runtime itself: requests
 * bypass Miniflare's server and Node, which makes it fast. Miniflare's server only serves the S3 API of a bucket, at
 * `s3Port`.
 */
export async function startRuntime(
  worker: Record<string, unknown> & { readonly name: string },
  bundle: Bundle,
  { stateDir, host, port, s3Port = 0, isInspected = false }: Place,
  others: readonly (ReturnType<typeof siteWorker> | ReturnType<typeof mailboxWorker>)[] = [],
): Promise<Miniflare> {
  // A small young generation keeps pauses at milliseconds. A smaller one would be full with the data of a dozen
  // requests of 64 KiB, which the collector would copy again and again.
  process.env["MINIFLARE_WORKERD_V8_FLAGS"] ??= "--max-semi-space-size=4";
  const server = new Miniflare(
    convertV4MiniflareOptions({
      workers: [
        {
          ...worker,
          modulesRoot: dirname(bundle.path),
          modules: [{ type: "ESModule", path: bundle.path }],
          unsafeDirectSockets: [{ host, port }],
        },
        ...others,
      ],
      resourcePersistencePath: stateDir,
      host,
      port: s3Port,
      ...(isInspected ? { inspectorPort: 0 } : {}),
      ...QUIET,
    }),
  );
  await server.ready;
  return server;
}

/** Runs a cron of the Worker now. */
export async function runCron(server: Miniflare, cron: string): Promise<void> {
  const worker = await server.getWorker(WORKER);
  const { outcome } = await worker.scheduled({ cron, scheduledTime: new Date() });
  if (outcome !== "ok") throw new Error(`the Worker answered ${outcome}; its log says why`);
}

/**
 * Runs the crons of wrangler.toml while the server is up. The first run comes at once and continues the work of a
 * killed platform.
 */
export function runCrons(server: Miniflare, crons: readonly string[], stopping: AbortSignal): void {
  for (const cron of crons) {
    const [, minutes] = /^\*\/(\d+) \* \* \* \*$/.exec(cron) ?? [];
    if (minutes === undefined) throw new UserError(`npm start knows crons of the form "*/5 * * * *", not "${cron}"`);
    const tick = async (): Promise<void> => {
      try {
        await runCron(server, cron);
      } catch (error) {
        // Ctrl-C also reaches the runtime, perhaps first.
        await sleep(500);
        if (!stopping.aborted) console.error(`cron ${cron} failed:`, error);
      }
    };
    void tick();
    setInterval(() => void tick(), Number(minutes) * MINUTE_MS).unref();
  }
}
