import { PASSWORD_CHARS } from "../../platform/secrets/password-hash.ts";
import { newPasswordFault } from "../../platform/secrets/password-rules.ts";
import type { Parameters } from "../model/parameters.ts";
import type { NewPasswordFault } from "../pages/views/links.ts";
import type { RecoveryDeps } from "./recovery.ts";

/** Checks a new password, typed twice, by the rules that apply in the operator service too. */
export async function chosenPasswordFault(
  { names, commonPasswords }: Pick<RecoveryDeps, "names" | "commonPasswords">,
  email: string,
  password: string,
  form: Parameters,
): Promise<NewPasswordFault | undefined> {
  if (password.length < PASSWORD_CHARS.min || password.length > PASSWORD_CHARS.max) return "length";
  if (password !== form.get("repeated_password")) return "repeated";
  return newPasswordFault(password, { email, platform: [names.platform] }, commonPasswords);
}
