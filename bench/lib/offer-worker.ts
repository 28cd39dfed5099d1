import { join } from "node:path";
import { unstable_getMiniflareWorkerOptions as readWorkerOptions } from "wrangler";
import { bundleWorker } from "../../scripts/lib/bundle.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { startRuntime } from "../../scripts/lib/server.ts";
import { offer } from "./offer.ts";

/** A Worker in the same runtime as the platform. `config`: its wrangler.toml, relative to the checkout. */
export const offerWorker = (config: string): Promise<void> =>
  offer(async (place) => {
    const bundle = await bundleWorker(join(place.stateDir, "bundle"), { minify: false, config });
    const { workerOptions } = readWorkerOptions(join(ROOT, config));
    const server = await startRuntime({ ...workerOptions, name: "bare" }, bundle, place);
    return { stop: () => server.dispose() };
  });
