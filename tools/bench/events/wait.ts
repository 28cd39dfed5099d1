import { setTimeout as sleep } from "node:timers/promises";
import { PLINTH_ON_DISK } from "../lib/server-module.ts";
import { figure, medianOf, spread, type Figure } from "../lib/statistics.ts";
import type { Study } from "../lib/study.ts";
import { PAYLOAD } from "./payload.ts";
import { openPlinth, type Plinth } from "./plinth.ts";
import { readerOf } from "./waiting-reader.ts";

/** Pairs of requests in a round, alternately with and without a waiting reader. */
const PAIRS = 40;
export const MOST_RATIO = 1.5;
/** The time in which a reader reaches the log. Both ways wait for it, since a machine that idled is slower. */
const SETTLE_MS = 30;

/** From a publish to the delivery to one client that waits, next to a publish and then a read. */
export const waitStudy: Study = {
  id: "wait",
  label: "Waiting reads",
  async run({ serverOf, maxEvents, rounds, progress, stopping }) {
    const plinth = await openPlinth(await serverOf(PLINTH_ON_DISK));
    const ratio: number[] = [];
    const waiting: number[] = [];
    const reading: number[] = [];
    for (let round = 0; round < rounds; round++) {
      progress(`wait: round ${round + 1} of ${rounds}`);
      const topic = `awaited-${round}`;
      await plinth.makeTopic(topic);
      const both = await alternate(plinth, topic, Math.min(PAIRS, maxEvents), stopping);
      waiting.push(both.waitingMs);
      reading.push(both.readingMs);
      ratio.push(both.waitingMs / both.readingMs);
    }
    const measured = figure(ratio)!;
    return {
      tables: [
        {
          head: ["one client, p50 of a round", "ms"],
          rows: [
            ["publish to delivery, by a read that waits", spread(figure(waiting)!, oneDigit)],
            ["publish, then a read", spread(figure(reading)!, oneDigit)],
          ],
        },
      ],
      marks: [
        {
          text: `publish to delivery ÷ publish and read: ${two(measured)} (at most ${MOST_RATIO})`,
          reached: measured.median <= MOST_RATIO,
        },
      ],
    };
  },
};

const oneDigit = (value: number): string => value.toFixed(1);
const two = ({ median }: Figure): string => median.toFixed(2);

async function alternate(plinth: Plinth, topic: string, pairs: number, stopping: AbortSignal) {
  const [first] = await plinth.readers(topic);
  const reader = readerOf(plinth, first!);
  const publish = (): Promise<unknown> => plinth.call("POST", topic, "/publish", { payload: PAYLOAD });
  const waiting: number[] = [];
  const reading: number[] = [];
  for (let pair = 0; pair < pairs && !stopping.aborted; pair++) {
    const delivered = reader.wait();
    await sleep(SETTLE_MS);
    const beganMs = performance.now();
    await publish();
    waiting.push((await delivered).atMs - beganMs);
    await sleep(SETTLE_MS);
    const againMs = performance.now();
    await publish();
    reading.push((await reader.read()).atMs - againMs);
  }
  return { waitingMs: medianOf(waiting), readingMs: medianOf(reading) };
}
