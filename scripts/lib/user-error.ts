/** A sentence for the person at the terminal: it is shown as it stands, without a stack. */
export class UserError extends Error {
  override name = "UserError";
}

/** Ends the program with a failure: a sentence for what the person can mend, all there is for a bug. */
export function failWith(error: unknown): never {
  console.error(error instanceof UserError || isWrongOption(error) ? error.message : error);
  process.exit(1);
}

/** What `parseArgs` does not take. */
const isWrongOption = (error: unknown): error is Error =>
  error instanceof Error && ((error as NodeJS.ErrnoException).code ?? "").startsWith("ERR_PARSE_ARGS_");
