import { createAdminClient, type OperatorClient } from "./client/admin-client.ts";
import { allCommands, SUMMARIES } from "./commands.ts";
import type { Command, Invocation } from "./command-line/command.ts";
import { UsageError } from "./terminal/usage-error.ts";
import { commandHelp, overview, resourceHelp } from "./command-line/help.ts";
import type { Io } from "./terminal/io.ts";
import { beforeArguments, findCommand, parse } from "./command-line/parse.ts";
import { report, type Asked } from "./command-line/report.ts";
import { Input } from "./terminal/input.ts";
import { findSecret, findTarget } from "./client/target.ts";
import { clean } from "./terminal/values.ts";

/**
 * `npm run plat -- <resource> <verb> …`: a thin client of the operator service. One line is one command: found, read,
 * run. The answer goes to the output, everything else that is said to the standard error.
 *
 * Exit codes: 0 done, 1 refused or failed, 2 not understood.
 */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  const commands = allCommands();
  let asked: Asked = { wanted: [], asJson: beforeArguments(argv).includes("--json") };
  try {
    const { command, wanted, rest, help } = findCommand(argv, commands);
    const options = beforeArguments(rest);
    asked = { command, wanted, asJson: options.includes("--json") };
    const isHelp = help === true || options.includes("--help") || options.includes("-h");
    // A program reads no help.
    if (!isHelp && command === undefined && asked.asJson === true)
      throw new UsageError(`What to do is missing: ${[wanted[0] ?? "<resource>", "<verb>"].join(" ")}.`);
    if (isHelp || command === undefined) return await printHelp(asked, commands, rest, isHelp, io);
    return (await command.run(invocationOf(command, rest, io))) ?? 0;
  } catch (error) {
    return report(error, asked, io);
  }
}

/** Asked for, help is the answer; else it stands for an answer that there is not. */
async function printHelp(
  { command, wanted }: Asked,
  commands: readonly Command[],
  rest: readonly string[],
  isAnswer: boolean,
  io: Io,
): Promise<number> {
  const [word] = wanted;
  parse(
    rest.filter((text) => text !== "--help" && text !== "-h"),
    { words: wanted, args: [], options: command?.options ?? [] },
    "any words",
  );
  const text =
    command !== undefined
      ? commandHelp(command)
      : word === undefined
        ? overview(commands, SUMMARIES)
        : resourceHelp(word, commands, SUMMARIES[word] ?? "");
  if (isAnswer) await io.out(`${text}\n`);
  else io.err(`${text}\n`);
  return isAnswer ? 0 : 2;
}

function invocationOf(command: Command, rest: readonly string[], io: Io): Invocation {
  const { args, options } = parse(rest, command);
  const input = new Input(io);
  let client: Promise<OperatorClient> | undefined;
  const target = findTarget(options.value("url"), io.env);
  const connect = async (): Promise<OperatorClient> => {
    const file = options.value("operator-secret-file");
    const given = file === undefined ? undefined : await input.readSecret(file, "--operator-secret-file");
    const onRepeat = (why: string): void => io.err(`${io.paintErr.yellow("…")} ${clean(why)}\n`);
    return createAdminClient({ ...target, secret: findSecret(given, target, io.env), wait: io.wait, onRepeat });
  };
  return {
    args,
    options,
    io,
    input,
    base: async () => target.base,
    client: () => (client ??= connect()),
  };
}
