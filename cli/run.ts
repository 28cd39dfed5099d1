import type { About } from "./terminal/about.ts";
import { main } from "./main.ts";
import { processIo } from "./terminal/io.ts";

/**
 * Runs the command line in this process and ends it. Errors of the output reach the command that writes to it. The end
 * does not wait for connections that are kept for reuse, but for what was written.
 */
export async function run(about: About): Promise<void> {
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => process.exit());
  process.exitCode = await main(process.argv.slice(2), processIo(), about);
  process.stderr.write("", () => process.exit());
}
