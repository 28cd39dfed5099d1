import { formAction } from "./form-action.ts";
import { html, type Markup } from "./markup.ts";
import { stylesheetHref } from "./stylesheet.ts";

export interface Document {
  readonly status: number;
  /** Of the words, as a BCP 47 tag. */
  readonly lang: string;
  readonly title: string;
  /** `popup`: fills a small window. `wide`: a text to read. `account`: sections, one below the other. */
  readonly layout: "page" | "popup" | "wide" | "account";
  /** Where this is, so that people see to whom they give a password. */
  readonly publicBase: string;
  readonly main: Markup;
  readonly footer?: Markup | undefined;
  /** Where the browser may end after the form of the document; absent: it has no form. */
  readonly formTargets?: readonly string[];
}

/** A whole answer: the document and the headers that keep it from being framed, kept, sniffed or extended. */
export function documentResponse(document: Document, pathPrefix: string): Response {
  const { status, lang, formTargets } = document;
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    `form-action ${formTargets === undefined ? "'none'" : formAction(formTargets)}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return new Response(render(document, pathPrefix).toString(), {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-language": lang,
      "cache-control": "no-store",
      "content-security-policy": policy.join("; "),
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      // A page asks for a password and for nothing of the device.
      "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
      // Sign-in in a popup ends with a message to `window.opener`; any stricter policy would cut the two apart.
      "cross-origin-opener-policy": "unsafe-none",
    },
  });
}

const render = ({ lang, title, layout, publicBase, main, footer }: Document, pathPrefix: string): Markup =>
  html`<!doctype html>
    <html lang="${lang}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="stylesheet" href="${stylesheetHref(pathPrefix)}" />
      </head>
      <body class="${layout}">
        <div class="frame">
          <header>
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <path d="M4 3h16v4h-3v10h4v4H3v-4h4V7H4z" />
            </svg>
            <p>${new URL(publicBase).host}</p>
          </header>
          <main>${main}</main>
          ${footer === undefined ? undefined : html`<footer>${footer}</footer>`}
        </div>
      </body>
    </html>`;
