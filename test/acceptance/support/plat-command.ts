import { painter } from "../../../scripts/lib/terminal.ts";
import type { About } from "../../../cli/terminal/about.ts";
import type { Io } from "../../../cli/terminal/io.ts";
import { main } from "../../../cli/main.ts";
import { PLAT } from "../../../scripts/lib/about-plat.ts";

/** The result of one command. */
export interface Done {
  readonly code: number;
  /** The standard output. */
  readonly out: string;
  /** The standard error. */
  readonly err: string;
  /** The output as JSON. */
  json(): any;
}

export type Circumstances = Partial<Omit<Io, "err" | "readIn">> & { readonly stdin?: string | Uint8Array };

/**
 * Runs `npm run plat -- …` in this process, as `scripts/plat.ts` does, with another environment, terminal and clock.
 */
export async function plat(
  env: Io["env"],
  argv: readonly string[],
  circumstances: Circumstances = {},
  about: About = PLAT,
): Promise<Done> {
  let out = "";
  let err = "";
  const { stdin = "", ...rest } = circumstances;
  const code = await main(
    argv,
    {
      env,
      cwd: process.cwd(),
      out: async (text) => void (out += text),
      outBytes: async (bytes) => void (out += Buffer.from(bytes).toString()),
      err: (text) => void (err += text),
      isTerminal: false,
      columns: undefined,
      paint: painter(false),
      paintErr: painter(false),
      readIn: async () => Buffer.from(stdin),
      ask: undefined,
      nowMs: () => Date.now(),
      wait: (ms) => new Promise((done) => setTimeout(done, ms)),
      ...rest,
    },
    about,
  );
  return { code, out, err, json: () => JSON.parse(out) };
}

/** The rows of a table by column title; cells are separated by two spaces or more. */
export function tableOf(out: string): Record<string, string>[] {
  const [head = "", ...rows] = out.trimEnd().split("\n");
  const starts = Array.from(head.matchAll(/\S+(?: \S+)*/g), ({ 0: title, index }) => ({ title, index }));
  return rows.map((row) =>
    Object.fromEntries(
      starts.map(({ title, index }, place) => [title, row.slice(index, starts[place + 1]?.index).trim()]),
    ),
  );
}
