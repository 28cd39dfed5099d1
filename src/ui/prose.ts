import { html, type Child } from "./markup.ts";

/** Words between backticks as code. */
export const withCode = (text: string): readonly Child[] =>
  text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));

/** The subset of Markdown in descriptions: paragraphs, `code`, **strong** and [links](https://…). */
export const paragraphs = (text: string): readonly Child[] =>
  text.split("\n\n").map((paragraph) => html`<p>${inline(paragraph)}</p>`);

const inline = (text: string): readonly Child[] =>
  text.split(/(\*\*[^*]+\*\*|\[[^\]]+\]\([^)\s]+\))/).map((part) => {
    const [, label, href] = /^\[([^\]]+)\]\((https?:[^)\s]+)\)$/.exec(part) ?? [];
    if (label !== undefined) return html`<a href="${href}">${label}</a>`;
    return part.startsWith("**") ? html`<strong>${part.slice(2, -2)}</strong>` : withCode(part);
  });
