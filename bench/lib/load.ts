import { connect, type Socket } from "node:net";
import type { Exchange } from "./exchange.ts";

/**
 * The load generator: some connections, each of which sends the request again as soon as it has the whole answer. It
 * speaks HTTP/1.1 on plain sockets, at a tenth of what Node's own client costs, so that the server is the limit.
 */
export interface Load {
  readonly host: string;
  readonly port: number;
  readonly connections: number;
  readonly durationMs: number;
  readonly stopping: AbortSignal;
}

export interface Answered {
  readonly requests: number;
  readonly elapsedMs: number;
  /** Of each request, sorted. */
  readonly latenciesMs: Float64Array;
}

/** An answer that is not what it must be; it ends the bench. */
export class BrokenAnswer extends Error {
  override name = "BrokenAnswer";
}

/** Of how many answers one is read in full; all are checked for their status. */
const READ_EVERY = 64;
/** What an answer may take before the server counts as hanging. */
const PATIENCE_MS = 10_000;

export async function load(
  given: Exchange,
  { host, port, connections, durationMs, stopping }: Load,
): Promise<Answered> {
  stopping.throwIfAborted();
  const latenciesMs: number[] = [];
  const startedMs = performance.now();
  const endMs = startedMs + durationMs;
  const sockets: Socket[] = [];
  const stop = (): void => sockets.forEach((socket) => socket.destroy());
  stopping.addEventListener("abort", stop);
  try {
    const talks = Array.from({ length: connections }, () => {
      const socket = connect({ host, port, noDelay: true });
      sockets.push(socket);
      return converse(socket, given, endMs, latenciesMs);
    });
    await Promise.all(talks);
  } finally {
    stopping.removeEventListener("abort", stop);
    stop();
  }
  const elapsedMs = performance.now() - startedMs;
  return { requests: latenciesMs.length, elapsedMs, latenciesMs: Float64Array.from(latenciesMs).sort() };
}

function converse(socket: Socket, { request, fault }: Exchange, endMs: number, latenciesMs: number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentMs = 0;
    let answers = 0;
    let held: Buffer | undefined;
    const send = (): void => {
      sentMs = performance.now();
      socket.write(request);
    };
    const read = (answer: Answer): string | undefined => {
      const wrong = answer.status === 200 ? undefined : `status ${answer.status}`;
      return wrong ?? (answers++ % READ_EVERY === 0 ? fault(answer.body()) : undefined);
    };
    socket.setTimeout(PATIENCE_MS, () => reject(new BrokenAnswer("The server does not answer.")));
    socket.on("connect", send);
    socket.on("error", reject);
    socket.on("close", () => reject(new BrokenAnswer("The server closed the connection.")));
    socket.on("data", (chunk: Buffer) => {
      const bytes = held === undefined ? chunk : Buffer.concat([held, chunk]);
      const answer = parse(bytes);
      held = answer === undefined ? bytes : undefined;
      if (answer === undefined) return;
      const nowMs = performance.now();
      const wrong = read(answer);
      if (wrong !== undefined) return reject(new BrokenAnswer(`${wrong}\n${bytes.toString("utf8").slice(0, 2_000)}`));
      latenciesMs.push(nowMs - sentMs);
      if (nowMs < endMs) send();
      else resolve();
    });
  });
}

interface Answer {
  readonly status: number;
  body(): string;
}

const LAST_CHUNK = "0\r\n\r\n";

/**
 * The answer that the bytes hold, undefined while it is not whole. One answer is on its way at a time. One whose end
 * cannot be told has status 0.
 */
function parse(bytes: Buffer): Answer | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const head = bytes.toString("latin1", 0, headEnd);
  const status = Number(head.slice(9, 12));
  const bodyStart = headEnd + 4;
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) {
    if (bytes.length < bodyStart + Number(length)) return undefined;
    return { status, body: () => bytes.toString("utf8", bodyStart) };
  }
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return { status: 0, body: () => "" };
  if (bytes.toString("latin1", Math.max(bodyStart, bytes.length - LAST_CHUNK.length)) !== LAST_CHUNK) return undefined;
  return { status, body: () => unchunk(bytes.subarray(bodyStart)) };
}

function unchunk(bytes: Buffer): string {
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    if (!(size > 0)) return Buffer.concat(parts).toString("utf8");
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
