import { run } from "../cli/run.ts";
import { PLINTH } from "./lib/about-plat.ts";

/** `npm run plinth -- …`, and `plinth` as long as it comes from a checkout (packages/cli). */
await run(PLINTH);
