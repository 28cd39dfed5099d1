/** An error for the person at the terminal, shown without a stack. */
export class UserError extends Error {
  override name = "UserError";
}

/** Prints an error and ends the program: one sentence for a UserError, the whole stack for a bug. */
export function failWith(error: unknown): never {
  console.error(
    error instanceof UserError ? error.message : isWrongOption(error) ? firstSentence(error.message) : error,
  );
  process.exit(1);
}

/** The sentences after it advise a second `--`, which npm's users have typed already. */
const firstSentence = (text: string): string => `${text.split(/\.\s|\.$/)[0]}. --help tells more.`;

/** An option that `parseArgs` refuses. */
const isWrongOption = (error: unknown): error is Error =>
  error instanceof Error && ((error as NodeJS.ErrnoException).code ?? "").startsWith("ERR_PARSE_ARGS_");
