/** JSON Schemas (2020-12) as OpenAPI 3.1 has them, in few words. */
export type Schema = Readonly<Record<string, unknown>>;

export const str = (description: string, more: Schema = {}): Schema => ({ type: "string", description, ...more });
export const int = (description: string, more: Schema = {}): Schema => ({ type: "integer", description, ...more });
export const bool = (description: string, more: Schema = {}): Schema => ({ type: "boolean", description, ...more });
export const list = (items: Schema, description?: string): Schema => ({
  type: "array",
  items,
  ...(description === undefined ? {} : { description }),
});
export const oneOf = (values: readonly string[], description: string): Schema => ({
  type: "string",
  enum: values,
  description,
});
/** A body that is no text; OpenAPI 3.1 needs no word for it, the generators of clients go by this one. */
export const BYTES: Schema = { type: "string", format: "binary" };
export const uri = (description: string): Schema => str(description, { format: "uri" });
/** A moment, in milliseconds since 1970. */
export const time = (description: string): Schema => int(`${description} In milliseconds since 1970.`);
export const map = (values: Schema, description: string): Schema => ({
  type: "object",
  additionalProperties: values,
  description,
});

/** The same, or null. Beside the values of an `enum` a type says nothing, and generators of clients say those twice then. */
export function orNull({ type, enum: values, ...rest }: Schema): Schema {
  return Array.isArray(values) ? { ...rest, enum: [...values, null] } : { ...rest, type: [type, "null"] };
}

/** An object; a property whose name ends in `?` may be absent, every other one is always there. */
export function obj(properties: Readonly<Record<string, Schema>>, description?: string): Schema {
  const bare = (name: string): string => name.replace(/\?$/, "");
  const required = Object.keys(properties).filter((name) => !name.endsWith("?"));
  return {
    type: "object",
    ...(description === undefined ? {} : { description }),
    properties: Object.fromEntries(Object.entries(properties).map(([name, schema]) => [bare(name), schema])),
    ...(required.length === 0 ? {} : { required }),
  };
}

/** A schema of `components`, by its name. */
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
