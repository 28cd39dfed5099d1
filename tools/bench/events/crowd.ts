import { setTimeout as sleep } from "node:timers/promises";
import { openFiles, processorMs, residentMegabytes } from "../lib/machine.ts";
import type { Server } from "../lib/server.ts";
import { PLINTH_ON_DISK } from "../lib/server-module.ts";
import { medianOf, percentile, whole } from "../lib/statistics.ts";
import type { Study, StudyContext, StudyMark, Table } from "../lib/study.ts";
import { PAYLOAD } from "./payload.ts";
import { openPlinth, type Plinth } from "./plinth.ts";
import { MOST_RATIO } from "./wait.ts";
import { readerOf, WAIT_SEC, type Delivery } from "./waiting-reader.ts";

/** Clients on one topic, by names of consumers. */
const CLIENTS = 1_000;
/** A reader may have so many named consumers on a topic. */
const NAMES = 100;
/** Topics with one client each: steps, and the most. */
const LEVELS = [300, 1_000, 2_000, 5_000];
const TOPICS = 10_000;
/** Topics that are timed of each step. */
const SAMPLED = 50;
/** Reads that are opened before the server has to answer something else: it is never far behind. */
const OPENED_AT_ONCE = 20;
/** A wait that ends so long after its event was stored, at its own end, was not woken. */
const LATE_MS = 5_000;
/** Processor time in a second, of a server that keeps up with the waits that are asked again. */
const IDLE_MS = 500;

/**
 * Many reads that wait (`Prefer: wait=30`):
 *
 *   - one event for a thousand clients on one topic, next to the same event and then a read of each
 *   - up to ten thousand topics with a client each: an event for one of them, next to an event and then a read at a
 *     topic where nobody waits
 *
 * Nobody may miss its event: a wake-up that is lost shows as a delivery at the end of the wait.
 */
export const crowdStudy: Study = {
  id: "crowd",
  label: "Crowds that wait",
  async run(context) {
    const server = await context.serverOf(PLINTH_ON_DISK);
    const plinth = await openPlinth(server);
    const one = await oneTopic(plinth, server, context);
    const many = await manyTopics(plinth, server, context);
    return { tables: [...one.tables, ...many.tables], marks: [...one.marks, ...many.marks] };
  },
};

async function oneTopic(plinth: Plinth, server: Server, { maxEvents, progress }: StudyContext) {
  const clients = Math.min(CLIENTS, maxEvents);
  const topic = "awaited-by-many";
  await plinth.makeTopic(topic);
  const places = await plinth.readers(topic);
  const readers = Array.from({ length: clients }, (_, index) =>
    readerOf(plinth, { ...places[Math.floor(index / NAMES)]!, consumer: `c${index % NAMES}` }),
  );
  // Each has its consumer, so that the two ways differ in the wait alone.
  await plinth.call("POST", topic, "/publish", { payload: PAYLOAD });
  for (const some of inParts(readers, OPENED_AT_ONCE)) await Promise.all(some.map(({ read }) => read()));

  progress(`crowd: ${clients} clients begin to wait`);
  const openedMs = performance.now();
  const waiting = await openAll(plinth, topic, readers);
  await untilIdle(server);
  const openSec = (performance.now() - openedMs) / 1_000;
  progress(`crowd: one event for ${clients} clients`);
  const beganMs = performance.now();
  await plinth.call("POST", topic, "/publish", { payload: PAYLOAD });
  const storedMs = performance.now();
  const delivered = await Promise.all(waiting);

  progress(`crowd: one event, then a read of each`);
  await untilIdle(server);
  const againMs = performance.now();
  await plinth.call("POST", topic, "/publish", { payload: PAYLOAD });
  const read = await Promise.all(readers.map((reader) => reader.read()));
  const waited = delivered.map(({ atMs }) => atMs - beganMs);
  const readAll = read.map(({ atMs }) => atMs - againMs);
  const table: Table = {
    head: [`one event for ${whole(clients)} clients on one topic`, "p50 ms", "p99 ms", "last ms", "begun in s"],
    rows: [
      ["publish to delivery, by reads that wait", ...timesOf(waited), openSec.toFixed(1)],
      ["publish, then a read of each at once", ...timesOf(readAll), "0"],
    ],
  };
  const marks = [
    ratioMark(`${whole(clients)} clients on one topic`, medianOf(waited) / medianOf(readAll)),
    wakeMark(`${whole(clients)} clients on one topic`, lateOf(delivered, storedMs)),
  ];
  return { tables: [table], marks };
}

async function manyTopics(plinth: Plinth, server: Server, { maxEvents, progress }: StudyContext) {
  const [place] = await plinth.readers("");
  const topicAt = (name: string) => {
    const at = plinth.pathOf(name);
    return {
      publish: () => plinth.call("POST", name, "/publish", { payload: PAYLOAD }),
      reader: readerOf(plinth, { headers: place!.headers, paths: { read: `${at}/read`, commit: `${at}/commit` } }),
    };
  };
  const make = async (names: readonly string[]) => {
    for (const some of inParts(names, OPENED_AT_ONCE)) await Promise.all(some.map((name) => plinth.makeTopic(name)));
    return names.map(topicAt);
  };
  const leaving = new AbortController();
  const topics: ReturnType<typeof topicAt>[] = [];
  const waiting: Promise<Delivery>[] = [];
  const rows: string[][] = [];
  const marks: StudyMark[] = [];
  const levels = [...LEVELS.filter((level) => level < maxEvents), Math.min(TOPICS, maxEvents)];
  for (const level of levels) {
    progress(`crowd: makes topics, up to ${level}`);
    const names = Array.from({ length: level - topics.length }, (_, at) => `one-of-many-${topics.length + at}`);
    const added = await make(names);
    const alone = await make(Array.from({ length: Math.min(SAMPLED, level) }, (_, at) => `alone-${level}-${at}`));
    // Their clients have read once, as those that wait have.
    for (const { reader } of alone) await reader.readNothing();
    progress(`crowd: clients begin to wait at ${names.length} more topics`);
    const openedMs = performance.now();
    waiting.push(
      ...(await openAll(
        plinth,
        "one-of-many-0",
        added.map(({ reader }) => reader),
        leaving.signal,
      )),
    );
    topics.push(...added);
    const isIdle = await untilIdle(server);
    const openSec = (performance.now() - openedMs) / 1_000;

    progress(`crowd: an event for one of ${level} topics after the other`);
    const busyMs = processorMs(server.pid);
    const measuredMs = performance.now();
    const waited: number[] = [];
    const read: number[] = [];
    let late = 0;
    for (const [at, other] of alone.entries()) {
      const index = Math.floor((at * level) / alone.length);
      const beganMs = performance.now();
      await topics[index]!.publish();
      const storedMs = performance.now();
      const delivery = await waiting[index]!;
      waited.push(delivery.atMs - beganMs);
      late += lateOf([delivery], storedMs);
      const againMs = performance.now();
      await other.publish();
      read.push((await other.reader.read()).atMs - againMs);
      waiting[index] = quiet(topics[index]!.reader.wait(leaving.signal));
    }
    const load = ((processorMs(server.pid) ?? 0) - (busyMs ?? 0)) / (performance.now() - measuredMs);
    const ratio = medianOf(waited) / medianOf(read);
    const [p50, p99] = timesOf(waited);
    const memory = whole(residentMegabytes(server.pid) ?? 0);
    const files = openFiles(server.pid);
    rows.push([
      whole(level),
      p50!,
      p99!,
      timesOf(read)[0]!,
      ratio.toFixed(2),
      openSec.toFixed(1),
      load.toFixed(2),
      memory,
    ]);
    marks.push(ratioMark(`${whole(level)} topics`, ratio), wakeMark(`${whole(level)} topics`, late));
    const next = levels[levels.indexOf(level) + 1];
    if (next === undefined) break;
    const needed = Math.round(((files?.open ?? 0) / level) * next);
    // Busy with asking again: more of them would wait for the machine and not for events.
    const stop = isIdle ? undefined : "the server is busy all the time with waits that are asked again";
    const lacks = needed > (files?.most ?? Infinity) ? `they need ${needed} open files of ${files?.most}` : undefined;
    if ((stop ?? lacks) === undefined) continue;
    marks.push({ text: `${whole(TOPICS)} topics: ended before ${whole(next)}, ${stop ?? lacks}`, reached: false });
    break;
  }
  leaving.abort();
  const table: Table = {
    head: [
      "topics, a client waits at each",
      "p50 ms",
      "p99 ms",
      "publish and read, p50 ms",
      "ratio",
      "begun in s",
      "cores busy",
      "runtime MB",
      "open files",
    ],
    rows,
  };
  return { tables: [table], marks };
}

type Reader = ReturnType<typeof readerOf>;

async function openAll(plinth: Plinth, topic: string, readers: readonly Reader[], leaving?: AbortSignal) {
  const waiting: Promise<Delivery>[] = [];
  for (const some of inParts(readers, OPENED_AT_ONCE)) {
    waiting.push(...some.map(({ wait }) => quiet(wait(leaving))));
    await plinth.call("GET", topic, "");
  }
  return waiting;
}

/** A failure is reported by who awaits it, and not before. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Waits until the server has had little to do for a second. False: it is busy all the time. */
async function untilIdle({ pid }: Server): Promise<boolean> {
  const untilMs = performance.now() + WAIT_SEC * 1_000;
  for (let before = processorMs(pid); performance.now() < untilMs;) {
    await sleep(1_000);
    const now = processorMs(pid);
    if (before === undefined || now === undefined || now - before < IDLE_MS) return true;
    before = now;
  }
  return false;
}

/** Deliveries that came at the end of their wait, though the event had been there for long. */
const lateOf = (deliveries: readonly Delivery[], storedMs: number): number =>
  deliveries.filter(({ askedAtMs, atMs }) => {
    const endMs = askedAtMs + WAIT_SEC * 1_000;
    return atMs >= endMs && endMs - storedMs > LATE_MS;
  }).length;

const ratioMark = (where: string, ratio: number): StudyMark => ({
  text: `${where}, p50 of publish to delivery ÷ publish and read: ${ratio.toFixed(2)} (at most ${MOST_RATIO})`,
  reached: ratio <= MOST_RATIO,
});
const wakeMark = (where: string, late: number): StudyMark => ({
  text: `${where}: ${late} wake-ups lost (none)`,
  reached: late === 0,
});

const timesOf = (values: readonly number[]): string[] => {
  const sorted = Float64Array.from(values).sort();
  return [0.5, 0.99, 1].map((share) => percentile(sorted, share).toFixed(1));
};

function* inParts<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size);
}
