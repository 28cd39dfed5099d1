import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { BrokenAnswer } from "../lib/connection.ts";

const HOST = "127.0.0.1";
const POLL_MS = 5;
/** After so long without a delivery, the rest counts as lost. */
const PATIENCE_MS = 15_000;

/** The endpoint of a push subscription. It answers at once and counts the events that it got. */
export async function startEndpoint() {
  const ids = new Set<string>();
  const server = createServer((request, response) => {
    ids.add(String(request.headers["webhook-id"]));
    request.resume().on("end", () => response.writeHead(204).end());
  }).listen(0, HOST);
  await once(server, "listening");
  const endpoint = `http://${HOST}:${(server.address() as AddressInfo).port}/`;
  return {
    pushConfig: { endpoint, basicAuth: { username: "bench", password: "a password" } },
    received: (): number => ids.size,
    /** Waits until so many events arrived. */
    async receive(events: number, stopping?: AbortSignal): Promise<void> {
      let sinceMs = performance.now();
      for (let before = 0; ids.size < events; await sleep(POLL_MS)) {
        stopping?.throwIfAborted();
        if (ids.size > before) sinceMs = performance.now();
        if (performance.now() - sinceMs > PATIENCE_MS)
          throw new BrokenAnswer(`${ids.size} of ${events} events were delivered`);
        before = ids.size;
      }
    },
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}
