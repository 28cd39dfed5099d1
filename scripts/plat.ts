import { run } from "../cli/run.ts";
import { PLAT } from "./lib/about-plat.ts";

/** `npm run plat -- …` */
await run(PLAT);
