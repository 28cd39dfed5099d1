import type { JsonSchema } from "./interface-document.ts";
import { html, type Child, type Markup } from "./markup.ts";
import { withCode } from "./prose.ts";

/** JSON Schemas in words: the type of a value, and its fields. */
export function schemaFields(schema: JsonSchema): Child {
  const { properties, required = [], items, oneOf, $ref } = schema;
  if ($ref !== undefined) return html`<p>${typeOf(schema)}</p>`;
  if (oneOf !== undefined)
    return oneOf.map(
      (one, at) => html`${at === 0 ? "" : html`<p>or ${typeOf(one)}</p>`}${at === 0 ? schemaFields(one) : ""}`,
    );
  if (items !== undefined) return html`<p>${typeOf(schema)}</p>`;
  if (properties === undefined || Object.keys(properties).length === 0) return undefined;
  return html`<dl>
    ${Object.entries(properties).map(([name, field]) => fieldOf(name, field, required.includes(name)))}
  </dl>`;
}

function fieldOf(name: string, field: JsonSchema, isRequired: boolean): Markup {
  const nested = field.properties === undefined ? field.items?.properties && field.items : field;
  return html`<div>
    <dt><code>${name}</code> <span>${typeOf(field)}${isRequired ? "" : ", may be absent"}</span></dt>
    <dd>${withCode(field.description ?? "")} ${nested === undefined ? undefined : schemaFields(nested)}</dd>
  </div>`;
}

/** `integer, at least 1, at most 1000` */
export function typeOf(schema: JsonSchema): Child {
  const { $ref, items, enum: values, oneOf, anyOf } = schema;
  if ($ref !== undefined) {
    const name = $ref.split("/").at(-1) ?? "";
    return html`<a href="#shape-${name}">${name}</a>`;
  }
  const choices = oneOf ?? anyOf;
  if (choices !== undefined) return choices.map((one, at) => html`${at === 0 ? "" : " or "}${typeOf(one)}`);
  if (values !== undefined)
    return values.map((value, at) => html`${at === 0 ? "" : " | "}<code>${JSON.stringify(value)}</code>`);
  const types = [schema.type ?? "anything"].flat().join(" or ");
  const of = items === undefined ? undefined : html` of ${typeOf(items)}`;
  const format = typeof schema["format"] === "string" ? ` (${schema["format"]})` : "";
  return html`${types}${format}${of}${BOUNDS.filter(([keyword]) => schema[keyword] !== undefined).map(
    ([keyword, words]) => html`, ${words} <code>${String(schema[keyword])}</code>`,
  )}`;
}

const BOUNDS = [
  ["pattern", "matches"],
  ["minimum", "at least"],
  ["maximum", "at most"],
  ["minLength", "characters at least"],
  ["maxLength", "characters at most"],
  ["minItems", "elements at least"],
  ["maxItems", "elements at most"],
  ["default", "default"],
] as const;
