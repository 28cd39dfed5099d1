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

/** Clients on one topic, told apart by the names of their consumers. */
const CLIENTS = 1_000;
/** The number of named consumers that a reader may have on a topic. */
const NAMES = 100;
/** Topics with one client each. In a wave, `WAVE` of them have a client that waits at the same time. */
const TOPICS = 10_000;
const WAVE = 2_000;
/**
 * Our bound on the files that the runtime opens for a topic: three for each of two objects, and a connection, which
 * counts twice. A process may often open 20,000.
 */
const FILES_A_TOPIC = 9;
/** The number of topics of a wave that are timed. */
const SAMPLED = 50;
/** The time until an object that nobody calls has left memory and closed its files, which takes ten seconds. */
const ASLEEP_MS = 12_000;
/** With fewer topics the study only shows that it runs, and waits for nothing. */
const FEW = 500;
/** Reads that are opened at once, before the server must answer another request, so that it does not fall behind. */
const OPENED_AT_ONCE = 20;
/** A read that gets its event at the end of its wait, so long after the event was stored, was not woken. */
const LATE_MS = 5_000;
/** The most processor time in a second of a server that is idle but for waits that are asked again. */
const IDLE_MS = 500;

/**
 * Many reads that wait (`Prefer: wait=30`):
 *
 *   - one event for a thousand clients on one topic, next to the same event and then a read of each
 *   - ten thousand topics, 2,000 at a time with a client that waits: an event for each of them. Some are timed next to
 *     an event and then a read at a topic whose client reads every 30 s, so that its objects sleep as often
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
  // Each reader has its consumer beforehand, so that the two ways differ only in the wait.
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
    wakeMark(`${whole(clients)} clients on one topic`, judge(delivered, storedMs, Math.max(...readAll))),
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
  const make = async (name: string, count: number) => {
    const names = Array.from({ length: count }, (_, at) => `${name}-${at}`);
    for (const some of inParts(names, OPENED_AT_ONCE)) await Promise.all(some.map((one) => plinth.makeTopic(one)));
    return names.map(topicAt);
  };
  const total = Math.min(TOPICS, maxEvents);
  const most = openFiles(server.pid)?.most ?? Infinity;
  const size = Math.min(WAVE, total, Math.floor(most / FILES_A_TOPIC));
  const fallAsleep = () => (size < FEW ? Promise.resolve() : sleep(ASLEEP_MS));
  const rows: Record<string, string>[] = [];
  const marks: StudyMark[] = [];
  for (let before = 0; before < total; before += size) {
    const where = `topics ${whole(before + 1)} to ${whole(before + size)}`;
    progress(`crowd: makes ${where}`);
    const topics = await make(`one-of-many-${before}`, size);
    const alone = await make(`alone-${before}`, Math.min(SAMPLED, size));
    await fallAsleep();
    const emptyMegabytes = residentMegabytes(server.pid) ?? 0;

    progress(`crowd: clients begin to wait at ${where}`);
    const openedMs = performance.now();
    const polls = alone.map(({ reader }) => reader);
    const waiting = await openAll(plinth, `one-of-many-${before}-0`, topics.map(readerIn), polls);
    const openSec = (performance.now() - openedMs) / 1_000;
    await fallAsleep();
    const megabytes = residentMegabytes(server.pid) ?? 0;
    const files = openFiles(server.pid)?.open ?? 0;

    progress(`crowd: an event for some of ${where}, one after the other`);
    const waited: number[] = [];
    const read: number[] = [];
    let judged: Judged = { late: 0, told: 0, all: 0 };
    for (const [at, other] of alone.entries()) {
      const index = Math.floor((at * size) / alone.length);
      const beganMs = performance.now();
      await topics[index]!.publish();
      const storedMs = performance.now();
      const delivery = await waiting[index]!;
      waited.push(delivery.atMs - beganMs);
      judged = sumOf(judged, judge([delivery], storedMs));
      const againMs = performance.now();
      await other.publish();
      read.push((await other.reader.read()).atMs - againMs);
      waiting[index] = quiet(topics[index]!.reader.wait());
    }
    progress(`crowd: an event for each of ${where}`);
    const everyMs = performance.now();
    for (const some of inParts([...topics.entries()], OPENED_AT_ONCE)) {
      const stored = await Promise.all(some.map(async ([at, { publish }]) => (await publish(), [at] as const)));
      const storedMs = performance.now();
      for (const [at] of stored) judged = sumOf(judged, judge([await waiting[at]!], storedMs));
    }
    const ratio = medianOf(waited) / medianOf(read);
    const [p50 = "", p99 = ""] = timesOf(waited);
    rows.push({
      "topics that had an event": whole(before + size),
      "clients that wait": whole(size),
      "p50 ms": p50,
      "p99 ms": p99,
      "publish and read, p50 ms": timesOf(read)[0]!,
      ratio: ratio.toFixed(2),
      "begun in s": openSec.toFixed(1),
      "all had theirs in s": ((performance.now() - everyMs) / 1_000).toFixed(1),
      "KB a client": whole(Math.max(0, ((megabytes - emptyMegabytes) * 1_000) / size)),
      "runtime MB": whole(megabytes),
      "open files": whole(files),
    });
    marks.push(ratioMark(where, ratio), wakeMark(where, judged));
    await fallAsleep();
  }
  const table: Table = { head: Object.keys(rows[0]!), rows: rows.map((row) => Object.values(row)) };
  return { tables: [table], marks };
}

const readerIn = <T>({ reader }: { readonly reader: T }): T => reader;

type Reader = ReturnType<typeof readerOf>;

/** Opens the waiting reads of all readers. Meanwhile the readers of `polls` read without result, spread among them. */
async function openAll(plinth: Plinth, topic: string, readers: readonly Reader[], polls: readonly Reader[] = []) {
  const waiting: Promise<Delivery>[] = [];
  let polled = 0;
  for (const some of inParts(readers, OPENED_AT_ONCE)) {
    waiting.push(...some.map(({ wait }) => quiet(wait())));
    await plinth.call("GET", topic, "");
    for (; polled < (polls.length * waiting.length) / readers.length; polled++) await polls[polled]!.readNothing();
  }
  return waiting;
}

/** Marks a rejection as handled, since whoever awaits the promise later reports it. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** Waits until the server has had little to do for a second. Returns false if it stays busy. */
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

interface Judged {
  /** Deliveries that came at the end of their wait, long after the event was stored. */
  readonly late: number;
  /** Deliveries of which this can be told. */
  readonly told: number;
  readonly all: number;
}

/** Counts late deliveries. `slowMs`: the usual time of one. A wait that ended soon after its event tells nothing. */
function judge(deliveries: readonly Delivery[], storedMs: number, slowMs = 0): Judged {
  const endOf = ({ askedAtMs }: Delivery): number => askedAtMs + WAIT_SEC * 1_000;
  const told = deliveries.filter((one) => endOf(one) - storedMs > LATE_MS + slowMs);
  return { late: told.filter((one) => one.atMs >= endOf(one)).length, told: told.length, all: deliveries.length };
}

const sumOf = (one: Judged, other: Judged): Judged => ({
  late: one.late + other.late,
  told: one.told + other.told,
  all: one.all + other.all,
});

const ratioMark = (where: string, ratio: number): StudyMark => ({
  text: `${where}, p50 of publish to delivery ÷ publish and read: ${ratio.toFixed(2)} (at most ${MOST_RATIO})`,
  reached: ratio <= MOST_RATIO,
});
const wakeMark = (where: string, { late, told, all }: Judged): StudyMark => ({
  text: `${where}: ${whole(late)} wake-ups lost, of ${whole(told)} of ${whole(all)} that can be told (none, of some)`,
  reached: late === 0 && told > 0,
});

const timesOf = (values: readonly number[]): string[] => {
  const sorted = Float64Array.from(values).sort();
  return [0.5, 0.99, 1].map((share) => percentile(sorted, share).toFixed(1));
};

function* inParts<T>(all: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += size) yield all.slice(at, at + size);
}
