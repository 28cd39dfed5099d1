import { UserError } from "../../scripts/lib/user-error.ts";
import { type Body, clean, toJson } from "../terminal/values.ts";
import type { Invocation } from "./command.ts";
import { UsageError } from "../terminal/usage-error.ts";
import type { Io } from "../terminal/io.ts";
import { recordLines } from "../terminal/table.ts";

/** Prints one record: a line a field for people, one JSON object for scripts. */
export async function printRecord({ io, options }: Pick<Invocation, "io" | "options">, record: Body): Promise<void> {
  const asJson = options.has("json");
  await io.out(`${asJson ? toJson(record, 2) : recordLines(record, io.paint.dim).join("\n")}\n`);
}

/** Reports success to the person, on the standard error. */
export const sayDone = (io: Io, text: string): void => io.err(`${io.paintErr.green("✓")} ${text}\n`);

/** Says that a loop over events waits until the platform answers again. */
export const sayOutage =
  (io: Io) =>
  ({ message }: Error): void =>
    io.err(`${clean(message)} Waiting for the platform.\n`);

export const YES_OPTION = {
  flag: "yes",
  help: "do not ask; required without a terminal (a script, a pipe)",
} as const;

/**
 * Asks before something irreversible. Without a terminal `--yes` is required: a script must not wait for ever or
 * delete by accident.
 */
export async function confirm({ io, options }: Pick<Invocation, "io" | "options">, question: string): Promise<void> {
  if (options.has("yes")) return;
  if (io.ask === undefined) throw new UsageError(`${question} Nobody can be asked here: say --yes.`);
  const answer = await io.ask(`${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new UserError("Nothing was done.");
}
