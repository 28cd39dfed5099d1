export interface Field {
  /** In JSON; a dot leads into an object. */
  readonly name: string;
  /** Without its dashes, one of the list where it is a list. */
  readonly flag: string;
  readonly type: "text" | "list" | "boolean" | "count" | "secret";
  readonly help: string;
  /** `<tenant>`; of texts, lists, counts. */
  readonly value?: string;
  /** A new one must say it. */
  readonly required?: boolean;
  /** The same of a field that a body may leave out: one that is there keeps what it has. */
  readonly requiredOfNew?: boolean;
  /** Can be taken away again: `--no-<flag>`. */
  readonly optional?: boolean;
}

export interface Key {
  readonly name: string;
  readonly help: string;
}
