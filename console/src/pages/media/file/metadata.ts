/**
 * Metadata as fields: the members of the object, each a text, a number or a boolean. Other values, and numbers that
 * JavaScript would change, can only be edited as JSON.
 */
export interface Field {
  readonly name: string;
  /** The value as it is typed: JSON for numbers and booleans, otherwise the text itself. */
  readonly text: string;
}

/** The fields of a JSON text. Undefined if they cannot show all of it. */
export function fieldsOf(json: string): readonly Field[] | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return undefined;
  const fields: Field[] = [];
  for (const [name, value] of Object.entries(parsed)) {
    if (!["string", "number", "boolean"].includes(typeof value)) return undefined;
    const text = String(value);
    if (valueOf(text) !== value) return undefined;
    fields.push({ name, text });
  }
  return withoutSpace(json) === withoutSpace(textOf(fields)) ? fields : undefined;
}

/** The JSON of fields. A field without a name is left out. */
export const textOf = (fields: readonly Field[]): string =>
  JSON.stringify(
    Object.fromEntries(fields.filter(({ name }) => name !== "").map(({ name, text }) => [name, valueOf(text)])),
  );

function valueOf(text: string): string | number | boolean {
  if (text === "true" || text === "false") return text === "true";
  return /^-?(0|[1-9]\d{0,14})(\.\d{1,10})?$/.test(text) && String(Number(text)) === text ? Number(text) : text;
}

/** Removes white space between the parts of JSON, not in its strings. */
export const withoutSpace = (json: string): string => json.replaceAll(/("(?:\\.|[^"\\])*")|\s+/g, "$1");

/** The JSON with line breaks; unchanged if JavaScript would change its values. */
export function readable(json: string): string {
  try {
    const pretty = JSON.stringify(JSON.parse(json), null, 2);
    return withoutSpace(pretty) === withoutSpace(json) ? pretty : json;
  } catch {
    return json;
  }
}

export const isSame = (one: string, other: string): boolean => withoutSpace(one) === withoutSpace(other);
