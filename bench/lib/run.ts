import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Bench, Operation, ServerModule, Subject } from "./bench.ts";
import type { Exchange } from "./exchange.ts";
import { BrokenAnswer, load } from "./load.ts";
import { bindTo, processorMs, type Cores } from "./processor.ts";
import { startServer, type Server } from "./server.ts";
import { percentile } from "./statistics.ts";

export interface RunOptions {
  /** Of one measurement. */
  readonly seconds: number;
  readonly rounds: number;
  readonly connections: number;
  /** Operation ids; undefined: all. */
  readonly only: readonly string[] | undefined;
  readonly cores: Cores | undefined;
  readonly stopping: AbortSignal;
  /** Told what is being done. */
  progress(line: string): void;
}

/** One measurement: one subject at one operation in one round. */
export interface Sample {
  readonly operation: string;
  readonly subject: string;
  readonly round: number;
  readonly requests: number;
  readonly requestsPerSec: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of the server with all of its processes. Undefined where it cannot be known. */
  readonly requestsPerCpuSec: number | undefined;
  /** Of one core, 0 to 1: which of the two was the limit. */
  readonly serverBusy: number | undefined;
  readonly generatorBusy: number;
}

interface Contestant {
  readonly subject: Subject;
  readonly server: Server;
  readonly exchanges: Readonly<Record<string, () => Promise<Exchange>>>;
}

/** Before a subject's first measurement of an operation, and before each: code that runs often is compiled by then. */
const WARM_UP = { firstShare: 0.5, firstMaxMs: 2_000, eachShare: 0.1, eachMaxMs: 300 } as const;
const MEMORY_DIR_BYTES = 2 ** 30;

/**
 * Starts every server, then takes the operations one by one: rounds of one measurement a subject, in turn and every
 * second round backwards, so that whatever slows the machine for a while slows all of them. The servers end with it.
 */
export async function runBench(bench: Bench, options: RunOptions): Promise<Sample[]> {
  const { cores, only, stopping, progress } = options;
  const scratchDir = mkdtempSync(join(memoryDir(), "plinth-bench-"));
  const contestants: Contestant[] = [];
  const servers = new Map<ServerModule, Server>();
  if (cores !== undefined) bindTo(cores.generator);
  try {
    for (const subject of bench.subjects) {
      progress(`setting up ${subject.label}`);
      const server =
        servers.get(subject.server) ?? (await startServer(subject.server, scratchDir, cores?.servers, stopping));
      servers.set(subject.server, server);
      contestants.push({ subject, server, exchanges: await subject.setUp(server) });
    }
    const samples: Sample[] = [];
    for (const operation of bench.operations)
      if (only?.includes(operation.id) !== false) samples.push(...(await compare(operation, contestants, options)));
    return samples;
  } finally {
    await Promise.all(Array.from(servers.values(), (server) => server.stop()));
    rmSync(scratchDir, { recursive: true, force: true });
  }
}

async function compare(
  operation: Operation,
  contestants: readonly Contestant[],
  options: RunOptions,
): Promise<Sample[]> {
  const taking = contestants.filter(({ exchanges }) => exchanges[operation.id] !== undefined);
  const { rounds, seconds, progress } = options;
  const samples: Sample[] = [];
  for (const one of taking) {
    progress(`${operation.label}: warming up ${one.subject.label}`);
    await send(one, operation, Math.min(WARM_UP.firstMaxMs, seconds * 1_000 * WARM_UP.firstShare), options);
  }
  for (let round = 0; round < rounds; round++) {
    for (const one of round % 2 === 0 ? taking : taking.toReversed()) {
      progress(`${operation.label}: round ${round + 1} of ${rounds}, ${one.subject.label}`);
      await send(one, operation, Math.min(WARM_UP.eachMaxMs, seconds * 1_000 * WARM_UP.eachShare), options);
      samples.push({ ...(await measure(one, operation, options)), round });
    }
  }
  return samples;
}

async function measure(one: Contestant, operation: Operation, options: RunOptions): Promise<Omit<Sample, "round">> {
  const { pid } = one.server;
  const generatorBefore = process.cpuUsage();
  const before = processorMs(pid);
  const { requests, elapsedMs, latenciesMs } = await send(one, operation, options.seconds * 1_000, options);
  const after = processorMs(pid);
  const generator = process.cpuUsage(generatorBefore);
  const serverMs = before === undefined || after === undefined ? undefined : after - before;
  return {
    operation: operation.id,
    subject: one.subject.id,
    requests,
    requestsPerSec: (requests * 1_000) / elapsedMs,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    requestsPerCpuSec: serverMs === undefined || serverMs === 0 ? undefined : (requests * 1_000) / serverMs,
    serverBusy: serverMs === undefined ? undefined : serverMs / elapsedMs,
    generatorBusy: (generator.user + generator.system) / 1_000 / elapsedMs,
  };
}

async function send(one: Contestant, operation: Operation, durationMs: number, options: RunOptions) {
  const { host, port } = one.server;
  const { connections, stopping } = options;
  try {
    const exchange = await one.exchanges[operation.id]!();
    return await load(exchange, { host, port, durationMs, connections, stopping });
  } catch (error) {
    stopping.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    throw new BrokenAnswer(`${operation.label}, ${one.subject.label}: ${message}`, { cause: error });
  }
}

/** State lies in memory where it can: a bench of tokens is no bench of a disk. */
function memoryDir(): string {
  try {
    const { bavail, bsize } = statfsSync("/dev/shm");
    if (bavail * bsize >= MEMORY_DIR_BYTES) return "/dev/shm";
  } catch {}
  return tmpdir();
}
