import type { OperatorClient } from "../client/admin-client.ts";
import type { Io } from "../terminal/io.ts";
import type { Input } from "../terminal/input.ts";

/** One command of `npm run plat --`, as its help tells it. */
export interface Command {
  /** `["tenant", "set"]`, `["health"]`. */
  readonly words: readonly string[];
  readonly summary: string;
  readonly args: readonly Arg[];
  readonly options: readonly Option[];
  /** Paragraphs below the options. */
  readonly notes?: readonly string[];
  /** Without `npm run plat -- ` where they start with a word of a command. */
  readonly examples: readonly string[];
  /** It does more than tell: an output that nobody reads is no success then. Without it that is none of its business (`| head`). */
  readonly changes?: true;
  /** The exit code; nothing is 0. */
  run(invocation: Invocation): Promise<number | void>;
}

export interface Invocation {
  readonly args: Readonly<Record<string, string>>;
  readonly options: Given;
  readonly io: Io;
  /** Of this command: the standard input is read once. */
  readonly input: Input;
  /** The platform that is meant: made at the first use, so what needs none asks for no secret. */
  client(): Promise<OperatorClient>;
  /** The platform's address with its path prefix. */
  readonly base: string;
}

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
  readonly help: string;
}

/** The options that were given. */
export interface Given {
  has(flag: string): boolean;
  /** The last value of it. */
  value(flag: string): string | undefined;
  values(flag: string): readonly string[];
}
