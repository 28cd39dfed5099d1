import { once } from "node:events";
import { createServer, request, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A service on this machine, as plain as one of an operator's: what it does at a path is the test's to say. */
export interface Upstream {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  readonly server: ReturnType<typeof createServer>;
  /** Requests that came, in their order, the path with its query. */
  readonly seen: readonly IncomingMessage[];
  at(path: string, answer: (request: IncomingMessage, response: ServerResponse) => unknown): void;
  close(): Promise<void>;
}

export async function startUpstream(): Promise<Upstream> {
  const seen: IncomingMessage[] = [];
  const answers = new Map<string, (request: IncomingMessage, response: ServerResponse) => unknown>();
  const server = createServer({ maxHeaderSize: 256 * 1024 }, (message, response) => {
    seen.push(message);
    message.on("error", () => undefined);
    response.on("error", () => undefined);
    const answer = answers.get((message.url ?? "").split("?")[0] ?? "");
    if (answer === undefined) response.writeHead(404).end("nothing here");
    else void answer(message, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    server,
    seen,
    at: (path, answer) => void answers.set(path, answer),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export interface Heard {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** As it came over the connection: not decoded. */
  readonly body: Buffer;
  /** The connection broke before the end of the body. */
  readonly isBroken: boolean;
}

export interface Saying {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Sent as it is; of several pieces each in a chunk of its own, with no length declared. */
  readonly body?: string | Buffer | AsyncIterable<string | Buffer>;
  /** Sends the body only once it is asked for. */
  readonly expectContinue?: boolean;
}

/** One request over a connection of its own, with nothing decoded, followed or repeated. */
export function ask(
  address: string,
  { method = "GET", headers = {}, body, expectContinue }: Saying = {},
): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const more = expectContinue === true ? { expect: "100-continue" } : {};
    const call = request(address, { method, headers: { ...headers, ...more }, agent: false });
    call.on("response", (message) => {
      const chunks: Buffer[] = [];
      const end = (isBroken: boolean) =>
        resolve({ status: message.statusCode ?? 0, headers: message.headers, body: Buffer.concat(chunks), isBroken });
      message.on("data", (chunk: Buffer) => chunks.push(chunk));
      message.on("end", () => end(!message.complete));
      message.on("error", () => end(true));
    });
    call.on("error", reject);
    const send = async (): Promise<void> => {
      if (body !== undefined && typeof body !== "string" && !Buffer.isBuffer(body))
        for await (const piece of body) call.write(piece);
      else if (body !== undefined) call.write(body);
      call.end();
    };
    if (expectContinue === true) call.on("continue", () => void send());
    else void send();
  });
}

/** The whole body of what a service got. */
export async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
