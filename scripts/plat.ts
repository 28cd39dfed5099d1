import { processIo } from "../cli/terminal/io.ts";
import { main } from "../cli/main.ts";

/** `npm run plat -- …`. Errors of the output reach the command that writes to it. */
process.stdout.on("error", () => {});
process.exitCode = await main(process.argv.slice(2), processIo());
