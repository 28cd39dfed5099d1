import { PROBLEM_TYPES } from "../http/errors.ts";
import type { ProblemRenderer } from "../http/mount.ts";
import type { AnyCall, OAuthContext } from "./context.ts";
import type { ErrorView, PageContext, Pages } from "./ports.ts";

/** Where a page is shown: what every view has. */
export const pageContext = (
  { request, publicBase, requestId }: Pick<AnyCall, "request" | "publicBase" | "requestId">,
  uiLocales: string | undefined,
): PageContext => ({ uiLocales, acceptLanguage: request.headers.get("accept-language"), publicBase, requestId });

/** Why nobody but the person at the browser can be told. */
export interface PageRefusal {
  /** `request` where absent. */
  readonly kind?: ErrorView["kind"];
  readonly detail: string;
  /** For the log and the audit log. */
  readonly reason: string;
  /** Empty where the client is not known. */
  readonly clientId: string;
  /** The request's own wish, where it came by a form; that of the address where absent. */
  readonly uiLocales?: string | null;
}

/** 400 to the person at the browser: there is no client that it would be safe to tell. */
export function refusedPage(
  call: AnyCall,
  action: string,
  { kind = "request", detail, reason, clientId, uiLocales }: PageRefusal,
  context: OAuthContext,
): Response {
  context.noteRefusal(call, action, { error: "invalid_request", reason, actor: clientId });
  const wish = uiLocales ?? call.url.searchParams.get("ui_locales") ?? undefined;
  return context.pages.error({ ...pageContext(call, wish), status: 400, kind, detail });
}

/** What `http/` refuses before a page is made, and what failed inside, as a page. */
export const renderProblemPage =
  (pages: Pages): ProblemRenderer =>
  (given, _docsUrl, requestId, { request, publicBase }) => {
    const { status } = PROBLEM_TYPES[given.type];
    const uiLocales = new URL(request.url).searchParams.get("ui_locales") ?? undefined;
    const page = pageContext({ request, publicBase, requestId }, uiLocales);
    return pages.error({ ...page, status, kind: kindOf(status), detail: given.message });
  };

function kindOf(status: number): ErrorView["kind"] {
  // Who opens the address of a form again, by going back or from the history, asks for it with GET.
  if (status === 405) return "over";
  if (status === 429) return "busy";
  if (status === 503) return "unavailable";
  return status >= 500 ? "internal" : "request";
}
