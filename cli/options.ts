export interface Arg {
  readonly name: string;
  readonly help: string;
}

export interface Option {
  /** Without its dashes. */
  readonly flag: string;
  /** What it takes, as `<tenant>`; without it the option is a switch. */
  readonly value?: string;
  readonly repeated?: boolean;
  /** Stands for other flags in its help line: `--no-scope` is told with `--scope`. */
  readonly toldWith?: string;
  readonly help: string;
}

/** The options that were given. */
export interface Given {
  has(flag: string): boolean;
  /** The last value of it. */
  value(flag: string): string | undefined;
  values(flag: string): readonly string[];
}
