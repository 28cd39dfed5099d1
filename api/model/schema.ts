/** Short constructors for JSON Schemas (2020-12) as OpenAPI 3.1 uses them. */
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
/** A binary body. OpenAPI 3.1 needs no format for it, but client generators do. */
export const BYTES: Schema = { type: "string", format: "binary" };
export const uri = (description: string): Schema => str(description, { format: "uri" });
/** A time in milliseconds since 1970. */
export const time = (description: string): Schema => int(`${description} In milliseconds since 1970.`);
export const map = (values: Schema, description: string): Schema => ({
  type: "object",
  additionalProperties: values,
  description,
});

/** Adds null. Next to an `enum` the type is dropped, because client generators would repeat the values. */
export function orNull({ type, enum: values, ...rest }: Schema): Schema {
  return Array.isArray(values) ? { ...rest, enum: [...values, null] } : { ...rest, type: [type, "null"] };
}

/** An object. A property whose name ends in `?` may be absent. */
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

/** A reference to a named schema of `components`. */
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
