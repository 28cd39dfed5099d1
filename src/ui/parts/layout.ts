import { createHash } from "node:crypto";
import { raw } from "hono/html";
import { accentsOf, THEMES, type Brand } from "../../platform/model/brand.ts";
import { ICON_PATH, iconHref } from "./icon.ts";
import { given, html, type Markup } from "./markup.ts";
import { fileHref, stylesheetHref } from "./stylesheet.ts";
import type { Texts } from "../texts/texts.ts";
import { PAGE_HEADERS } from "./page-headers.ts";

/** The content of a document. */
export interface Page {
  readonly title: string;
  readonly main: Markup;
  readonly footer?: Markup | undefined;
}

/** Returns the title of a page. It begins with a fault of the page's form, because a screen reader reads it first. */
export const afterFault = (fault: unknown, title: string, { failed }: Pick<Texts["signIn"], "failed">): string =>
  fault === undefined ? title : `${failed}: ${title}`;

export interface Document extends Page {
  readonly status: number;
  /** The language of the text, as a BCP 47 tag. */
  readonly lang: string;
  /** `popup` fills a small window, `wide` is for long texts, `account` has sections one below the other. */
  readonly layout: "page" | "popup" | "wide" | "account";
  /** The platform's address. The page shows its host, so that people see who gets their password. */
  readonly publicBase: string;
  /** The addresses to which the browser may get after the form; absent: the document has no form. */
  readonly formTargets?: readonly string[] | undefined;
  /** The only picture of another origin: an https or data URL. */
  readonly logoUri?: string | undefined;
  readonly brand?: Brand | undefined;
  /** Links below the page: terms and privacy. */
  readonly links?: readonly { readonly href: string; readonly text: string }[];
  /** The name of the script file that the document may run. */
  readonly script?: string | undefined;
  /** True if a script sends the document's form at once. */
  readonly submitsItself?: boolean | undefined;
}

/** The only inline script. The policy names it by the SHA-256 digest of its text. */
const SUBMIT = "document.forms[0].submit()";
const SUBMIT_DIGEST = "sha256-ePniVEkSivX/c7XWBGafqh8tSpiRrKiqYeqbG7N1TOE=";

/** A response with the document, and headers against framing, caching, sniffing and foreign content. */
export function documentResponse(document: Document, pathPrefix: string): Response {
  const { status, lang, formTargets, logoUri = "", brand, submitsItself = false, script, publicBase } = document;
  const colours = coloursOf(brand);
  const sources = new Set([imageSource(logoUri), imageSource(brand?.logoUri ?? "")]);
  const policy = [
    "default-src 'none'",
    `style-src 'self'${colours === "" ? "" : ` 'sha256-${createHash("sha256").update(colours).digest("base64")}'`}`,
    `img-src 'self'${[...sources].join("")}`,
    `form-action ${formTargets === undefined ? "'none'" : formAction(formTargets)}`,
    ...(submitsItself ? [`script-src '${SUBMIT_DIGEST}'`] : []),
    // The policy names the file and not the origin, which may serve scripts of others, such as uploads.
    ...(script === undefined ? [] : [`script-src ${new URL(publicBase).origin}${fileHref(pathPrefix, script)}`]),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return new Response(render(document, colours, pathPrefix).toString(), {
    status,
    headers: {
      ...PAGE_HEADERS,
      "content-language": lang,
      // Otherwise Cloudflare hides e-mail addresses behind a script that the policy blocks, and may add other scripts.
      "cache-control": "no-store, no-transform",
      "content-security-policy": policy.join("; "),
      "x-content-type-options": "nosniff",
      // A sign-in in a popup ends with a message to `window.opener`, which a stricter policy would cut off.
      "cross-origin-opener-policy": "unsafe-none",
    },
  });
}

const render = (
  { lang, title, layout, publicBase, main, footer, brand, links = [], submitsItself, script }: Document,
  colours: string,
  pathPrefix: string,
): Markup =>
  html`<!doctype html>
    <html lang="${lang}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}${brand === undefined || brand.name === "" ? undefined : ` · ${brand.name}`}</title>
        <link rel="icon" href="${iconHref(pathPrefix)}" type="image/svg+xml" />
        <link rel="stylesheet" href="${stylesheetHref(pathPrefix)}" />
        ${script === undefined ? undefined : html`<script src="${fileHref(pathPrefix, script)}" defer></script>`}
        ${colours === "" ? undefined : raw(`<style>${colours}</style>`)}
      </head>
      <body class="${layout}">
        <div class="frame">
          <header>
            ${
              brand === undefined || brand.logoUri === ""
                ? html`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${ICON_PATH}" /></svg>`
                : html`<img src="${brand.logoUri}" alt="" referrerpolicy="no-referrer" />`
            }
            <p>
              ${brand === undefined || brand.name === "" ? undefined : html`${given(brand.name)} <br />`}${
                new URL(publicBase).host
              }
            </p>
          </header>
          <main>${main}</main>
          ${
            footer === undefined && links.length === 0
              ? undefined
              : html`<footer>
                  ${footer}
                  ${
                    links.length === 0
                      ? undefined
                      : html`<p class="legal">
                          ${links.map(
                            ({ href, text }) =>
                              html`<a href="${href}" target="_blank" rel="noopener noreferrer">${text}</a> `,
                          )}
                        </p>`
                  }
                </footer>`
          }
        </div>
        ${submitsItself === true ? raw(`<script>${SUBMIT}</script>`) : undefined}
      </body>
    </html>`;

/** Returns the brand's colours, which replace the stylesheet's; empty if it has none. They need no escaping. */
function coloursOf(brand: Brand | undefined): string {
  const accents = brand && accentsOf(brand);
  if (accents === undefined) return "";
  const rule = (theme: keyof typeof THEMES): string => {
    const { accent, strong } = accents[theme];
    return `:root{--accent:${accent};--accent-strong:${strong};--on-accent:${THEMES[theme].onAccent}}`;
  };
  return `${rule("light")}@media (prefers-color-scheme:dark){${rule("dark")}}`;
}

/**
 * Returns the value of `form-action`: this origin, and the schemes that may follow the form. Browsers apply it to every
 * redirect after a form, even to redirects of the client's callback (`api.shop.example` → `www.shop.example`), which
 * the platform does not know. So it names schemes and no hosts; hosts would hardly protect a page without scripts
 * better.
 *
 * `targets` are addresses. Only the scheme of each is used, if it cannot end the directive. A text that is not an
 * address is left out.
 */
export function formAction(targets: readonly string[]): string {
  const schemes = targets.map((target) => URL.parse(target)?.protocol ?? "").filter((scheme) => SCHEME.test(scheme));
  return [...new Set(["'self'", ...schemes])].join(" ");
}

/** Returns the source of the logo for `img-src`. A text that is not such an address adds nothing. */
function imageSource(uri: string): string {
  const url = URL.parse(uri);
  if (url?.protocol === "data:") return " data:";
  return url?.protocol === "https:" && HOST.test(url.host) ? ` ${url.origin}` : "";
}

const HOST = /^[a-z0-9.-]+(:[0-9]+)?$/;

/** A private-use scheme is a reversed domain name with a dot (RFC 8252 7.1); `javascript:` and `data:` have none. */
const SCHEME = /^(https?|[a-z][a-z0-9+-]*\.[a-z0-9+.-]*):$/;
