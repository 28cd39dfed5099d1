import { html as render } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";

/** HTML in which everything that came from outside is escaped. */
export type Markup = HtmlEscapedString;
export type Child = Markup | string | number | undefined | readonly Child[];

/** Hono's tag for what is at hand: it answers a promise only where it is given one, and `Child` has none. */
export const html = render as (strings: TemplateStringsArray, ...children: readonly Child[]) => Markup;

/** A text with markup in the places that it marks: `{client}`. */
export const fill = (text: string, values: Readonly<Record<string, Markup>>): readonly Child[] =>
  text.split(/\{(\w+)\}/).map((part, index) => (index % 2 === 1 ? values[part] : part));

/** A name that somebody else chose. Isolated, so that it cannot turn the direction of the words around it. */
export const given = (name: string): Markup => html`<strong><bdi>${name}</bdi></strong>`;

/** What a form sends without showing it. */
export const hiddenFields = (fields: Readonly<Record<string, string>>): readonly Markup[] =>
  Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`);
