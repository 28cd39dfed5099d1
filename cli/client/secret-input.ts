import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Given } from "../options.ts";
import { UsageError } from "../usage-error.ts";
import type { Io } from "../io.ts";
import type { Body, Field } from "../resources/fields.ts";

/**
 * What a file holds, or the standard input by `-`. The standard input is read for one of them at most; at a terminal
 * a secret is asked for, and does not show.
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

  /** Without the line break at its end. */
  async readSecret(path: string, flag: string): Promise<string> {
    if (path === "-" && this.#io.ask !== undefined) this.#take(flag);
    const isAsked = path === "-" && this.#io.ask !== undefined;
    const text = isAsked ? await this.#io.ask?.(`${flag}: `, true) : await this.read(path, flag);
    return checked((text ?? "").replace(/\r?\n$/, ""), flag);
  }

  #take(flag: string): void {
    if (this.#taken !== undefined)
      throw new UsageError(`${this.#taken} and ${flag} cannot both come from the standard input.`);
    this.#taken = flag;
  }
}

/** The secrets that the flags name, as fields of a body. */
export async function readSecrets(
  fields: readonly Field[],
  options: Given,
  input: Input,
  env: Io["env"],
): Promise<Body> {
  const secrets: Record<string, string> = {};
  for (const { name, flag, type } of fields) {
    if (type !== "secret") continue;
    const path = options.value(`${flag}-file`);
    const variable = options.value(`${flag}-env`);
    if (path !== undefined && variable !== undefined)
      throw new UsageError(`--${flag}-file and --${flag}-env contradict each other.`);
    if (path !== undefined) secrets[name] = await input.readSecret(path, `--${flag}-file`);
    if (variable !== undefined) secrets[name] = checked(env[variable] ?? "", `--${flag}-env ${variable}`);
  }
  return secrets;
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
