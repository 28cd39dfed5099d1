import { runPlatform } from "./lib/run-platform.ts";

/** `npm start` */
await runPlatform();
