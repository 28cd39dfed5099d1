import { offerWorker } from "../../lib/offer-worker.ts";

await offerWorker("bench/events/bare/wrangler.toml");
