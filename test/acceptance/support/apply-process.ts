import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ROOT } from "../../../scripts/lib/root.ts";
import { painter } from "../../../scripts/lib/terminal.ts";
import { processIo, type Io } from "../../../cli/terminal/io.ts";
import { main } from "../../../cli/main.ts";
import { PLAT } from "../../../scripts/lib/about-plat.ts";
import { SHELL } from "./process/program.ts";

/** `plat apply` in a process of its own, and what may come between it and the platform. */
export interface Applied {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface Applying {
  readonly child: ChildProcess;
  /** Its standard error so far. */
  said(): string;
  readonly ended: Promise<Applied>;
}

/** The same in this process, where nothing is to be killed: a process of its own takes a second to begin. */
export async function applyHere(args: readonly string[], env: Record<string, string>): Promise<Applied> {
  let out = "";
  let err = "";
  const plain = painter(false);
  const io: Io = {
    ...processIo(),
    env,
    out: async (text) => void (out += text),
    err: (text) => void (err += text),
    columns: undefined,
    paint: plain,
    paintErr: plain,
    ask: undefined,
  };
  const code = await main(["apply", ...args], io, PLAT);
  return { code, signal: null, out, err };
}

export function startApply(args: readonly string[], env: Record<string, string>): Applying {
  const child = spawn(process.execPath, ["scripts/plat.ts", "apply", ...args], {
    cwd: ROOT,
    env: { ...SHELL, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal, out, err }));
  return { child, said: () => err, ended };
}

/** What becomes of one write: it is passed on or not, and its answer comes back or not. */
export interface Passage {
  /** Awaited in front of it; false: it is lost on its way there. */
  before(method: string, path: string): Promise<boolean> | boolean;
  /** Awaited behind it; false: its answer is lost on its way back. */
  after(method: string, path: string): Promise<boolean> | boolean;
}

export interface Crossing {
  readonly url: string;
  passage: Passage;
  close(): Promise<void>;
}

export const FREE: Passage = { before: () => true, after: () => true };

/** A way to the platform that the test watches over. Only writes of the operator service are held up. */
export async function openCrossing(target: string): Promise<Crossing> {
  const crossing = { passage: FREE };
  const pass = async (incoming: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const { method = "GET", url: path = "/" } = incoming;
    const watched = path.startsWith("/admin/") && method !== "GET";
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    if (watched && !(await crossing.passage.before(method, path))) return void answer.destroy();
    const { headers } = incoming;
    const onward = request(`${target}${path}`, { method, headers: { ...headers, host: new URL(target).host } });
    onward.end(Buffer.concat(chunks));
    const [reply] = (await once(onward, "response")) as [IncomingMessage];
    const body: Buffer[] = [];
    for await (const chunk of reply) body.push(chunk as Buffer);
    if (watched && !(await crossing.passage.after(method, path))) return void answer.destroy();
    answer.writeHead(reply.statusCode ?? 500, reply.headers).end(Buffer.concat(body));
  };
  const server = createServer((incoming, answer) => void pass(incoming, answer).catch(() => answer.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(crossing, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}
