import type { Bench, Operation, Subject } from "./bench.ts";
import type { ServerModule } from "./server-module.ts";
import { BrokenAnswer } from "./connection.ts";
import { load, type Work } from "./load.ts";
import { bindTo, processorMs, type Cores } from "./machine.ts";
import { startServer, type Server } from "./server.ts";
import { makeStateDirs, type FileSystems } from "./state-dir.ts";
import { percentile } from "./statistics.ts";
import type { Finding, Study } from "./study.ts";

export interface RunOptions {
  /** The length of one measurement. */
  readonly seconds: number;
  readonly rounds: number;
  /** Clients of an operation that does not say how many. */
  readonly connections: number;
  /** Ids of operations and studies; undefined: all. */
  readonly only: readonly string[] | undefined;
  /** Subject ids; undefined: all. */
  readonly subjects: readonly string[] | undefined;
  /** The most events that a study stores. */
  readonly events: number;
  readonly cores: Cores | undefined;
  readonly stopping: AbortSignal;
  /** Shows the current step. */
  progress(line: string): void;
}

/** One measurement: one subject at one operation in one round. */
export interface Sample {
  readonly operation: string;
  readonly subject: string;
  readonly clients: number;
  readonly round: number;
  readonly requests: number;
  readonly requestsPerSec: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** By processor time of the server with all its processes; undefined if unknown. */
  readonly requestsPerCpuSec: number | undefined;
  /** Shares of one core, 0 to 1. They show which side was the limit. */
  readonly serverBusy: number | undefined;
  readonly generatorBusy: number;
}

export interface Outcome {
  readonly samples: readonly Sample[];
  readonly findings: readonly (Finding & Pick<Study, "id" | "label">)[];
  /** Subjects that took no part, and why. */
  readonly leftOut: readonly string[];
  readonly fileSystems: FileSystems;
}

interface Contestant {
  readonly subject: Subject;
  readonly server: Server;
  readonly works: Readonly<Record<string, () => Promise<Work>>>;
}

/** Warm-up before a subject's first measurement of an operation, and before each one, so that hot code is compiled. */
const WARM_UP = { firstShare: 0.5, firstMaxMs: 2_000, eachShare: 0.1, eachMaxMs: 300 } as const;

/**
 * Starts the servers, then measures operation by operation. Each round measures every subject once; every second round
 * runs backwards, so that a slow phase of the machine affects all subjects. Stops the servers at the end.
 */
export async function runBench(bench: Bench, options: RunOptions): Promise<Outcome> {
  const { cores, only, stopping, progress } = options;
  const dirs = makeStateDirs();
  const servers = new Map<ServerModule, Server>();
  const serverOf = async (module: ServerModule): Promise<Server> => {
    const server = servers.get(module) ?? (await startServer(module, dirs.of(module), cores?.servers, stopping));
    servers.set(module, server);
    return server;
  };
  const isAsked = ({ id }: { readonly id: string }): boolean => only?.includes(id) !== false;
  if (cores !== undefined) bindTo(cores.generator);
  try {
    const operations = bench.operations.filter(isAsked);
    const contestants: Contestant[] = [];
    const leftOut: string[] = [];
    for (const subject of operations.length === 0 ? [] : bench.subjects) {
      if (options.subjects?.includes(subject.id) === false) continue;
      const why = subject.server.absent?.();
      if (why !== undefined) {
        leftOut.push(`${subject.label} is left out: ${why}.`);
        continue;
      }
      progress(`setting up ${subject.label}`);
      const server = await serverOf(subject.server);
      contestants.push({ subject, server, works: await subject.setUp(server, options) });
    }
    const samples: Sample[] = [];
    for (const operation of operations) samples.push(...(await compare(operation, contestants, options)));
    const findings: Outcome["findings"][number][] = [];
    for (const study of bench.studies?.filter(isAsked) ?? []) {
      const { id, label } = study;
      const context = { ...options, serverOf, maxEvents: options.events };
      const finding = await orBroken(label, stopping, () => study.run(context));
      findings.push({ id, label, ...finding });
    }
    return { samples, findings, leftOut, fileSystems: dirs.fileSystems };
  } finally {
    await Promise.all(Array.from(servers.values(), (server) => server.stop()));
    dirs.remove();
  }
}

async function compare(
  operation: Operation,
  contestants: readonly Contestant[],
  options: RunOptions,
): Promise<Sample[]> {
  const taking = contestants.filter(({ works }) => works[operation.id] !== undefined);
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
  const { answered, serverMs, generatorMs } = await send(one, operation, options.seconds * 1_000, options);
  const { requests, elapsedMs, latenciesMs } = answered;
  return {
    operation: operation.id,
    subject: one.subject.id,
    clients: operation.clients ?? options.connections,
    requests,
    requestsPerSec: (requests * 1_000) / elapsedMs,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    requestsPerCpuSec: serverMs === undefined || serverMs === 0 ? undefined : (requests * 1_000) / serverMs,
    serverBusy: serverMs === undefined ? undefined : serverMs / elapsedMs,
    generatorBusy: generatorMs / elapsedMs,
  };
}

/** Sends load for a time; returns the answers and the processor time of server and load generator. */
function send(one: Contestant, operation: Operation, durationMs: number, { connections, stopping }: RunOptions) {
  return orBroken(`${operation.label}, ${one.subject.label}`, stopping, async () => {
    const work = await one.works[operation.id]!();
    const generatorBefore = process.cpuUsage();
    const before = processorMs(one.server.pid);
    const answered = await load(work, { clients: operation.clients ?? connections, durationMs, stopping });
    const after = processorMs(one.server.pid);
    const generator = process.cpuUsage(generatorBefore);
    const serverMs = before === undefined || after === undefined ? undefined : after - before;
    return { answered, serverMs, generatorMs: (generator.user + generator.system) / 1_000 };
  });
}

/** Adds the place to an error. An error caused by stopping is passed on. */
async function orBroken<T>(where: string, stopping: AbortSignal, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    stopping.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    throw new BrokenAnswer(`${where}: ${message}`, { cause: error });
  }
}
