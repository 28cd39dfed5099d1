import type { Bench, Measure, Operation } from "./bench.ts";
import type { LevelResult, RatioResult, Report, Result } from "./report.ts";
import { spread, times, whole } from "./statistics.ts";
import type { Table } from "./study.ts";

/** A busier load generator may itself be the limit. */
const GENERATOR_MAX_BUSY = 0.9;
/** Above this load, absolute numbers mean little. */
const QUIET_LOAD = 0.3;

/** The report as Markdown with padded columns, which reads well in a terminal too. */
export function renderMarkdown(report: Report, bench: Bench): string {
  const parts = sections(report, bench).flatMap(({ heading, tables, lines }) => [
    ...(heading === undefined ? [] : [`### ${heading}`]),
    ...tables.map(renderTable),
    ...(lines.length === 0 ? [] : [lines.map(renderLine).join("\n")]),
  ]);
  const notes = [...bench.notes, ...remarks(report)].join(" ");
  return `${[`${headline(report, bench)}.`, ...parts, notes].join("\n\n").trimEnd()}\n`;
}

const renderLine = ({ text, reached }: Line): string =>
  `- ${text}${reached === undefined ? "" : reached ? ", reached" : ", missed"}`;

function renderTable({ head, rows }: Table): string {
  const widths = head.map((_, column) => Math.max(4, ...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join(" | ")} |`;
  const rule = widths.map((width, at) => (at === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

function headline({ machine, seconds, rounds, connections, fileSystems }: Report, { operations }: Bench): string {
  const { processor, cores, memoryGiB, system, node, bound } = machine;
  const where = bound === undefined ? "not bound to cores" : "servers on one core, load generator on another";
  const how = `${connections} connections unless told, ${rounds} × ${seconds} s, median (lowest to highest)`;
  const load = operations.length === 0 ? "" : `; ${how}`;
  return (
    `${processor}, ${cores} cores, ${memoryGiB} GiB, ${system}, Node ${node}; ${where}; disk: ${fileSystems.disk}` +
    load
  );
}

interface Section {
  readonly heading: string | undefined;
  readonly tables: readonly Table[];
  readonly lines: readonly Line[];
}

interface Line {
  readonly text: string;
  readonly reached: boolean | undefined;
}

function sections(report: Report, bench: Bench): Section[] {
  const tables = bench.operations.flatMap((operation) => {
    const own = report.results.filter((result) => result.operation === operation.id);
    return own.length === 0 ? [] : [tableOf(operation, own, bench)];
  });
  const lines = [
    ...report.levels.map((level) => levelLine(level, bench)),
    ...report.ratios.map((ratio) => ratioLine(ratio, bench)),
  ];
  return [
    ...(tables.length === 0 ? [] : [{ heading: undefined, tables, lines }]),
    ...report.findings.map(({ label, tables: own, marks }) => ({ heading: label, tables: own, lines: marks })),
  ];
}

function tableOf({ label, events }: Operation, results: readonly Result[], bench: Bench): Table {
  const moved = events === undefined ? [] : ["events/s"];
  return {
    head: [label, "requests/s", ...moved, "p50 ms", "p99 ms", "CPU µs/request", "requests/CPU s"],
    rows: results.map(({ subject, requestsPerSec, p50Ms, p99Ms, requestsPerCpuSec, cpuMicrosPerRequest }) => [
      labelOf(subject, bench),
      spread(requestsPerSec, whole),
      ...moved.map(() => spread(times(requestsPerSec, events ?? 1), whole)),
      p50Ms.median.toFixed(2),
      p99Ms.median.toFixed(2),
      cpuMicrosPerRequest === undefined ? "–" : whole(cpuMicrosPerRequest),
      requestsPerCpuSec === undefined ? "–" : spread(requestsPerCpuSec, whole),
    ]),
  };
}

const MEASURES: Readonly<Record<Measure, string>> = {
  requestsPerSec: "requests/s",
  requestsPerCpuSec: "requests per CPU second",
};

function ratioLine({ operation, of, to, requestsPerSec, requestsPerCpuSec, mark }: RatioResult, bench: Bench): Line {
  const cpu = requestsPerCpuSec === undefined ? "" : `, per CPU second ${spread(requestsPerCpuSec, twoDigits)}`;
  const asked = mark === undefined ? "" : `; mark: at least ${twoDigits(mark.atLeast)} in ${MEASURES[mark.measure]}`;
  const who = `${labelOf(of, bench)} to ${labelOf(to, bench)}`;
  const text = `${operationLabel(operation, bench)}, ${who}: ${spread(requestsPerSec, twoDigits)}${cpu}${asked}`;
  return { text, reached: mark?.reached };
}

function levelLine(
  { operation, subject, eventsPerSec, eventsPerSecAtLeast, reached }: LevelResult,
  bench: Bench,
): Line {
  const who = `${operationLabel(operation, bench)}, ${labelOf(subject, bench)}`;
  return {
    text: `${who}: ${spread(eventsPerSec, whole)} events/s; mark: at least ${whole(eventsPerSecAtLeast)}`,
    reached,
  };
}

/** Facts that weaken the numbers. */
function remarks({ machine, results, leftOut }: Report): string[] {
  const found: string[] = [...leftOut];
  if (machine.loadBefore > QUIET_LOAD)
    found.push(`The machine was busy (load ${machine.loadBefore}): compare by the ratios alone.`);
  for (const { operation, subject, generatorBusy } of results)
    if (generatorBusy > GENERATOR_MAX_BUSY)
      found.push(`The load generator was ${percent(generatorBusy)} busy at ${operation} of ${subject}.`);
  if (results.length === 0) return found;
  const busiest = Math.max(...results.map((result) => result.generatorBusy));
  return [...found, `The load generator used at most ${percent(busiest)} of its core.`];
}

const labelOf = (subject: string, bench: Bench): string =>
  bench.subjects.find(({ id }) => id === subject)?.label ?? subject;

const operationLabel = (operation: string, bench: Bench): string =>
  bench.operations.find(({ id }) => id === operation)?.label ?? operation;

const twoDigits = (value: number): string => value.toFixed(2);
const percent = (share: number): string => `${Math.round(share * 100)} %`;
