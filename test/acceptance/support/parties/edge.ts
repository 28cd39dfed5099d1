import { once } from "node:events";
import { createServer, request, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

/** A request that the edge holds: nobody has seen it yet but the edge. */
interface Held {
  readonly path: string;
  /** Sends it on; the status that the platform answered, which the caller does not get to see. */
  forward(): Promise<number>;
  /** Ends the caller's connection without an answer. */
  drop(): void;
}

/** Stands before a platform under the address that the platform calls its own (PUBLIC_URL). */
export interface Edge {
  readonly origin: string;
  /** Every request that came, as `METHOD /path`. */
  readonly seen: string[];
  /** Where the platform is. */
  target(origin: string): void;
  /** The next request that this is true of is held. */
  hold(wanted: (method: string, path: string) => boolean): Promise<Held>;
  /** Changes the answers of a path, JSON in and out; undefined: 503 in its place. */
  change(path: string, how: ((body: any) => unknown) | undefined): void;
  close(): Promise<void>;
}

export async function startEdge(): Promise<Edge> {
  let platform = "";
  const seen: string[] = [];
  const changes = new Map<string, ((body: any) => unknown) | undefined>();
  const holds: { wanted: (method: string, path: string) => boolean; found: (held: Held) => void }[] = [];

  const forward = async (message: IncomingMessage): Promise<IncomingMessage> => {
    const { method, headers, url } = message;
    const sent = request(`${platform}${url}`, { method, headers });
    message.pipe(sent);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    return answer;
  };
  const server = createServer((message, response) => {
    const { method = "", url: path = "" } = message;
    seen.push(`${method} ${path}`);
    message.on("error", () => response.destroy());
    const at = holds.findIndex(({ wanted }) => wanted(method, path));
    const [hold] = at === -1 ? [] : holds.splice(at, 1);
    if (hold !== undefined) {
      hold.found({
        path,
        async forward() {
          const answer = await forward(message);
          answer.resume();
          await once(answer, "end");
          return answer.statusCode ?? 0;
        },
        drop: () => response.destroy(),
      });
      return;
    }
    const relay = async (): Promise<void> => {
      const how = changes.get(path);
      if (changes.has(path) && how === undefined) {
        response.writeHead(503).end();
        return;
      }
      const answer = await forward(message);
      if (how === undefined) {
        response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        answer.pipe(response);
        return;
      }
      const text = (await answer.toArray()).map(String).join("");
      response.writeHead(answer.statusCode ?? 502, { "content-type": "application/json" });
      response.end(JSON.stringify(how(JSON.parse(text))));
    };
    relay().catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    target: (origin) => (platform = origin),
    hold: (wanted) => new Promise((found) => holds.push({ wanted, found })),
    change: (path, how) => changes.set(path, how),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
