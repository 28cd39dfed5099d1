import { offerWorker } from "../../lib/offer-worker.ts";

await offerWorker("tools/bench/events/bare/wrangler.toml");
