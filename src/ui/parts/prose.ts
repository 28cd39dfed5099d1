import { html, type Child } from "./markup.ts";

/** Words between backticks as code. */
export const withCode = (text: string): readonly Child[] =>
  text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
