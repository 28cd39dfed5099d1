import type { About } from "../terminal/about.ts";
import type { OperatorClient } from "../client/admin-client.ts";
import type { Target } from "../client/target.ts";
import type { Io } from "../terminal/io.ts";
import type { Input } from "../terminal/input.ts";

/** One command with its help. */
export interface Command {
  /** `["tenant", "set"]`, `["health"]`. */
  readonly words: readonly string[];
  readonly summary: string;
  readonly args: readonly Arg[];
  readonly options: readonly Option[];
  /** Paragraphs below the options. */
  readonly notes?: readonly string[];
  /** Without the leading `npm run plat -- `. */
  readonly examples: readonly string[];
  /**
   * The command changes something. It fails if its output is closed early; a command that only reads (`| head`) does
   * not.
   */
  readonly changes?: true;
  /** Returns the exit code; nothing means 0. */
  run(invocation: Invocation): Promise<number | void>;
}

export interface Invocation {
  /** An optional argument that is absent is not in it. */
  readonly args: Readonly<Record<string, string>>;
  /** The values of the last argument, if it takes several. */
  readonly rest: readonly string[];
  readonly options: Given;
  readonly io: Io;
  /** The command's input; standard input can be read once. */
  readonly input: Input;
  /** Connects at the first call, so that a command without calls needs no secret. */
  client(): Promise<OperatorClient>;
  /** The platform's address with its path prefix. */
  readonly base: string;
  readonly target: Target;
  readonly about: About;
}

export interface Arg {
  readonly name: string;
  readonly help: string;
  readonly optional?: true;
  /** The last argument may be given several times. */
  readonly several?: true;
}

export interface Option {
  /** Without the leading dashes. */
  readonly flag: string;
  /** The placeholder of its value, `<tenant>`; absent for a switch. */
  readonly value?: string;
  readonly repeated?: boolean;
  readonly help: string;
}

/** The options on the line. */
export interface Given {
  has(flag: string): boolean;
  /** The last value given. */
  value(flag: string): string | undefined;
  values(flag: string): readonly string[];
}
