import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { unstable_getMiniflareWorkerOptions as readWorkerOptions } from "wrangler";
import { bundleWorker, type Bundle } from "./bundle.ts";
import { ROOT } from "./root.ts";
import { type Settings } from "./settings.ts";
import { UserError } from "./user-error.ts";

/** The Worker's name in wrangler.toml. */
const WORKER = "plinth";
const MINUTE_MS = 60_000;

/** The platform in the Workers runtime, on its own port, with its state on disk. */
export async function serve({ vars, ...place }: Place & Pick<Settings, "vars">): Promise<Miniflare> {
  const bundle = await bundleWorker(join(place.stateDir, "bundle"), { minify: false });
  const { workerOptions } = readWorkerOptions(join(ROOT, "wrangler.toml"));
  return startRuntime({ ...workerOptions, name: WORKER, bindings: { ...vars } }, bundle, place);
}

type Place = Pick<Settings, "host" | "port" | "stateDir">;

/**
 * One bundled Worker in a runtime of its own. The port belongs to the runtime itself: requests do not pass Miniflare's
 * entry or Node, which is what makes it quick.
 */
export async function startRuntime(
  worker: Record<string, unknown> & { readonly name: string },
  bundle: Bundle,
  { stateDir, host, port }: Place,
): Promise<Miniflare> {
  // A small young generation: pauses of milliseconds instead of tens of them. A smaller one than this is full of what a
  // dozen requests of 64 KiB are working on, and the collector copies it again and again (docs/benchmarks.md).
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
      ],
      resourcePersistencePath: stateDir,
      host,
      port: 0,
      cf: false,
      log: new Log(LogLevel.WARN),
      logRequests: false,
      telemetry: { enabled: false },
      enableDevRegistry: false,
      unsafeObservability: false,
      unsafeLocalExplorer: false,
    }),
  );
  await server.ready;
  return server;
}

/** Runs the crons of wrangler.toml while the server is up, and once at once: what a kill left undone goes on. */
export function runCrons(server: Miniflare, crons: readonly string[], stopping: AbortSignal): void {
  for (const cron of crons) {
    const [, minutes] = /^\*\/(\d+) \* \* \* \*$/.exec(cron) ?? [];
    if (minutes === undefined) throw new UserError(`npm start knows crons of the form "*/5 * * * *", not "${cron}"`);
    const tick = async (): Promise<void> => {
      try {
        const worker = await server.getWorker(WORKER);
        await worker.scheduled({ cron, scheduledTime: new Date() });
      } catch (error) {
        // Ctrl-C ends the runtime too, and may reach it first.
        await sleep(500);
        if (!stopping.aborted) console.error(`cron ${cron} failed:`, error);
      }
    };
    void tick();
    setInterval(() => void tick(), Number(minutes) * MINUTE_MS).unref();
  }
}
