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
