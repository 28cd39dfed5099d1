import type { AnyCall } from "../model/call.ts";
import { readCookie } from "../sign-in/browser.ts";
import type { AccountDeps } from "./deps.ts";

/**
 * Binds the forms to this sign-in. The prefix keeps it apart from the sign-in form's token, which is bound to the
 * browser.
 */
export const formKey = ({ names }: Pick<AccountDeps, "names">, call: AnyCall): string =>
  `session ${readCookie(call, "session", names) ?? ""}`;
