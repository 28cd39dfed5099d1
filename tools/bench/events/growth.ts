import { Connection } from "../lib/connection.ts";
import { askFor, requestBytes } from "../lib/exchange.ts";
import { sample } from "../lib/load.ts";
import { whole } from "../lib/statistics.ts";
import type { Study, StudyMark, Table } from "../lib/study.ts";
import { HttpConsumer, type Place, type Reader } from "./consume.ts";
import { GrowingLog } from "./growing-log.ts";
import { BATCH } from "./payload.ts";
import { PLINTH_ON_DISK } from "../lib/server-module.ts";
import { openPlinth } from "./plinth.ts";

const FIRST_SIZE = 10;
/** From this size on, a full batch follows every place. */
const FULL_SIZE = 1_000;
/** Medians vary by some tenths between minutes. A cost that grows with the log would differ by much more. */
const MAX_GROWTH = 1.5;
const SPOTS = ["beginning", "middle", "end"] as const;
type Spot = (typeof SPOTS)[number];

interface Operation {
  readonly label: string;
  readonly events: number;
  /** Makes the operation, and the step before each measurement. */
  open(log: GrowingLog, reader: Reader, spot: Spot, size: number, events: number): Promise<Measurable>;
}

interface Measurable {
  prepare(): Promise<void>;
  run(): Promise<void>;
  close(): void;
}

const OPERATIONS: readonly Operation[] = [
  { label: "read and commit 1", events: 1, open: openRead },
  { label: `read and commit ${BATCH}`, events: BATCH, open: openRead },
  { label: "look at 1", events: 1, open: openLook },
  { label: `look at ${BATCH}`, events: BATCH, open: openLook },
];

/**
 * Grows one topic tenfold at each step. At each size, one client seeks to a spot, then reads and commits; read and
 * commit are timed. A seek empties the memory, so every read asks the log, which is the most expensive read. Peeking
 * is measured the same way.
 */
export const growthStudy: Study = {
  id: "growth",
  label: "The cost of a read while the log grows",
  async run(context) {
    const server = await context.serverOf(PLINTH_ON_DISK);
    const plinth = await openPlinth(server);
    const log = await GrowingLog.open(plinth, server, "growing");
    const [reader] = await plinth.readers(log.topic);
    const sizes = sizesUpTo(context.maxEvents);
    const measured: Measured[] = [];
    for (const size of sizes) {
      context.progress(`a log of ${whole(size)} events`);
      await log.growTo(size, context.stopping);
      for (const operation of OPERATIONS)
        for (const spot of SPOTS) {
          const measurable = await operation.open(log, reader!, spot, size, operation.events);
          const times = await sample(context, measurable.run, measurable.prepare).finally(measurable.close);
          measured.push({ size, operation, spot, ...times });
        }
    }
    return {
      tables: OPERATIONS.map((operation) => tableOf(operation, sizes, measured)),
      marks: OPERATIONS.flatMap((operation) => markOf(operation, measured) ?? []),
    };
  },
};

function sizesUpTo(max: number): number[] {
  const sizes: number[] = [];
  for (let size = FIRST_SIZE; size <= max; size *= 10) sizes.push(size);
  return sizes;
}

async function openRead(log: GrowingLog, reader: Reader, spot: Spot, size: number, events: number) {
  const consumer = await HttpConsumer.open(reader, events);
  const place: Place = spot === "beginning" ? "oldest" : await log.timeBehind(idAt(log, spot, size, events));
  return {
    prepare: () => consumer.seek(place),
    run: () => consumer.step(),
    close: () => consumer.close(),
  };
}

async function openLook(
  log: GrowingLog,
  { host, port, paths, headers }: Reader,
  spot: Spot,
  size: number,
  events: number,
) {
  const after = spot === "beginning" ? "" : `&after=${idAt(log, spot, size, events)}`;
  const path = `${paths.events}?limit=${events}${after}`;
  const request = requestBytes({ method: "GET", path, host: `${host}:${port}`, headers });
  const connection = await Connection.open({ host, port });
  return {
    prepare: async () => {},
    run: async () => void (await askFor(200, connection, request)),
    close: () => connection.close(),
  };
}

const idAt = (log: GrowingLog, spot: Exclude<Spot, "beginning">, size: number, events: number): string =>
  log.idAt(spot === "middle" ? size / 2 : events);

interface Measured {
  readonly size: number;
  readonly operation: Operation;
  readonly spot: Spot;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

function tableOf(operation: Operation, sizes: readonly number[], measured: readonly Measured[]): Table {
  const cells = (size: number): string[] =>
    SPOTS.flatMap((spot) => {
      const { p50Ms, p99Ms } = find(measured, operation, spot, size)!;
      return [p50Ms.toFixed(2), p99Ms.toFixed(2)];
    });
  return {
    head: [`${operation.label}, ms`, ...SPOTS.flatMap((spot) => [`${spot} p50`, "p99"])],
    rows: sizes.map((size) => [`${whole(size)} events stored`, ...cells(size)]),
  };
}

function markOf(operation: Operation, measured: readonly Measured[]): StudyMark | undefined {
  const from = operation.events === 1 ? FIRST_SIZE : FULL_SIZE;
  const to = Math.max(...measured.map(({ size }) => size));
  if (to <= from) return undefined;
  const growth = SPOTS.map((spot) => {
    const [before, after] = [from, to].map((size) => find(measured, operation, spot, size)!.p50Ms) as [number, number];
    return after / before;
  });
  const each = SPOTS.map((spot, index) => `${growth[index]!.toFixed(2)} at the ${spot}`).join(", ");
  return {
    text: `${operation.label}, ${whole(to)} events stored to ${whole(from)}: ${each}; mark: at most ${MAX_GROWTH}`,
    reached: Math.max(...growth) <= MAX_GROWTH,
  };
}

const find = (measured: readonly Measured[], operation: Operation, spot: Spot, size: number): Measured | undefined =>
  measured.find((one) => one.operation === operation && one.spot === spot && one.size === size);
