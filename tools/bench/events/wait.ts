import { PLINTH_ON_DISK } from "../lib/server-module.ts";
import { figure, percentile, spread, whole, type Figure } from "../lib/statistics.ts";
import type { Study } from "../lib/study.ts";
import { PAYLOAD } from "./payload.ts";
import { openPlinth, type Plinth } from "./plinth.ts";

/** Pairs of requests in a round, alternately with and without a waiting reader. */
const PAIRS = 40;
/** Clients that wait on one topic, by names of consumers. */
const CLIENTS = 200;
/** A reader may have so many named consumers on a topic. */
const NAMES = 100;
const WAIT_SEC = 30;
const MOST_RATIO = 1.5;

/**
 * Waiting reads (`Prefer: wait=30`):
 *
 *   - from a publish to the delivery to one client that waits, next to a publish and then a read
 *   - one event for two hundred clients that wait on one topic
 */
export const waitStudy: Study = {
  id: "wait",
  label: "Waiting reads",
  async run(context) {
    const { serverOf, maxEvents, rounds, progress } = context;
    const plinth = await openPlinth(await serverOf(PLINTH_ON_DISK));
    const ratio: number[] = [];
    const waiting: number[] = [];
    const reading: number[] = [];
    const pairs = Math.min(PAIRS, maxEvents);
    for (let round = 0; round < rounds; round++) {
      progress(`wait: round ${round + 1} of ${rounds}`);
      const topic = `awaited-${round}`;
      await plinth.makeTopic(topic);
      const both = await alternate(plinth, topic, pairs, context.stopping);
      waiting.push(both.waitingMs);
      reading.push(both.readingMs);
      ratio.push(both.waitingMs / both.readingMs);
    }
    progress(`wait: many clients on one topic`);
    const clients = await manyClients(plinth, Math.min(CLIENTS, maxEvents));
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
        {
          head: ["many that wait", "p50 ms", "p99 ms", "last ms"],
          rows: [[`one event for ${whole(clients.length)} clients on one topic`, ...timesOf(clients)]],
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
const medianOf = (values: readonly number[]): number => percentile(Float64Array.from(values).sort(), 0.5);
const timesOf = (values: readonly number[]): string[] => {
  const sorted = Float64Array.from(values).sort();
  return [0.5, 0.99, 1].map((share) => oneDigit(percentile(sorted, share)));
};

/** A reader by `fetch`: the study counts milliseconds, and holds thousands of requests open. */
function readerOf(plinth: Plinth, headers: Readonly<Record<string, string>>, read: string, commit: string) {
  const post = (path: string, json: unknown, more: Record<string, string> = {}): Promise<Response> =>
    fetch(`${plinth.origin}${path}`, {
      method: "POST",
      headers: { ...headers, ...more, "content-type": "application/json" },
      body: JSON.stringify(json),
    });
  return {
    /** Reads and returns when the event was there; commits it. */
    async deliver(more: Record<string, string>): Promise<number> {
      let response = await post(read, { numEvents: 1 }, more);
      // The wait is over, and a client waits again.
      while (response.status === 204 && more["prefer"] !== undefined)
        response = await post(read, { numEvents: 1 }, more);
      const body = await response.text();
      const atMs = performance.now();
      if (response.status !== 200) throw new Error(`a read that waits: ${response.status} ${body}`);
      const { prefer: _, ...consumer } = more;
      const { token } = JSON.parse(body) as { token: string };
      await (await post(commit, { token }, consumer)).arrayBuffer();
      return atMs;
    },
  };
}

const PREFER = { prefer: `wait=${WAIT_SEC}` };
/** Time for the readers to be at the log before the event comes. */
const settle = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function alternate(plinth: Plinth, topic: string, pairs: number, stopping: AbortSignal) {
  const [first] = await plinth.readers(topic);
  const reader = readerOf(plinth, first!.headers, first!.paths.read, first!.paths.commit);
  const publish = (): Promise<unknown> => plinth.call("POST", topic, "/publish", { payload: PAYLOAD });
  const waiting: number[] = [];
  const reading: number[] = [];
  for (let pair = 0; pair < pairs && !stopping.aborted; pair++) {
    const delivered = reader.deliver(PREFER);
    await settle(30);
    const beganMs = performance.now();
    await publish();
    waiting.push((await delivered) - beganMs);
    const againMs = performance.now();
    await publish();
    reading.push((await reader.deliver({})) - againMs);
  }
  return { waitingMs: medianOf(waiting), readingMs: medianOf(reading) };
}

async function manyClients(plinth: Plinth, clients: number): Promise<readonly number[]> {
  const topic = "awaited-by-many";
  await plinth.makeTopic(topic);
  const readers = await plinth.readers(topic);
  const delivered = Array.from({ length: clients }, (_, index) => {
    const { headers, paths } = readers[Math.floor(index / NAMES)]!;
    return readerOf(plinth, headers, paths.read, paths.commit).deliver({ ...PREFER, consumer: `c${index % NAMES}` });
  });
  // An early failure is reported at the end.
  for (const one of delivered) one.catch(() => undefined);
  await settle(2_000 + clients * 5);
  const beganMs = performance.now();
  await plinth.call("POST", topic, "/publish", { payload: PAYLOAD });
  return (await Promise.all(delivered)).map((atMs) => atMs - beganMs);
}
