import { offerWorker } from "../../lib/offer-worker.ts";

await offerWorker("bench/oauth/bare/wrangler.toml");
