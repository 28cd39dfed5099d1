import { createInterface } from "node:readline/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { arrayBuffer as readAll } from "node:stream/consumers";
import { Writable } from "node:stream";
import { UserError } from "../../scripts/lib/user-error.ts";
import { painter, type Paint } from "../../scripts/lib/terminal.ts";

/** A command's input and output; tests pass their own. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The person's directory, to which paths are relative. */
  readonly cwd: string;
  /** Writes the answer, which a pipe passes on. */
  out(text: string): Promise<void>;
  /** Writes bytes of the answer. */
  outBytes(bytes: Uint8Array): Promise<void>;
  /** Writes everything else. */
  err(text: string): void;
  /** Width of the terminal; undefined if `out` is not a terminal. */
  readonly columns: number | undefined;
  /** A person sees what `err` writes, so that progress can be drawn. */
  readonly isTerminal: boolean;
  readonly paint: Paint;
  readonly paintErr: Paint;
  /** Reads all of the standard input. */
  readIn(): Promise<Uint8Array>;
  /** Asks the person at the terminal; undefined without one. */
  readonly ask: ((question: string, hidden?: boolean) => Promise<string>) | undefined;
  nowMs(): number;
  wait(ms: number): Promise<void>;
}

export function processIo(): Io {
  const { stdin, stdout, stderr, env } = process;
  const colours = env["NO_COLOR"] === undefined || env["NO_COLOR"] === "";
  return {
    env,
    // npm changes to the checkout, wherever it was called from.
    cwd: (/^(plat|plinth)$/.test(env["npm_lifecycle_event"] ?? "") && env["INIT_CWD"]) || folderOfProcess(),
    out: (text) =>
      new Promise((done, failed) => {
        stdout.write(text, (error) => (error ? failed(error) : done()));
      }),
    outBytes: (bytes) =>
      new Promise((done, failed) => {
        stdout.write(bytes, (error) => (error ? failed(error) : done()));
      }),
    err: (text) => void stderr.write(text),
    isTerminal: stderr.isTTY,
    columns: columnsOf(stdout),
    paint: painter(stdout.isTTY && colours),
    paintErr: painter(stderr.isTTY && colours),
    readIn: async () => new Uint8Array(await readAll(stdin)),
    ask: stdin.isTTY && stderr.isTTY ? ask : undefined,
    nowMs: () => Date.now(),
    wait: (ms) => sleep(ms),
  };
}

function folderOfProcess(): string {
  try {
    return process.cwd();
  } catch {
    throw new UserError("This folder is gone. Change to another one, such as: cd ~");
  }
}

const USUAL_COLUMNS = 80;

/** Some terminals say that they are 0 wide, such as those of build servers. */
export const columnsOf = ({ isTTY, columns }: Pick<NodeJS.WriteStream, "isTTY" | "columns">): number | undefined =>
  isTTY ? columns || USUAL_COLUMNS : undefined;

/** Asks on the standard error, so that the output holds only the answer. */
async function ask(question: string, hidden = false): Promise<string> {
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: hidden ? nowhere : process.stderr, terminal: true });
  try {
    return await new Promise((answered) => {
      lines.once("line", answered);
      lines.once("close", () => answered(""));
      lines.once("SIGINT", () => process.exit(130));
    });
  } finally {
    lines.close();
    if (hidden) process.stderr.write("\n");
  }
}
