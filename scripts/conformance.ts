import { runConformance } from "../test/conformance/run.ts";

/** `npm run conformance` */
await runConformance(process.argv.slice(2));
