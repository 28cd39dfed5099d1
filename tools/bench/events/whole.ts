import { BrokenAnswer } from "../lib/connection.ts";
import { repeat, type Work } from "../lib/load.ts";
import { figure, spread, whole } from "../lib/statistics.ts";
import type { Study } from "../lib/study.ts";
import { HttpConsumer, type Reader } from "./consume.ts";
import { BATCH } from "./payload.ts";
import { PLINTH_ON_DISK } from "../lib/server-module.ts";
import { openPlinth } from "./plinth.ts";

const EVENTS = 100_000;
const MAX_SECONDS = 10;

/** Times all events from the first publish to the last commit, by one client each, in batches. */
export const wholeStudy: Study = {
  id: "whole",
  label: "Publish 100,000 events, then read and commit all of them",
  async run({ serverOf, maxEvents, rounds, stopping, progress }) {
    const plinth = await openPlinth(await serverOf(PLINTH_ON_DISK));
    const batches = Math.ceil(Math.min(EVENTS, maxEvents) / BATCH);
    const published: number[] = [];
    const read: number[] = [];
    for (let round = 0; round < rounds; round++) {
      progress(`all of a topic: round ${round + 1} of ${rounds}`);
      const topic = `whole-${round}`;
      await plinth.makeTopic(topic);
      const publishing = await plinth.publishing(topic, BATCH);
      published.push((await repeat(publishing, batches, stopping)).elapsedMs / 1_000);
      const [reader] = await plinth.readers(topic);
      read.push((await repeat(toTheEnd(reader!, batches), 1, stopping)).elapsedMs / 1_000);
      const { storedEvents } = await plinth.call("GET", topic, "");
      if (storedEvents !== batches * BATCH) throw new BrokenAnswer(`${storedEvents} events are stored`);
    }
    const rows = [
      ["publish", published],
      ["read and commit", read],
      ["both", published.map((seconds, round) => seconds + read[round]!)],
    ] as const;
    const both = figure(rows[2][1])!;
    return {
      tables: [
        {
          head: [`${whole(batches * BATCH)} events, batches of ${BATCH}, one client`, "seconds", "events/s"],
          rows: rows.map(([label, seconds]) => {
            const took = figure(seconds)!;
            return [label, spread(took, (value) => value.toFixed(2)), whole((batches * BATCH) / took.median)];
          }),
        },
      ],
      marks: [
        {
          text: `publish and read all: ${both.median.toFixed(2)} s; mark: at most ${MAX_SECONDS} s`,
          reached: both.median <= MAX_SECONDS,
        },
      ],
    };
  },
};

/** One step reads everything. Every batch but the last is full, so the number of batches tells that of the events. */
const toTheEnd = (reader: Reader, batches: number): Work => ({
  async connect() {
    const consumer = await HttpConsumer.open(reader, BATCH);
    return {
      async step() {
        let read = 0;
        for (let token = await consumer.read(); token !== undefined; token = await consumer.read()) {
          await consumer.commit(token);
          read += 1;
        }
        if (read !== batches) throw new BrokenAnswer(`${batches} batches were published and ${read} read`);
      },
      close: () => consumer.close(),
    };
  },
});
