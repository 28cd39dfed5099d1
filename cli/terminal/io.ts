import { createInterface } from "node:readline/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { arrayBuffer as readAll } from "node:stream/consumers";
import { Writable } from "node:stream";
import { painter, type Paint } from "../../scripts/lib/terminal.ts";

/** What a command reads and writes; a test brings its own. */
export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the person stands: paths of files are meant from there. */
  readonly cwd: string;
  /** The answer: what a pipe takes on. */
  out(text: string): Promise<void>;
  /** Everything else that is said. */
  err(text: string): void;
  /** Characters of a line, where `out` is a terminal. */
  readonly columns: number | undefined;
  readonly paint: Paint;
  readonly paintErr: Paint;
  /** All of the standard input. */
  readIn(): Promise<Uint8Array>;
  /** A question to the person at the terminal; undefined: there is none. */
  readonly ask: ((question: string, hidden?: boolean) => Promise<string>) | undefined;
  nowMs(): number;
  wait(ms: number): Promise<void>;
}

export function processIo(): Io {
  const { stdin, stdout, stderr, env } = process;
  const colours = env["NO_COLOR"] === undefined || env["NO_COLOR"] === "";
  return {
    env,
    // npm runs a script in the checkout, wherever it was called.
    cwd: (env["npm_lifecycle_event"] === "plat" && env["INIT_CWD"]) || process.cwd(),
    out: (text) =>
      new Promise((done, failed) => {
        stdout.write(text, (error) => (error ? failed(error) : done()));
      }),
    err: (text) => void stderr.write(text),
    columns: stdout.isTTY ? stdout.columns : undefined,
    paint: painter(stdout.isTTY && colours),
    paintErr: painter(stderr.isTTY && colours),
    readIn: async () => new Uint8Array(await readAll(stdin)),
    ask: stdin.isTTY && stderr.isTTY ? ask : undefined,
    nowMs: () => Date.now(),
    wait: (ms) => sleep(ms),
  };
}

/** Questions go to the standard error, so that the answer of a command can still be taken from its output. */
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
