import { runPlatform } from "./lib/run-platform.ts";
import { buildSite } from "./site/build.ts";

/** `npm start` */
await runPlatform({ buildSite });
