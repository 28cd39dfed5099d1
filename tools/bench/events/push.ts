import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { BrokenAnswer } from "../lib/connection.ts";
import { repeat } from "../lib/load.ts";
import { figure } from "../lib/statistics.ts";
import type { Study } from "../lib/study.ts";
import { BATCH } from "./payload.ts";
import { PLINTH_ON_DISK } from "../lib/server-module.ts";
import { openPlinth } from "./plinth.ts";

const EVENTS = 5_000;
const HOST = "127.0.0.1";
/** Without a delivery for so long, the rest is lost. */
const PATIENCE_MS = 15_000;

/** What one subscription delivers to an endpoint that answers at once: published in batches, counted as they come. */
export const pushStudy: Study = {
  id: "push",
  label: "Push to one endpoint",
  async run({ serverOf, maxEvents, rounds, stopping, progress }) {
    const plinth = await openPlinth(await serverOf(PLINTH_ON_DISK));
    const batches = Math.ceil(Math.min(EVENTS, maxEvents) / BATCH);
    const events = batches * BATCH;
    const perSec: number[] = [];
    for (let round = 0; round < rounds; round++) {
      progress(`push: round ${round + 1} of ${rounds}`);
      const topic = `pushed-${round}`;
      await plinth.makeTopic(topic);
      const endpoint = await receive();
      try {
        const pushConfig = { endpoint: endpoint.url, basicAuth: { username: "bench", password: "a password" } };
        await plinth.call("POST", topic, "/subscriptions", { name: "bench", pushConfig });
        const startedMs = performance.now();
        await repeat(await plinth.publishing(topic, BATCH), batches, stopping);
        await endpoint.received(events, stopping);
        perSec.push((events * 1_000) / (performance.now() - startedMs));
      } finally {
        endpoint.close();
      }
    }
    const { median, min, max } = figure(perSec)!;
    const whole = (value: number): string => Math.round(value).toLocaleString("en");
    return {
      tables: [
        {
          head: [`${whole(events)} events, one subscription`, "events delivered/s"],
          rows: [["from the first publish to the last delivery", `${whole(median)} (${whole(min)}–${whole(max)})`]],
        },
      ],
      marks: [],
    };
  },
};

/** An endpoint that takes everything and counts the events that it got. */
async function receive() {
  const ids = new Set<string>();
  const server = createServer((request, response) => {
    ids.add(String(request.headers["webhook-id"]));
    request.resume().on("end", () => response.writeHead(204).end());
  }).listen(0, HOST);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${HOST}:${port}/`,
    async received(events: number, stopping: AbortSignal): Promise<void> {
      let sinceMs = performance.now();
      for (let before = 0; ids.size < events; await sleep(5)) {
        stopping.throwIfAborted();
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
