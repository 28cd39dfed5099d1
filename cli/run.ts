import type { About } from "./terminal/about.ts";
import { main } from "./main.ts";
import { processIo, type Io } from "./terminal/io.ts";
import { failWith } from "../scripts/lib/user-error.ts";

/**
 * Runs the command line in this process, then ends the process. Errors of the output reach the command that writes. The
 * process ends when all output is written; it does not wait for connections that are kept open for reuse.
 */
export async function run(about: About): Promise<void> {
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => process.exit());
  const [executable = "", script = "", ...argv] = process.argv;
  const program = [executable, ...process.execArgv, script];
  process.exitCode = await main(argv, ioOfProcess(), { ...about, program });
  process.stderr.write("", () => process.exit());
}

/** Ends with a sentence if the process has no folder any more. */
function ioOfProcess(): Io {
  try {
    return processIo();
  } catch (error) {
    failWith(error);
  }
}
