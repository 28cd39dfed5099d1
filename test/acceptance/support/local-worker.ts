import { join } from "node:path";
import { unstable_getMiniflareWorkerOptions as readWorkerOptions } from "wrangler";
import { bundleWorker } from "../../../scripts/lib/bundle.ts";
import { applyMigrations, forgetLostMessages } from "../../../scripts/lib/local/database.ts";
import { freePort } from "../../../scripts/lib/local/free-port.ts";
import { quietRuntime } from "./quiet-runtime.ts";
import { ROOT } from "../../../scripts/lib/root.ts";

/** Today's Worker, in this process, over a state that a test may destroy. */
export interface LocalWorker {
  readonly url: string;
  /** The bucket of backups, from outside. */
  readonly backups: R2Bucket;
  stop(): Promise<void>;
}

export interface LocalWorkers {
  readonly secret: string;
  /** `state`: a folder, which stays from start to start. All answer at the same address, one after the other. */
  start(state: string, vars?: Record<string, string>): Promise<LocalWorker>;
}

const NAME = "plinth";

export async function localWorkers(folder: string): Promise<LocalWorkers> {
  const { path } = await bundleWorker(folder, { minify: true });
  const port = await freePort("127.0.0.1");
  const url = `http://127.0.0.1:${port}`;
  const secret = "the-operator-secret-of-a-local-worker";
  const { workerOptions } = readWorkerOptions(join(ROOT, "wrangler.toml")) as { workerOptions: Record<string, any> };
  return {
    secret,
    async start(state, vars = {}) {
      const bindings = {
        ...workerOptions["bindings"],
        OPERATOR_CLIENT_SECRET: secret,
        SEAL_KEYS: `k1:${Buffer.alloc(32, 5).toString("base64")}`,
        ALLOW_LOOPBACK: "true",
        PUBLIC_URL: url,
        LOG_LEVEL: "error",
        ...vars,
      };
      const modules = [{ type: "ESModule", path }];
      const server = await quietRuntime(state, port, [
        { ...workerOptions, name: NAME, bindings, modulesRoot: join(path, ".."), modules },
      ]);
      const db = await server.getD1Database("DB", NAME);
      await applyMigrations(db);
      await forgetLostMessages(db, Date.now());
      const worker = await server.getWorker(NAME);
      await worker.scheduled({ cron: "*/5 * * * *", scheduledTime: new Date() });
      const backups = (await server.getR2Bucket("BACKUP", NAME)) as unknown as R2Bucket;
      return { url, backups, stop: () => server.dispose() };
    },
  };
}
