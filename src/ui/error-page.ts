import type { ErrorView } from "../oauth/pages/port.ts";
import { fill, html, type Markup } from "./markup.ts";
import type { Texts } from "./texts/texts.ts";

/** Shows words for the person, the exact fault for the application's developers, and the request id for support. */
export function errorPage(
  { kind, detail, requestId, account }: ErrorView,
  texts: Texts,
): { readonly title: string; readonly main: Markup; readonly footer: Markup } {
  const { title, text } = texts.errors[kind];
  return {
    title,
    main: html`<h1>${title}</h1>
      <p>${text}</p>
      ${account === undefined ? undefined : html`<p><a href="${account}">${texts.account.title}</a></p>`}
      ${
        detail === ""
          ? undefined
          : html`<section class="detail" aria-labelledby="detail">
              <h2 id="detail">${texts.forDevelopers}</h2>
              <p lang="en">${detail}</p>
            </section>`
      }`,
    footer: html`<p>${fill(texts.requestId, { id: html`<code>${requestId}</code>` })}</p>`,
  };
}
