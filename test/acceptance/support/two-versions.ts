import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unstable_getMiniflareWorkerOptions as readWorkerOptions } from "wrangler";
import { bundleWorker } from "../../../scripts/lib/bundle.ts";
import { applyMigrations, forgetLostMessages } from "../../../scripts/lib/local/database.ts";
import { freePort } from "../../../scripts/lib/local/free-port.ts";
import { readReleased, readReleasedBundle, RELEASED } from "../../../scripts/lib/released.ts";
import { quietRuntime } from "./quiet-runtime.ts";
import { ROOT } from "../../../scripts/lib/root.ts";

/** The released Worker and today's, over one database, one bucket, one queue and one set of objects. */
export type Version = "released" | "today";

export interface Platform {
  /** The address at which a version's Worker answers. Both call the same objects. */
  readonly url: Readonly<Record<Version, string>>;
  /** The database gets today's tables, while both versions run. */
  migrate(): Promise<void>;
  stop(): Promise<void>;
}

export interface TwoVersions {
  readonly secret: string;
  /** `objects`: the version whose code the objects run. The state stays from start to start. */
  start(objects: Version): Promise<Platform>;
}

const OTHER: Readonly<Record<Version, Version>> = { released: "today", today: "released" };
/** Objects belong to the Worker of this name, so that they are the same ones whichever version runs them. */
const HOST = "plinth";

export async function twoVersions(folder: string): Promise<TwoVersions> {
  mkdirSync(join(folder, "released"));
  const released = join(folder, "released", "worker.js");
  writeFileSync(released, readReleasedBundle());
  const { path: today } = await bundleWorker(join(folder, "today"), { minify: true });
  const ports = { released: await freePort("127.0.0.1"), today: await freePort("127.0.0.1") };
  const url = { released: `http://127.0.0.1:${ports.released}`, today: `http://127.0.0.1:${ports.today}` };
  const secret = "the-operator-secret-of-two-versions";
  const bindings = {
    OPERATOR_CLIENT_SECRET: secret,
    SEAL_KEYS: `k1:${Buffer.alloc(32, 5).toString("base64")}`,
    ALLOW_LOOPBACK: "true",
    // One platform has one name, by which its tokens are issued.
    PUBLIC_URL: url.today,
    LOG_LEVEL: "error",
    // Today's Worker passes a trace to objects of either release, and nobody listens to its spans.
    OTLP_ENDPOINT: "http://127.0.0.1:9",
    TRACE_SAMPLE: "1",
  };
  const code = { released, today };
  const config = { released: join(RELEASED, "wrangler.toml"), today: join(ROOT, "wrangler.toml") };

  const workerOf = (version: Version, objects: Version) => {
    const { workerOptions } = readWorkerOptions(config[version]) as { workerOptions: Record<string, any> };
    const isHost = version === objects;
    const hosted = readWorkerOptions(config[objects]).workerOptions as Record<string, any>;
    const durableObjects = Object.entries<any>(workerOptions["durableObjects"]).map(([name, binding]) => [
      name,
      // A class that the host does not have is new, and runs the only code that it has.
      isHost || !(name in hosted["durableObjects"]) ? binding : { ...binding, scriptName: HOST },
    ]);
    const consumers = Object.entries(workerOptions["queueConsumers"] ?? {}).filter(
      ([queue]) => isHost || !(queue in (hosted["queueConsumers"] ?? {})),
    );
    return {
      ...workerOptions,
      name: isHost ? HOST : "beside",
      bindings: { ...workerOptions["bindings"], ...bindings },
      durableObjects: Object.fromEntries(durableObjects),
      queueConsumers: Object.fromEntries(consumers),
      modulesRoot: join(code[version], ".."),
      modules: [{ type: "ESModule", path: code[version] }],
      unsafeDirectSockets: [{ host: "127.0.0.1", port: ports[version] }],
    };
  };

  let isNew = true;
  return {
    secret,
    async start(objects) {
      const workers = [workerOf(objects, objects), workerOf(OTHER[objects], objects)];
      const server = await quietRuntime(join(folder, "state"), 0, workers);
      const db = await server.getD1Database("DB", HOST);
      if (isNew) await applyMigrations(db, Object.keys(readReleased().migrations));
      isNew = false;
      // The local queue is in memory, so its messages ended with the last start; the sweep sends them again.
      await forgetLostMessages(db, Date.now());
      const worker = await server.getWorker(HOST);
      await worker.scheduled({ cron: "*/5 * * * *", scheduledTime: new Date() });
      return {
        url,
        migrate: async () => void (await applyMigrations(db)),
        stop: () => server.dispose(),
      };
    },
  };
}
