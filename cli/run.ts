import type { About } from "./terminal/about.ts";
import { main } from "./main.ts";
import { processIo } from "./terminal/io.ts";

/**
 * Runs the command line in this process, then ends the process. Errors of the output reach the command that writes. The
 * process ends when all output is written; it does not wait for connections that are kept open for reuse.
 */
export async function run(about: About): Promise<void> {
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => process.exit());
  const [executable = "", script = "", ...argv] = process.argv;
  const program = [executable, ...process.execArgv, script];
  process.exitCode = await main(argv, processIo(), { ...about, program });
  process.stderr.write("", () => process.exit());
}
