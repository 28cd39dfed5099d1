import type { AnyCall } from "../model/call.ts";
import { brandOfAddress } from "../pages/brand.ts";
import { pageContext } from "../pages/page.ts";
import { csrfToken, verifyCsrfToken } from "../sign-in/browser.ts";
import { accountOf, findLink, voidPage, type OpenedLink } from "./link.ts";
import type { RecoveryDeps } from "./recovery.ts";
import { readForm, type FormCall } from "../sign-in/form.ts";
import { ownChange } from "../model/own-change.ts";

const ACTION = "verify address";

/** `GET /verify`: opens the link that the person requested at `/account`. Changes nothing: mail programs open it. */
export async function openVerifyLink(deps: RecoveryDeps, call: AnyCall): Promise<Response> {
  const opened = await findLink(deps, call, "verify", call.url.searchParams.get("token") ?? undefined);
  return "link" in opened ? confirmPage(deps, call, opened) : voidPage(deps, call, ACTION, opened);
}

/** `POST /verify`: the person confirms by a button, and the address is verified. */
export async function verifyAddress(deps: RecoveryDeps, call: FormCall): Promise<Response> {
  const form = readForm(deps, call, ACTION);
  if (!form.ok) return form.error;
  const opened = await findLink(deps, call, "verify", form.value.get("token"));
  if (!("link" in opened)) return voidPage(deps, call, ACTION, opened);
  if (!(await verifyCsrfToken(deps, opened.browserKey, form.value.get("csrf")))) return confirmPage(deps, call, opened);
  const { email } = opened.link;
  const { nowMs } = call;
  // Nothing is read after the change, since a failure would hide it.
  const brand = await brandOfAddress(deps, email);
  const verified = await deps.mailLinks.verify({ ...opened, email, nowMs }, [
    deps.audit.statement(
      "if changed",
      ownChange(call, { email, action: ACTION, reason: "by a link sent to the address" }),
    ),
  ]);
  if (!verified) return voidPage(deps, call, ACTION, { kind: "void" });
  return deps.pages.linkUsed({
    ...pageContext(call, undefined, brand),
    kind: "verify",
    next: accountOf(call),
  });
}

const confirmPage = async (deps: RecoveryDeps, call: AnyCall, { link, token, browserKey }: OpenedLink) =>
  deps.pages.confirmAddress({
    ...pageContext(call, undefined, await brandOfAddress(deps, link.email)),
    action: `${deps.pagesBase(call)}/verify`,
    hidden: { token, csrf: await csrfToken(deps, browserKey) },
    email: link.email,
  });
