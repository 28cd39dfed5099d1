import { join } from "node:path";
import { unstable_getMiniflareWorkerOptions as readWorkerOptions } from "wrangler";
import { bundleWorker } from "../../../scripts/lib/bundle.ts";
import { ROOT } from "../../../scripts/lib/root.ts";
import { startRuntime } from "../../../scripts/lib/server.ts";
import { offer } from "../../lib/offer.ts";

const CONFIG = "bench/oauth/bare/wrangler.toml";

await offer(async (place) => {
  const bundle = await bundleWorker(join(place.stateDir, "bundle"), { minify: false, config: CONFIG });
  const { workerOptions } = readWorkerOptions(join(ROOT, CONFIG));
  const server = await startRuntime({ ...workerOptions, name: "bare" }, bundle, place);
  return { stop: () => server.dispose() };
});
