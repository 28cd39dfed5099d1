import { processIo } from "./plat/io.ts";
import { main } from "./plat/main.ts";

/** `npm run plat -- …`. Whoever reads the output may stop reading (`| head`): that is no failure. */
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});
process.exitCode = await main(process.argv.slice(2), processIo());
