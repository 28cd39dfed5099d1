import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { UsageError } from "./usage-error.ts";
import type { Io } from "./io.ts";

/**
 * Reads the files that a command names; `-` is the standard input. Only one of them can be the standard input. At a
 * terminal the person is asked for a secret, without echo.
 */
export class Input {
  readonly #io: Io;
  #taken: string | undefined;

  constructor(io: Io) {
    this.#io = io;
  }

  async read(path: string, flag: string): Promise<string> {
    return Buffer.from(await this.readBytes(path, flag)).toString();
  }

  async readBytes(path: string, flag: string): Promise<Uint8Array> {
    if (path !== "-") return readGiven(path, flag, this.#io.cwd);
    this.#take(flag);
    return this.#io.readIn();
  }

  /** Reads a secret without the trailing line break. */
  async readSecret(path: string, flag: string): Promise<string> {
    const { ask } = this.#io;
    if (path !== "-" || ask === undefined) return checked((await this.read(path, flag)).replace(/\r?\n$/, ""), flag);
    this.#take(flag);
    return checked(await ask(`${flag}: `, true), flag);
  }

  /** A secret from the environment. */
  readVariable(name: string, flag: string): string {
    return checked(this.#io.env[name] ?? "", `${flag} ${name}`);
  }

  #take(flag: string): void {
    if (this.#taken !== undefined)
      throw new UsageError(`${this.#taken} and ${flag} cannot both come from the standard input.`);
    this.#taken = flag;
  }
}

function checked(text: string, flag: string): string {
  if (text === "") throw new UsageError(`${flag}: nothing is in it.`);
  return text;
}

function readGiven(path: string, flag: string, cwd: string): Uint8Array {
  try {
    return readFileSync(resolve(cwd, path));
  } catch (error) {
    throw new UsageError(`${flag} ${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}
