import type { AnyCall } from "../model/call.ts";
import { askForPasskey } from "../passkeys/check.ts";
import { brandOfPerson } from "../pages/brand.ts";
import { pageContext } from "../pages/page.ts";
import type { CodeFault } from "../pages/views/factors.ts";
import { csrfToken } from "../sign-in/browser.ts";
import type { Session } from "../sign-in/sessions.ts";
import type { AccountDeps } from "./deps.ts";
import { formKey } from "./form-key.ts";
import { accountAddress, requestedLocales } from "./notice.ts";

/** The page that asks for the second factor of somebody who opens the account page. */
export async function accountCodePage(
  deps: AccountDeps,
  call: AnyCall,
  { user }: Session,
  fault: CodeFault | undefined,
): Promise<Response> {
  return deps.pages.secondFactor({
    ...pageContext(call, requestedLocales(call), brandOfPerson(user)),
    status: fault === undefined ? 200 : 400,
    action: accountAddress(call, "/second-factor"),
    hidden: { csrf: await csrfToken(deps, formKey(deps, call)) },
    user: user.email,
    clientName: "",
    asksCode: user.hasSecondFactor,
    passkey: user.hasPasskey
      ? await askForPasskey(deps, call, "second factor", formKey(deps, call), user.email)
      : undefined,
    fault,
    formTargets: [],
  });
}
