import { PROBLEM_TYPES, invalid, type Problem } from "../../http/errors.ts";
import type { ProblemRenderer } from "../../http/service.ts";
import type { AnyCall, Refusals } from "../model/call.ts";
import type { ErrorView, PageContext, Pages } from "./port.ts";

/** What a page that refuses takes. */
export interface RefusedPageDeps extends Pick<Refusals, "noteRefusal"> {
  readonly pages: Pages;
}

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
  readonly account?: ErrorView["account"];
}

/** 400 to the person at the browser: there is no client that it would be safe to tell. */
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

/** What `http/` refuses before a page is made, and what failed inside, as a page. `accountOf`: for the account's own forms. */
export const renderProblemPage =
  (pages: Pages, accountOf?: (asked: Pick<AnyCall, "publicBase" | "url">) => string): ProblemRenderer =>
  (given, _docsUrl, requestId, { request, publicBase }) => {
    const { status } = PROBLEM_TYPES[given.type];
    const url = new URL(request.url);
    const page = pageContext({ request, publicBase, requestId }, url.searchParams.get("ui_locales") ?? undefined);
    const account = accountOf?.({ publicBase, url });
    const kind = failureOf(status) ?? (account === undefined ? refusalOf(status) : "account");
    return pages.error({ ...page, status, kind, detail: given.message, account });
  };

function failureOf(status: number): ErrorView["kind"] | undefined {
  if (status === 429) return "busy";
  if (status === 503) return "unavailable";
  return status >= 500 ? "internal" : undefined;
}

/** Who opens the address of a form again, by going back or from the history, asks for it with GET. */
const refusalOf = (status: number): ErrorView["kind"] => (status === 405 ? "over" : "request");

/**
 * Pages are for people who go there, never for a script that reads them (Fetch Metadata). Without `AUTH_URL` the pages of
 * services share this origin, and a script of theirs could read a form, its token and what is typed there. A browser says
 * for whom a request is in `Sec-Fetch-Dest`, which no script can set. What is no browser does not send it.
 *
 *   account, its forms      a document of its own
 *   `/authorize` and what   a frame too: a hidden one renews tokens (`prompt=none`); whatever page comes of it refuses to
 *   a sign-in goes through  be framed
 */
export const DOCUMENT = ["document"] as const;
export const DOCUMENT_OR_FRAME = ["document", "iframe", "frame"] as const;

/** A guard of a service. */
export const navigatedTo =
  (as: readonly string[]) =>
  async (request: Request): Promise<Problem | undefined> => {
    const destination = request.headers.get("sec-fetch-dest");
    return destination === null || as.includes(destination)
      ? undefined
      : invalid("invalid_header", "Sec-Fetch-Dest", "This address shows a page. Open it in the browser's window.");
  };
