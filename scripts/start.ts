import { runPlatform } from "./lib/run-platform.ts";
import { buildAssets } from "./assets/build.ts";

/** `npm start` */
await runPlatform({ buildAssets });
