import { run } from "../cli/run.ts";
import { PLINTH } from "./lib/about-plat.ts";

/** `npm run plinth -- …`, and the program `plinth` of packages/cli in a checkout. */
await run(PLINTH);
