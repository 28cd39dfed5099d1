import { runPlatform } from "./lib/local/run-platform.ts";

/**
 * `npm run drill`: `npm start` with a Worker whose database, bucket, queue and objects fail when they are told to:
 * `curl -X POST 'http://127.0.0.1:8787/drill/database/stall?seconds=30'`. docs/operate/bad-day shows what to look for.
 */
await runPlatform({ other: { main: "tools/drill/worker.ts", vars: {} } });
