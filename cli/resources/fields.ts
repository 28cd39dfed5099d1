export interface Field {
  /** Its name in JSON; a dot leads into an object. */
  readonly name: string;
  /** Without dashes; the singular for a list. `pairs`: an object of texts, each given as `<name>:<text>`. */
  readonly flag: string;
  readonly type: "text" | "list" | "pairs" | "boolean" | "count" | "secret";
  readonly help: string;
  /** The placeholder, `<tenant>`, for texts, lists and counts. */
  readonly value?: string;
  /** Required for a new record. */
  readonly required?: boolean;
  /** Required for a new record only: an existing one keeps its value. */
  readonly requiredOfNew?: boolean;
  /** `--no-<flag>` removes it. */
  readonly optional?: boolean;
  /** The text that stands for none in the record. Undefined: the field is left out. */
  readonly none?: string;
}

export interface Key {
  readonly name: string;
  readonly help: string;
}

type Unnamed = Omit<Field, "name">;

/** A field that holds a text. */
export const text = (flag: string, value: string, help: string): Unnamed => ({ flag, type: "text", value, help });

/** A field that holds texts, each given by its own flag. */
export const texts = (flag: string, value: string, help: string): Unnamed => ({ flag, type: "list", value, help });

export const count = (flag: string, value: string, help: string): Unnamed => ({ flag, type: "count", value, help });

/** A field that is true or false. */
export const toggle = (flag: string, help: string): Unnamed => ({ flag, type: "boolean", help });

export const secret = (flag: string, help: string): Unnamed => ({ flag, type: "secret", help });

export const required = (field: Unnamed): Unnamed => ({ ...field, required: true });

export const optional = (field: Unnamed): Unnamed => ({ ...field, optional: true });

/** A field that `--no-<flag>` empties. */
export const clearable = (field: Unnamed): Unnamed => ({ ...optional(field), none: "" });
