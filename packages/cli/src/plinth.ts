import { run } from "../../../cli/run.ts";
import manifest from "../package.json" with { type: "json" };

/** The published program. */
await run({ name: "plinth", version: manifest.version, root: undefined });
