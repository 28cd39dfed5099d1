import { percentile } from "./statistics.ts";

/** Work for the load generator: clients that send the next request as soon as they have the answer. */
export interface Work {
  /** Adds a client with a connection of its own; they are counted from 0. */
  connect(client: number): Promise<Client>;
}

export interface Client {
  /** Does the measured operation once: a request, or several that belong together. Throws on a wrong answer. */
  step(): Promise<unknown>;
  /** Also ends a step that is under way. */
  close(): unknown;
}

export interface Load {
  readonly clients: number;
  readonly durationMs: number;
  readonly stopping: AbortSignal;
}

export interface Answered {
  readonly requests: number;
  readonly elapsedMs: number;
  /** One for each request, sorted. */
  readonly latenciesMs: Float64Array;
}

/** Loads a server for a time; each client does at least one step. */
export function load(work: Work, { clients, durationMs, stopping }: Load): Promise<Answered> {
  return drive(work, clients, stopping, (elapsedMs) => elapsedMs < durationMs);
}

/** Does the work a number of times with one client. */
export function repeat(work: Work, times: number, stopping: AbortSignal): Promise<Answered> {
  let left = times;
  return drive(work, 1, stopping, () => --left > 0);
}

async function drive(
  work: Work,
  clients: number,
  stopping: AbortSignal,
  goesOn: (elapsedMs: number) => boolean,
): Promise<Answered> {
  stopping.throwIfAborted();
  const connected = await connectAll(work, clients);
  const close = (): unknown => Promise.all(connected.map((client) => client.close()));
  stopping.addEventListener("abort", close);
  const latenciesMs: number[] = [];
  const startedMs = performance.now();
  const go = async (client: Client): Promise<void> => {
    for (let beforeMs = startedMs; ;) {
      await client.step();
      const nowMs = performance.now();
      latenciesMs.push(nowMs - beforeMs);
      if (!goesOn(nowMs - startedMs)) return;
      beforeMs = nowMs;
    }
  };
  try {
    await Promise.all(connected.map(go));
    const elapsedMs = performance.now() - startedMs;
    return { requests: latenciesMs.length, elapsedMs, latenciesMs: Float64Array.from(latenciesMs).sort() };
  } finally {
    stopping.removeEventListener("abort", close);
    await close();
  }
}

async function connectAll(work: Work, clients: number): Promise<Client[]> {
  const attempts = await Promise.allSettled(Array.from({ length: clients }, (_, client) => work.connect(client)));
  const connected = attempts.flatMap((attempt) => (attempt.status === "fulfilled" ? [attempt.value] : []));
  const failed = attempts.find((attempt) => attempt.status === "rejected");
  if (failed === undefined) return connected;
  for (const client of connected) await client.close();
  throw failed.reason;
}

const SAMPLES_A_SECOND = 100;
const WARM_UP_SHARE = 0.1;

/**
 * Times an operation repeatedly, after a tenth as many runs to warm up. `prepare` comes before each and is not timed.
 */
export async function sample(
  { seconds, stopping }: { readonly seconds: number; readonly stopping: AbortSignal },
  run: () => Promise<void>,
  prepare: () => Promise<void> = async () => {},
): Promise<{ readonly p50Ms: number; readonly p99Ms: number }> {
  const samples = Math.ceil(seconds * SAMPLES_A_SECOND);
  const latenciesMs: number[] = [];
  for (let index = -Math.ceil(samples * WARM_UP_SHARE); index < samples; index++) {
    stopping.throwIfAborted();
    await prepare();
    const startedMs = performance.now();
    await run();
    if (index >= 0) latenciesMs.push(performance.now() - startedMs);
  }
  const sorted = Float64Array.from(latenciesMs).sort();
  return { p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) };
}
