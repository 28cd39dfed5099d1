import { PROBLEM_TYPES, invalid, type Problem } from "../../http/errors/errors.ts";
import type { ProblemRenderer } from "../../http/service.ts";
import type { Brand } from "../../platform/model/brand.ts";
import type { AnyCall, Refusals } from "../model/call.ts";
import type { ErrorView, PageContext } from "./views/page.ts";
import type { Pages } from "./port.ts";

export interface RefusedPageDeps extends Pick<Refusals, "noteRefusal"> {
  readonly pages: Pages;
}

/** The fields that all views share. */
export const pageContext = (
  { request, publicBase, requestId }: Pick<AnyCall, "request" | "publicBase" | "requestId">,
  uiLocales: string | undefined,
  brand?: Brand,
): PageContext => ({ uiLocales, acceptLanguage: request.headers.get("accept-language"), publicBase, requestId, brand });

/** A failure that a page shows, because a redirect to the client would not be safe or there is no client. */
export interface PageRefusal {
  /** `request` if absent. */
  readonly kind?: ErrorView["kind"];
  readonly detail: string;
  /** For the log and the audit log. */
  readonly reason: string;
  /** Empty if the client is unknown. */
  readonly clientId: string;
  /** The parameter of a form. If absent, that of the URL counts. */
  readonly uiLocales?: string | null;
  readonly account?: ErrorView["account"];
}

/** Records the refusal and returns a 400 page. */
export function refusedPage(
  deps: RefusedPageDeps,
  call: AnyCall,
  action: string,
  { kind = "request", detail, reason, clientId, uiLocales, account }: PageRefusal,
): Response {
  deps.noteRefusal(call, action, { error: "invalid_request", reason, actor: clientId });
  const wish = uiLocales ?? call.url.searchParams.get("ui_locales") ?? undefined;
  return deps.pages.error({ ...pageContext(call, wish), status: 400, kind, detail, account });
}

/** Renders failures from `http/` as pages. `accountAddress`: of the account page, for its own forms. */
export const renderProblemPage =
  (pages: Pages, accountAddress?: (call: Pick<AnyCall, "publicBase" | "url">) => string): ProblemRenderer =>
  (problem, _docsUrl, requestId, { request, publicBase }) => {
    const { status } = PROBLEM_TYPES[problem.type];
    const url = new URL(request.url);
    const page = pageContext({ request, publicBase, requestId }, url.searchParams.get("ui_locales") ?? undefined);
    const account = accountAddress?.({ publicBase, url });
    const kind = failureKind(status) ?? (account === undefined ? refusalKind(status) : "account");
    return pages.error({ ...page, status, kind, detail: problem.message, account });
  };

function failureKind(status: number): ErrorView["kind"] | undefined {
  if (status === 429) return "busy";
  if (status === 503) return "unavailable";
  return status >= 500 ? "internal" : undefined;
}

/** A 405 means that a browser opened the address of a form by GET, for example from the history. */
const refusalKind = (status: number): ErrorView["kind"] => (status === 405 ? "over" : "request");

/**
 * The destinations in `Sec-Fetch-Dest` to which a page is sent (Fetch Metadata). Pages are for navigation, and scripts
 * must not read them: without `AUTH_URL`, pages share the origin with services, whose scripts could read a form and its
 * token. Browsers send this header, and scripts cannot set it. Other clients do not send it.
 *
 *   account, password reset, invitation   a window
 *   `/authorize` and sign-in              also a frame: clients renew tokens in a hidden one (`prompt=none`). The pages
 *                                         themselves refuse to be framed.
 */
export const DOCUMENT = ["document"] as const;
export const DOCUMENT_OR_FRAME = ["document", "iframe", "frame"] as const;

/**
 * Makes the guard of a service that refuses other destinations. It also refuses to be loaded ahead of a visit: a person
 * who only points at a link has not signed out. The browser then loads the page when the person does visit it.
 */
export const navigatedTo =
  (as: readonly string[]) =>
  async ({ headers }: Request): Promise<Problem | undefined> => {
    const destination = headers.get("sec-fetch-dest");
    if (destination !== null && !as.includes(destination))
      return invalid("invalid_header", "Sec-Fetch-Dest", "This address shows a page. Open it in the browser's window.");
    return headers.get("sec-purpose")?.startsWith("prefetch") === true
      ? invalid("invalid_header", "Sec-Purpose", "This address is loaded only when a person visits it.")
      : undefined;
  };

/** The name of a client on pages. */
export const shownName = ({ name, displayName }: { readonly name: string; readonly displayName?: string }): string =>
  displayName || name;
