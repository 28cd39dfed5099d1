import type { Bench, Level, Measure, Ratio } from "./bench.ts";
import type { Machine } from "./machine.ts";
import type { Outcome, RunOptions, Sample } from "./run.ts";
import { figure, times, type Figure } from "./statistics.ts";

/** A bench's result over its rounds; `--json` prints it. */
export interface Report {
  readonly bench: string;
  readonly machine: Machine;
  readonly seconds: number;
  readonly rounds: number;
  readonly connections: number;
  readonly fileSystems: Outcome["fileSystems"];
  readonly results: readonly Result[];
  readonly ratios: readonly RatioResult[];
  readonly levels: readonly LevelResult[];
  readonly findings: Outcome["findings"];
  readonly leftOut: readonly string[];
}

export interface Result {
  readonly operation: string;
  readonly subject: string;
  readonly clients: number;
  readonly requests: number;
  readonly requestsPerSec: Figure;
  readonly p50Ms: Figure;
  readonly p99Ms: Figure;
  readonly requestsPerCpuSec: Figure | undefined;
  readonly cpuMicrosPerRequest: number | undefined;
  readonly serverBusy: number | undefined;
  readonly generatorBusy: number;
}

export interface RatioResult {
  readonly operation: string;
  readonly of: string;
  readonly to: string;
  /** Ratios of measurements in the same round. */
  readonly requestsPerSec: Figure;
  readonly requestsPerCpuSec: Figure | undefined;
  readonly mark: { readonly measure: Measure; readonly atLeast: number; readonly reached: boolean } | undefined;
}

export interface LevelResult extends Level {
  readonly eventsPerSec: Figure;
  readonly reached: boolean;
}

export function makeReport(
  name: string,
  bench: Bench,
  machine: Machine,
  { seconds, rounds, connections }: Pick<RunOptions, "seconds" | "rounds" | "connections">,
  { samples, findings, leftOut, fileSystems }: Outcome,
): Report {
  const results = bench.operations.flatMap((operation) =>
    bench.subjects.flatMap((subject) => {
      const own = samplesOf(samples, operation.id, subject.id);
      return own.length === 0 ? [] : [summarize(own)];
    }),
  );
  const ratios = bench.ratios.flatMap((ratio) => compareRounds(ratio, samples) ?? []);
  const levels = (bench.levels ?? []).flatMap((level) => measureLevel(level, bench, results) ?? []);
  const how = { bench: name, machine, seconds, rounds, connections, fileSystems };
  return { ...how, results, ratios, levels, findings, leftOut };
}

const samplesOf = (samples: readonly Sample[], operation: string, subject: string): Sample[] =>
  samples.filter((sample) => sample.operation === operation && sample.subject === subject);

function summarize(samples: readonly Sample[]): Result {
  const [{ operation, subject, clients }] = samples as [Sample];
  const of = (pick: (sample: Sample) => number | undefined) => figure(samples.map(pick));
  const requestsPerCpuSec = of((sample) => sample.requestsPerCpuSec);
  return {
    operation,
    subject,
    clients,
    requests: samples.reduce((sum, sample) => sum + sample.requests, 0),
    requestsPerSec: of((sample) => sample.requestsPerSec)!,
    p50Ms: of((sample) => sample.p50Ms)!,
    p99Ms: of((sample) => sample.p99Ms)!,
    requestsPerCpuSec,
    cpuMicrosPerRequest: requestsPerCpuSec === undefined ? undefined : 1_000_000 / requestsPerCpuSec.median,
    serverBusy: of((sample) => sample.serverBusy)?.median,
    generatorBusy: of((sample) => sample.generatorBusy)!.median,
  };
}

/** Compares within a round, so that a slow minute of the machine affects both. */
function compareRounds({ operation, of, to, mark }: Ratio, samples: readonly Sample[]): RatioResult | undefined {
  const left = samplesOf(samples, operation, of);
  const right = samplesOf(samples, operation, to);
  const by = (measure: Measure) =>
    figure(
      left.map((sample) => {
        const above = sample[measure];
        const below = right.find(({ round }) => round === sample.round)?.[measure];
        return above === undefined || below === undefined ? undefined : above / below;
      }),
    );
  const requestsPerSec = by("requestsPerSec");
  if (requestsPerSec === undefined) return undefined;
  const requestsPerCpuSec = by("requestsPerCpuSec");
  const value = { requestsPerSec, requestsPerCpuSec }[mark?.measure ?? "requestsPerSec"];
  return {
    operation,
    of,
    to,
    requestsPerSec,
    requestsPerCpuSec,
    mark: mark === undefined || value === undefined ? undefined : { ...mark, reached: value.median >= mark.atLeast },
  };
}

function measureLevel(level: Level, bench: Bench, results: readonly Result[]): LevelResult | undefined {
  const { operation, subject, eventsPerSecAtLeast } = level;
  const result = results.find((one) => one.operation === operation && one.subject === subject);
  if (result === undefined) return undefined;
  const eventsPerSec = times(result.requestsPerSec, eventsOf(operation, bench));
  return { ...level, eventsPerSec, reached: eventsPerSec.median >= eventsPerSecAtLeast };
}

/** Events that one request of an operation moves. */
export const eventsOf = (operation: string, bench: Bench): number =>
  bench.operations.find(({ id }) => id === operation)?.events ?? 1;
