import { paint } from "../../scripts/lib/terminal.ts";
import type { Bench, Measure } from "./bench.ts";
import type { RatioResult, Report, Result } from "./report.ts";
import type { Figure } from "./statistics.ts";

/** A load generator that is busier than this may itself be the limit. */
const GENERATOR_MAX_BUSY = 0.9;
/** Load of the minute before, beyond which absolute numbers say little. */
const QUIET_LOAD = 0.3;

const COLUMNS = ["", "requests/s", "p50 ms", "p99 ms", "CPU µs/request", "requests/CPU s"] as const;

/** The report for a terminal. */
export function renderText(report: Report, bench: Bench): string {
  const rows = bench.operations.flatMap(({ id, label }) => {
    const own = report.results.filter((result) => result.operation === id);
    return own.length === 0 ? [] : [[label], ...own.map((result) => cells(result, bench))];
  });
  const ratios = report.ratios.map((ratio) => {
    const reached = ratio.mark?.reached;
    const verdict = markOf(ratio);
    return `  ${ratioText(ratio, bench)}${reached === undefined ? "" : (reached ? paint.green : paint.red)(verdict)}`;
  });
  return [
    paint.bold(headline(report)),
    "",
    ...align([[...COLUMNS], ...rows]),
    "",
    ...ratios,
    "",
    ...notes(report).map((note) => paint.yellow(note)),
    ...bench.notes,
  ].join("\n");
}

/** The report as a section for docs/benchmarks.md. */
export function renderMarkdown(report: Report, bench: Bench): string {
  const line = (row: readonly string[]): string => `| ${row.join(" | ")} |`;
  const tables = bench.operations.flatMap(({ id, label }) => {
    const own = report.results.filter((result) => result.operation === id);
    if (own.length === 0) return [];
    const head = [label, ...COLUMNS.slice(1)];
    const rows = own.map((result) => line(cells(result, bench)));
    return [line(head), line(head.map((_, index) => (index === 0 ? "---" : "---:"))), ...rows, ""];
  });
  const ratios = report.ratios.map((ratio) => `- ${ratioText(ratio, bench)}${markOf(ratio)}`);
  return (
    [`${headline(report)}.`, "", ...tables, ...ratios, "", [...bench.notes, ...notes(report)].join(" "), ""]
      .join("\n")
      .trimEnd() + "\n"
  );
}

function headline({ machine, seconds, rounds, connections }: Report): string {
  const { processor, cores, memoryGiB, system, node, bound } = machine;
  const where = bound === undefined ? "not bound to cores" : "servers on one core, load generator on another";
  return (
    `${processor}, ${cores} cores, ${memoryGiB} GiB, ${system}, Node ${node}; ${where}; ` +
    `${connections} connections, ${rounds} × ${seconds} s, median (lowest to highest)`
  );
}

function cells(result: Result, bench: Bench): string[] {
  const { requestsPerSec, p50Ms, p99Ms, requestsPerCpuSec, cpuMicrosPerRequest } = result;
  return [
    labelOf(result.subject, bench),
    spread(requestsPerSec, whole),
    p50Ms.median.toFixed(2),
    p99Ms.median.toFixed(2),
    cpuMicrosPerRequest === undefined ? "–" : whole(cpuMicrosPerRequest),
    requestsPerCpuSec === undefined ? "–" : spread(requestsPerCpuSec, whole),
  ];
}

function ratioText({ operation, of, to, requestsPerSec, requestsPerCpuSec }: RatioResult, bench: Bench): string {
  const what = bench.operations.find(({ id }) => id === operation)?.label ?? operation;
  const cpu = requestsPerCpuSec === undefined ? "" : `, per CPU second ${spread(requestsPerCpuSec, twoDigits)}`;
  return `${what}, ${labelOf(of, bench)} to ${labelOf(to, bench)}: ${spread(requestsPerSec, twoDigits)}${cpu}`;
}

const MEASURES: Readonly<Record<Measure, string>> = {
  requestsPerSec: "requests/s",
  requestsPerCpuSec: "requests per CPU second",
};

function markOf({ mark }: RatioResult): string {
  if (mark === undefined) return "";
  return `; mark: at least ${twoDigits(mark.atLeast)} in ${MEASURES[mark.measure]}, ${mark.reached ? "reached" : "missed"}`;
}

/** What makes the numbers less than they seem. */
function notes({ machine, results }: Report): string[] {
  const found: string[] = [];
  if (machine.loadBefore > QUIET_LOAD)
    found.push(`The machine was busy (load ${machine.loadBefore}): compare by the ratios alone.`);
  for (const { operation, subject, generatorBusy } of results)
    if (generatorBusy > GENERATOR_MAX_BUSY)
      found.push(`The load generator was ${percent(generatorBusy)} busy at ${operation} of ${subject}.`);
  const busiest = Math.max(...results.map((result) => result.generatorBusy));
  return [...found, `The load generator used at most ${percent(busiest)} of its core.`];
}

const labelOf = (subject: string, bench: Bench): string =>
  bench.subjects.find(({ id }) => id === subject)?.label ?? subject;

const spread = ({ median, min, max }: Figure, format: (value: number) => string): string =>
  `${format(median)} (${format(min)}–${format(max)})`;

const whole = (value: number): string => Math.round(value).toLocaleString("en");
const twoDigits = (value: number): string => value.toFixed(2);
const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** Columns under each other: the first to the left, numbers to the right. A row of one cell is a heading. */
function align(rows: readonly (readonly string[])[]): string[] {
  const widths = COLUMNS.map((_, index) =>
    Math.max(...rows.filter((row) => row.length > 1).map((row) => row[index]?.length ?? 0)),
  );
  return rows.map((row) => {
    if (row.length === 1) return paint.bold(row[0] ?? "");
    const [first = "", ...rest] = row;
    const numbers = rest.map((cell, index) => cell.padStart(widths[index + 1] ?? 0));
    return `  ${[first.padEnd(widths[0] ?? 0), ...numbers].join("  ")}`;
  });
}
