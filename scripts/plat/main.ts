import { UserError } from "../lib/user-error.ts";
import { AdminRefusal, createAdminClient, type OperatorClient } from "./admin-client.ts";
import { allCommands, SUMMARIES } from "./commands.ts";
import { UsageError, type Command, type Invocation } from "./command.ts";
import { commandHelp, overview, PROGRAM, resourceHelp } from "./help.ts";
import type { Io } from "./io.ts";
import { findCommand, parse } from "./parse.ts";
import { Input } from "./secret-input.ts";
import { Unreachable } from "./send.ts";
import { findSecret, findTarget } from "./target.ts";
import { clean, toJson } from "./values.ts";

/**
 * `npm run plat -- <resource> <verb> …`: a thin client of the operator service. One line is one command: found, read,
 * run. The answer goes to the output, everything else that is said to the standard error.
 *
 * Exit codes: 0 done, 1 refused or failed, 2 not understood.
 */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  const commands = allCommands();
  let asked: Asked = { wanted: [] };
  try {
    const isHelp = argv[0] === "help";
    const { command, wanted, rest } = findCommand(isHelp ? argv.slice(1) : argv, commands);
    asked = { command, wanted, asJson: rest.includes("--json") };
    const help = isHelp || rest.includes("--help") || rest.includes("-h");
    if (help || command === undefined) return await printHelp(asked, commands, rest, help, io);
    return (await command.run(invocationOf(command, rest, io))) ?? 0;
  } catch (error) {
    return report(error, asked, io);
  }
}

interface Asked {
  readonly command?: Command | undefined;
  readonly wanted: readonly string[];
  readonly asJson?: boolean;
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

function report(error: unknown, { command, wanted, asJson }: Asked, { err, paintErr }: Io): number {
  if (isUnread(error)) {
    if (command?.changes !== true) return 0;
    err(`${paintErr.red("✗")} Nobody reads the output any more, so it ended here: look at what was done.\n`);
    return 1;
  }
  if (error instanceof UsageError) {
    err(`${paintErr.red("✗")} ${clean(error.message)}\n`);
    err(`  ${paintErr.dim(`${[PROGRAM, ...(command?.words ?? wanted), "--help"].join(" ")} tells more.`)}\n`);
    return 2;
  }
  if (error instanceof AdminRefusal) {
    const { status, type, message, details, requestId } = error;
    if (asJson === true) err(`${toJson({ status, type, message, details, requestId })}\n`);
    else err(refusalLines(error, paintErr).join("\n") + "\n");
  } else if (error instanceof Unreachable) {
    err(`${paintErr.red("✗")} ${clean(error.message)}\n`);
    if (error.kind === "refused")
      err("  Start it first: npm start. (PORT, PLINTH_URL or --url say which one is meant.)\n");
    if (error.kind === "lost" && command?.changes === true)
      err("  It may have been done all the same: look before you do it again.\n");
  } else if (error instanceof UserError) err(`${paintErr.red("✗")} ${clean(error.message)}\n`);
  else err(`${paintErr.red("✗")} ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return 1;
}

/** Of the output: whoever read it stopped. */
const isUnread = (error: unknown): boolean =>
  error instanceof Error && /^(EPIPE|ERR_STREAM_DESTROYED)$/.test((error as NodeJS.ErrnoException).code ?? "");

function refusalLines({ status, message, details, requestId }: AdminRefusal, paint: Io["paintErr"]): readonly string[] {
  // A detail that says the message again is told by its field alone.
  const told = details.filter((detail) => detail.message !== message || detail.field !== "");
  return [
    `${paint.red("✗")} ${clean(message)} ${paint.dim(`(${status})`)}`,
    ...told.map(({ field, message: why }) => `  ${field === "" ? "" : `${clean(field)}: `}${clean(why)}`),
    ...(requestId === "" ? [] : [`  ${paint.dim(`request ${clean(requestId)}`)}`]),
  ];
}
