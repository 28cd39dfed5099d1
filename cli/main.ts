import { CommanderError } from "commander";
import { createAdminClient, type OperatorClient } from "./client/admin-client.ts";
import { findSecret, findTarget } from "./client/target.ts";
import type { Given, Invocation } from "./command-line/command.ts";
import { createProgram, nearestCommand, pathOf, toUsageError, withHelpLast } from "./command-line/program.ts";
import { report } from "./command-line/report.ts";
import { allCommands, SUMMARIES } from "./commands.ts";
import { Input } from "./terminal/input.ts";
import type { Io } from "./terminal/io.ts";
import { UsageError } from "./terminal/usage-error.ts";
import { clean } from "./terminal/values.ts";

/**
 * `npm run plat -- <resource> <verb> …`: a thin client of the operator service. The answer goes to the standard
 * output, everything else to the standard error.
 *
 * Exit codes: 0 done, 1 refused or failed, 2 not understood.
 */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  const commands = allCommands();
  const line = withHelpLast(argv, commands);
  let code = 0;
  let help = "";
  let changes = false;
  const program = createProgram(
    {
      line,
      async run(command, args, options) {
        changes = command.changes === true;
        code = (await command.run(invocationOf(args, options, io))) ?? 0;
      },
      printHelp: (text) => (help += text),
    },
    commands,
    SUMMARIES,
  );
  const near = nearestCommand(line, program);
  const end = line.indexOf("--");
  const asJson = (end < 0 ? line : line.slice(0, end)).includes("--json");
  const path = pathOf(near);
  const fail = (error: unknown): number => report(error, { path, changes, asJson }, io);
  try {
    await program.parseAsync(line, { from: "user" });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) return fail(error);
    if (error.code === "commander.helpDisplayed" || error.code === "commander.version") {
      await io.out(help);
      return 0;
    }
    if (error.code !== "commander.help") return fail(toUsageError(error, near));
    // A script gets an error instead of the help.
    const missing = near === program ? "<resource> <verb>" : `${near.name()} <verb>`;
    if (asJson) return fail(new UsageError(`What to do is missing: ${missing}.`));
    io.err(help);
    return 2;
  }
}

function invocationOf(args: Readonly<Record<string, string>>, options: Given, io: Io): Invocation {
  const input = new Input(io);
  let client: Promise<OperatorClient> | undefined;
  const target = findTarget(options.value("url"), io.env);
  const connect = async (): Promise<OperatorClient> => {
    const file = options.value("operator-secret-file");
    const given = file === undefined ? undefined : await input.readSecret(file, "--operator-secret-file");
    const onRepeat = (why: string): void => io.err(`${io.paintErr.yellow("…")} ${clean(why)}\n`);
    return createAdminClient({ ...target, secret: findSecret(given, target, io.env), wait: io.wait, onRepeat });
  };
  return { args, options, io, input, base: target.base, client: () => (client ??= connect()) };
}
