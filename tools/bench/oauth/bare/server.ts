import { offerWorker } from "../../lib/offer-worker.ts";

await offerWorker("tools/bench/oauth/bare/wrangler.toml");
