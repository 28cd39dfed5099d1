import type { AnyCall } from "../model/call.ts";
import { readParameters } from "../model/parameters.ts";
import { brandOfAddress } from "../pages/brand.ts";
import { pageContext, refusedPage } from "../pages/page.ts";
import { CROSS_SITE_FORM, csrfToken, isCrossSite, verifyCsrfToken } from "../sign-in/browser.ts";
import type { FormCall } from "./forgot.ts";
import { accountOf, findLink, voidPage, type OpenedLink } from "./link.ts";
import type { RecoveryDeps } from "./recovery.ts";

const ACTION = "verify address";

/** `GET /verify`: the link of a mail that the person asked for at the account page. Mail programs open it too. */
export async function openVerifyLink(deps: RecoveryDeps, call: AnyCall): Promise<Response> {
  const opened = await findLink(deps, call, "verify", call.url.searchParams.get("token") ?? undefined);
  return "link" in opened ? confirmPage(deps, call, opened) : voidPage(deps, call, ACTION, opened);
}

/** `POST /verify`: the person's own click. The address is verified from now on. */
export async function verifyAddress(deps: RecoveryDeps, call: FormCall): Promise<Response> {
  const refusePage = (detail: string, reason = detail): Response =>
    refusedPage(deps, call, ACTION, { detail, reason, clientId: "" });
  if (isCrossSite(call)) return refusePage(CROSS_SITE_FORM);
  const form = readParameters(call.body, deps.names);
  if (!form.ok) return refusePage(form.error.description, form.error.reason);
  const opened = await findLink(deps, call, "verify", form.value.get("token"));
  if (!("link" in opened)) return voidPage(deps, call, ACTION, opened);
  if (!(await verifyCsrfToken(deps, opened.browserKey, form.value.get("csrf")))) return confirmPage(deps, call, opened);
  const { email } = opened.link;
  const { nowMs, requestId } = call;
  const about = { atMs: nowMs, requestId, actor: `user ${email}`, action: ACTION, subject: `users/${email}` };
  const verified = await deps.mailLinks.verify({ ...opened, email, nowMs }, [
    deps.audit.statement("if changed", { ...about, outcome: "done", reason: "by a link sent to the address" }),
  ]);
  if (!verified) return voidPage(deps, call, ACTION, { kind: "void" });
  return deps.pages.linkUsed({
    ...pageContext(call, undefined, await brandOfAddress(deps, email)),
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
