import { repeat } from "../lib/load.ts";
import { figure, spread, whole } from "../lib/statistics.ts";
import type { Study } from "../lib/study.ts";
import { startEndpoint } from "./endpoint.ts";
import { BATCH } from "./payload.ts";
import { PLINTH_ON_DISK } from "../lib/server-module.ts";
import { openPlinth } from "./plinth.ts";

const EVENTS = 5_000;

/** Publishes in batches and counts what one subscription delivers to an endpoint that answers at once. */
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
      const endpoint = await startEndpoint();
      try {
        const { pushConfig } = endpoint;
        await plinth.call("POST", topic, "/subscriptions", { name: "bench", pushConfig });
        const startedMs = performance.now();
        await repeat(await plinth.publishing(topic, BATCH), batches, stopping);
        await endpoint.receive(events, stopping);
        perSec.push((events * 1_000) / (performance.now() - startedMs));
      } finally {
        endpoint.close();
      }
    }
    return {
      tables: [
        {
          head: [`${whole(events)} events, one subscription`, "events delivered/s"],
          rows: [["from the first publish to the last delivery", spread(figure(perSec)!, whole)]],
        },
      ],
      marks: [],
    };
  },
};
