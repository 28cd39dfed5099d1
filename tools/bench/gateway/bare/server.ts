import { offerWorker } from "../../lib/offer-worker.ts";
import { startService } from "../service.ts";

/** Told when it is asked, whatever the question: the address of the service. */
await offerWorker("tools/bench/gateway/bare/wrangler.toml", async () => {
  const source = await startService();
  return { answer: async () => source };
});
