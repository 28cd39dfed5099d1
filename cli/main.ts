import { CommanderError } from "commander";
import { candidatesFor } from "./completion/candidates.ts";
import { ASK } from "./completion/command.ts";
import { createAdminClient, type OperatorClient } from "./client/admin-client.ts";
import { inWordsOf, type About } from "./terminal/about.ts";
import { ENV_FILE, isEnvPipe, readEnvFile } from "./client/env-file.ts";
import { findSecret, findTarget, noOperator } from "./client/target.ts";
import type { Given, Invocation } from "./command-line/command.ts";
import { createSessionStore } from "./session/store.ts";
import { createSessionTokens } from "./session/tokens.ts";
import {
  createProgram,
  GLOBAL_OPTIONS,
  nearestCommand,
  pathOf,
  toUsageError,
  withCommonWords,
} from "./command-line/program.ts";
import { report } from "./command-line/report.ts";
import { allCommands, SUMMARIES } from "./commands.ts";
import { Input } from "./terminal/input.ts";
import type { Io } from "./terminal/io.ts";
import { UsageError } from "./terminal/usage-error.ts";
import { clean } from "./terminal/values.ts";

/**
 * `plinth <resource> <verb> …`, in a checkout also `npm run plat -- …`: a thin client of a platform. The answer goes to
 * the standard output, everything else to the standard error.
 *
 * Exit codes: 0 done, 1 refused or failed, 2 not understood. `apply` has more (apply/apply.ts).
 */
export async function main(argv: readonly string[], io: Io, about: About): Promise<number> {
  const commands = allCommands();
  if (argv[0] === ASK) {
    const found = candidatesFor(argv.slice(1), commands, GLOBAL_OPTIONS, SUMMARIES);
    await io.out(found.map(({ text, help }) => `${text}\t${help}\n`).join(""));
    return 0;
  }
  const line = withCommonWords(argv, commands);
  let code = 0;
  let help = "";
  let changes = false;
  const program = createProgram(
    {
      line,
      columns: io.columns,
      about,
      async run(command, { named, rest }, options) {
        changes = command.changes === true;
        code = (await command.run({ ...invocationOf(options, io, about), args: named, rest })) ?? 0;
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
  const fail = (error: unknown): number =>
    report(error, { path, changes, asJson, advise: (text) => inWordsOf(about, text) }, io);
  try {
    await program.parseAsync(line, { from: "user" });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) return fail(error);
    if (error.code === "commander.helpDisplayed" || error.code === "commander.version") {
      return io.out(help).then(() => 0, fail);
    }
    if (error.code !== "commander.help") return fail(toUsageError(error, near));
    // A script gets an error instead of the help.
    const missing = near === program ? "<resource> <verb>" : `${near.name()} <verb>`;
    if (asJson) return fail(new UsageError(`What to do is missing: ${missing}.`));
    io.err(help);
    return 2;
  }
}

function invocationOf(options: Given, io: Io, about: About): Omit<Invocation, "args" | "rest"> {
  const input = new Input(io);
  let client: Promise<OperatorClient> | undefined;
  const { root } = about;
  if (isEnvPipe(io.cwd)) io.err(`${ENV_FILE} is a pipe, which is not read: set its variables in the environment.\n`);
  const target = findTarget(options.value("url"), io.env, root, readEnvFile(io.cwd));
  /** Connects with the operator's secret, else as the person who signed in for an organization. */
  const connect = async (): Promise<OperatorClient> => {
    const file = options.value("operator-secret-file");
    const given = file === undefined ? undefined : await input.readSecret(file, "--operator-secret-file");
    const onRepeat = (why: string): void => io.err(`${io.paintErr.yellow("…")} ${clean(why)}\n`);
    const ports = { ...target, wait: io.wait, onRepeat };
    const secret = findSecret(given, target, io.env, root);
    if (secret !== undefined) return createAdminClient({ ...ports, secret });
    const store = createSessionStore(io.env);
    const session = store.read(target.base, "organization");
    if (session === undefined) throw noOperator(target, root);
    return createAdminClient({ ...ports, token: createSessionTokens(store, session, io.nowMs).get });
  };
  return { options, io, input, target, about, base: target.base, client: () => (client ??= connect()) };
}
