import type { ScopeView } from "../../oauth/pages/views/consent.ts";
import { fill, html, type Markup } from "./markup.ts";
import type { Texts } from "../texts/texts.ts";

/** Describes a scope in the words of its service, or of the pages. A scope without a description shows its name. */
export function scopeInWords({ scope, own, words }: ScopeView, { oidc, scopes }: Texts["consent"]): Markup {
  if (words !== undefined) return html`<bdi>${words}</bdi>`;
  const [key = "", name = ""] = own?.split(/(?<==)/) ?? [scope];
  const text = textOf(own === undefined ? oidc : scopes, key);
  return text === undefined ? html`<code>${scope}</code>` : html`${fill(text, { name: html`<code>${name}</code>` })}`;
}

const textOf = (texts: Readonly<Record<string, string>>, key: string): string | undefined =>
  Object.hasOwn(texts, key) ? texts[key] : undefined;
