import { json } from "../../http/route.ts";
import { documentResponse } from "../parts/layout.ts";
import { html } from "../parts/markup.ts";
import { chooseLanguage, LANGUAGES } from "../texts/languages.ts";

/**
 * Answers at the platform's own address: with a page for a browser, or with the same links as JSON for a client. A
 * caller that does not ask for HTML gets JSON.
 */
export function landing(request: Request, publicBase: string, pathPrefix: string): Response {
  const links = linksOf(publicBase);
  if (!prefersHtml(request.headers.get("accept")))
    return json(200, { name: "Plinth", links }, { ...VARY, "cache-control": "public, max-age=300" });
  const lang = chooseLanguage(undefined, request.headers.get("accept-language"));
  const { landing: words } = LANGUAGES[lang];
  const main = html`<h1>${words.title}</h1>
    <p>${words.lead}</p>
    <ul class="doors">
      ${words.doors.map(
        ({ title, text }, at) =>
          html`<li>
            <a href="${links.documentation}/${DOORS[at]}"><b>${title}</b> <span>${text}</span></a>
          </li>`,
      )}
    </ul>
    <nav aria-label="${words.more}">
      <div>
        <a href="${links.documentation}">${words.reference}</a> <a href="${links.errors}">${words.errors}</a>
        <a href="${links.console}">${words.console}</a> <a href="${links.account}">${words.account}</a>
      </div>
    </nav>`;
  const page = { status: 200, lang, layout: "wide", title: words.title, publicBase, main } as const;
  return withVary(documentResponse(page, pathPrefix));
}

/** Answers 404 to a person who followed a wrong link, with a link to the start page. */
export function nothingHere(request: Request, publicBase: string, pathPrefix: string): Response | undefined {
  const isNavigation = request.method === "GET" || request.method === "HEAD";
  if (!isNavigation || !prefersHtml(request.headers.get("accept"))) return undefined;
  const lang = chooseLanguage(undefined, request.headers.get("accept-language"));
  const { nothingHere: words } = LANGUAGES[lang];
  const main = html`<h1>${words.title}</h1>
    <p>${words.text}</p>
    <p><a href="${publicBase}/">${words.back}</a></p>`;
  return withVary(
    documentResponse({ status: 404, lang, layout: "page", title: words.title, publicBase, main }, pathPrefix),
  );
}

/** The pages of the documentation that the three doors lead to: sign-in, events, media. */
const DOORS = ["start/browser-app", "start/node", "guides/upload-and-fetch"] as const;

const linksOf = (publicBase: string) => ({
  documentation: `${publicBase}/docs`,
  openapi: `${publicBase}/openapi.json`,
  errors: `${publicBase}/docs/errors`,
  signIn: `${publicBase}/oauth2/v1/.well-known/openid-configuration`,
  console: `${publicBase}/console`,
  account: `${publicBase}/account`,
  health: `${publicBase}/health`,
});

/** True if the caller names HTML and does not rate JSON above it (RFC 9110 12.5.1). A wildcard names nothing. */
function prefersHtml(accept: string | null): boolean {
  const quality = qualityOf(accept ?? "", "text/html");
  return quality > 0 && quality >= qualityOf(accept ?? "", "application/json");
}

function qualityOf(accept: string, type: string): number {
  for (const range of accept.split(",").slice(0, MAX_RANGES)) {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    if (name !== type) continue;
    const quality = parameters.find((parameter) => parameter.startsWith("q="));
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0;
  }
  return 0;
}

const MAX_RANGES = 32;
const VARY = { vary: "Accept, Accept-Language" };

function withVary(response: Response): Response {
  response.headers.set("vary", VARY.vary);
  return response;
}
