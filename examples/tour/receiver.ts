import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A request to a receiver. */
export interface Received {
  readonly method: string;
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** When its body was complete. */
  readonly atMs: number;
}

/** An HTTP server on this machine, to which a local platform can push. */
export interface Receiver {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  /** In order of arrival. */
  readonly received: readonly Received[];
  /** Waits for the first `count` requests to the path; returns fewer after a time limit. */
  wait(path: string, count: number, patienceMs: number): Promise<readonly Received[]>;
  close(): Promise<void>;
}

/** Notes each request, then answers as `answer` does. The receiver may leave an answer open. */
export async function startReceiver(
  answer: (request: Received, response: ServerResponse) => void | Promise<void>,
): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((message, response) => {
    const chunks: Buffer[] = [];
    // The platform was killed during a request.
    message.on("error", () => response.destroy());
    message.on("data", (chunk: Buffer) => chunks.push(chunk));
    message.on("end", () => {
      const request = {
        method: message.method ?? "",
        path: message.url ?? "",
        headers: message.headers as Record<string, string>,
        body: Buffer.concat(chunks).toString("utf8"),
        atMs: Date.now(),
      };
      received.push(request);
      void answer(request, response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    received,
    async wait(path, count, patienceMs) {
      const until = Date.now() + patienceMs;
      for (;;) {
        const came = received.filter((request) => request.path === path);
        if (came.length >= count || Date.now() > until) return came.slice(0, count);
        await sleep(10);
      }
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
