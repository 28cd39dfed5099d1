import { html as render } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";

/** HTML in which every inserted text is escaped. */
export type Markup = HtmlEscapedString;
export type Child = Markup | string | number | undefined | readonly Child[];

/** Hono's tag returns a promise only if a child is one, and `Child` excludes them. */
export const html = render as (strings: TemplateStringsArray, ...children: readonly Child[]) => Markup;

/** Replaces the placeholders of a text, such as `{client}`, by markup. */
export const fill = (text: string, values: Readonly<Record<string, Markup>>): readonly Child[] =>
  text.split(/\{(\w+)\}/).map((part, index) => (index % 2 === 1 ? values[part] : part));

/** Isolates a name that somebody else chose, so that it cannot change the direction of the text around it. */
export const given = (name: string): Markup => html`<strong><bdi>${name}</bdi></strong>`;

/** The hidden fields of a form. */
export const hiddenFields = (fields: Readonly<Record<string, string>>): readonly Markup[] =>
  Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`);
