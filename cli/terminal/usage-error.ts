import { UserError } from "../../scripts/lib/user-error.ts";

/** The command line was not understood: exit code 2. */
export class UsageError extends UserError {
  override name = "UsageError";
}
