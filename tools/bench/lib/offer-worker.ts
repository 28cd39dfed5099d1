import { join } from "node:path";
import type { Miniflare } from "miniflare";
import { unstable_getMiniflareWorkerOptions as readWorkerOptions } from "wrangler";
import { bundleWorker } from "../../../scripts/lib/bundle.ts";
import { ROOT } from "../../../scripts/lib/root.ts";
import { startRuntime } from "../../../scripts/lib/server.ts";
import { offer, type Offered } from "./offer.ts";

/**
 * A Worker in the same runtime as the platform. `config`: its wrangler.toml, relative to the checkout. `prepare`: what it
 * finds before the first request, and what its process answers.
 */
export const offerWorker = (
  config: string,
  prepare: (server: Miniflare) => Promise<Pick<Offered, "answer">> = async () => ({}),
): Promise<void> =>
  offer(async (place) => {
    const bundle = await bundleWorker(join(place.stateDir, "bundle"), { minify: false, config });
    const { workerOptions } = readWorkerOptions(join(ROOT, config));
    const server = await startRuntime({ ...workerOptions, name: "bare" }, bundle, place);
    return { ...(await prepare(server)), stop: () => server.dispose() };
  });
