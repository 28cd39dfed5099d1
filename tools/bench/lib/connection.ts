import { connect, type Socket } from "node:net";

/** A wrong answer; it ends the bench. */
export class BrokenAnswer extends Error {
  override name = "BrokenAnswer";
}

/** The whole answer to a request. */
export interface Answer {
  /** 0 for an answer whose end cannot be found. */
  readonly status: number;
  /** Takes the name in lower case. */
  header(name: string): string | undefined;
  body(): string;
  bytes(): Buffer;
  /** The raw answer, for an error message. */
  text(): string;
}

/** After so long the server counts as hanging. */
const PATIENCE_MS = 10_000;

/**
 * HTTP/1.1 on a plain socket, one request at a time. It costs a tenth of Node's own client, so that the server is the
 * limit and not the load generator.
 */
export class Connection {
  readonly #socket: Socket;
  #held: Buffer | undefined;
  #waiting: PromiseWithResolvers<Answer> | undefined;
  #fault: Error | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    const fail = (fault: Error): void => {
      this.#fault ??= fault;
      this.#waiting?.reject(this.#fault);
    };
    // An idle connection may stay silent.
    socket.setTimeout(PATIENCE_MS, () => {
      if (this.#waiting !== undefined) fail(new BrokenAnswer("The server does not answer."));
    });
    socket.on("error", fail);
    socket.on("close", () => fail(new BrokenAnswer("The server closed the connection.")));
    socket.on("data", (chunk: Buffer) => {
      const bytes = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]);
      const answer = parse(bytes);
      this.#held = answer === undefined ? bytes : undefined;
      if (answer === undefined) return;
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting?.resolve(answer);
    });
  }

  static async open({ host, port }: { readonly host: string; readonly port: number }): Promise<Connection> {
    const socket = connect({ host, port, noDelay: true });
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    return new Connection(socket);
  }

  ask(request: Buffer): Promise<Answer> {
    if (this.#fault !== undefined) return Promise.reject(this.#fault);
    this.#waiting = Promise.withResolvers<Answer>();
    this.#socket.write(request);
    return this.#waiting.promise;
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** RFC 9112 section 6.3: these have no body, even with a length. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 304]);
const LAST_CHUNK = "0\r\n\r\n";

/** Parses a complete answer; undefined while bytes are missing. */
function parse(bytes: Buffer): Answer | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const head = bytes.toString("latin1", 0, headEnd);
  const status = Number(head.slice(9, 12));
  const bodyStart = headEnd + 4;
  const header = (name: string): string | undefined => headerOf(head, name);
  const whole = (content: () => Buffer): Answer => ({
    status,
    header,
    bytes: content,
    body: () => content().toString("utf8"),
    text: () => bytes.toString("utf8"),
  });
  const length = WITHOUT_BODY.has(status) ? "0" : /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) {
    if (bytes.length < bodyStart + Number(length)) return undefined;
    return whole(() => bytes.subarray(bodyStart));
  }
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return { ...whole(() => Buffer.alloc(0)), status: 0 };
  if (bytes.toString("latin1", Math.max(bodyStart, bytes.length - LAST_CHUNK.length)) !== LAST_CHUNK) return undefined;
  return whole(() => unchunk(bytes.subarray(bodyStart)));
}

function headerOf(head: string, name: string): string | undefined {
  for (const line of head.split("\r\n")) {
    const colon = line.indexOf(":");
    if (line.slice(0, colon).toLowerCase() === name) return line.slice(colon + 1).trim();
  }
  return undefined;
}

function unchunk(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    if (!(size > 0)) return Buffer.concat(parts);
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
}
