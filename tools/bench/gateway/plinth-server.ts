import { offerPlatform } from "../lib/offer-platform.ts";
import { startService } from "./service.ts";

/** Told when it is asked, whatever the question: the address of the service. */
await offerPlatform(async () => {
  const source = await startService();
  return { answer: async () => source };
});
