import { processIo } from "../cli/terminal/io.ts";
import { main } from "../cli/main.ts";

/** `npm run plat -- …`. That the output failed, or nobody reads it any more, is told to who writes to it. */
process.stdout.on("error", () => {});
process.exitCode = await main(process.argv.slice(2), processIo());
