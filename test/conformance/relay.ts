import { once } from "node:events";
import { createServer } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";

/**
 * Passes the platform's own calls on to the suite, whose certificate nobody but its browser trusts. The platform takes
 * plain HTTP on this machine alone.
 */
export async function startRelay(suite: string): Promise<{ readonly url: string; readonly close: () => void }> {
  const server = createServer((message, response) => {
    const { host: _host, ...headers } = message.headers;
    const sent = request(new URL(message.url ?? "/", suite).href, {
      method: message.method,
      headers,
      rejectUnauthorized: false,
    });
    sent.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(response);
    });
    sent.on("error", () => response.destroy());
    message.pipe(sent);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
