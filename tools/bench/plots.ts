import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/lib/root.ts";

/**
 * Draws docs/benchmarks/<service>.svg from docs/benchmarks/data/<service>.csv: `node tools/bench/plots.ts`.
 * The bars of an operation share a scale, from 0 to the fastest subject. Colours follow the reader's light or dark
 * mode.
 */
export const PLOTS = {
  oauth: { title: "OAuth: requests a second, 16 connections", column: "requests/s", only: "" },
  events: { title: "Events: events a second, 16 clients", column: "events/s", only: ", 16 clients" },
  media: { title: "Media: requests a second, 16 clients", column: "requests/s", only: ", 16 clients" },
  gateway: { title: "Gateway: requests a second", column: "requests/s", only: "" },
} as const;
export type Plot = keyof typeof PLOTS;

const DOCS = join(ROOT, "docs", "benchmarks");
const WIDTH = 860;
const LABEL_WIDTH = 250;
const BAR_WIDTH = 480;
const ROW_HEIGHT = 20;
const GROUP_HEIGHT = 34;
const TOP_HEIGHT = 40;

const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 }
  .group { font-weight: 600 }
  .number { fill: #57606a }
  .bar { fill: #b6c0cc }
  .own { fill: #2f6fdb }
  .range { stroke: #24292f; opacity: 0.5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .number { fill: #9da7b3 }
    .bar { fill: #4a5566 }
    .own { fill: #6ea8ff }
    .range { stroke: #e6edf3 }
  }`;

interface Row {
  readonly operation: string;
  readonly subject: string;
  readonly value: number;
  /** Slowest and fastest round as parts of the median. */
  readonly range: readonly [number, number];
}

/** The picture of a service, as SVG. */
export function draw(plot: Plot): string {
  const { title } = PLOTS[plot];
  const groups = Map.groupBy(rowsOf(plot), ({ operation }) => operation);
  const parts: string[] = [`<text class="title" x="0" y="18">${escape(title)}</text>`];
  let y = TOP_HEIGHT;
  for (const [operation, rows] of groups) {
    parts.push(`<text class="group" x="0" y="${y + 14}">${escape(operation)}</text>`);
    y += GROUP_HEIGHT - 10;
    const most = Math.max(...rows.map(({ value, range }) => value * range[1]));
    for (const { subject, value, range } of rows) {
      parts.push(...bar(subject, value, range, BAR_WIDTH / most, y));
      y += ROW_HEIGHT;
    }
    y += 10;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" role="img" aria-label="${escape(title)}">
<style>${STYLE}
</style>
${parts.join("\n")}
</svg>
`;
}

function bar(subject: string, value: number, range: Row["range"], scale: number, y: number): string[] {
  const at = (of: number): string => (LABEL_WIDTH + of * scale).toFixed(1);
  const middle = y + ROW_HEIGHT / 2;
  const kind = subject === "Plinth" ? "bar own" : "bar";
  return [
    `<text x="${LABEL_WIDTH - 8}" y="${middle + 4}" text-anchor="end">${escape(subject)}</text>`,
    `<rect class="${kind}" x="${LABEL_WIDTH}" y="${y + 3}" width="${(value * scale).toFixed(1)}" height="${ROW_HEIGHT - 6}" rx="2"/>`,
    `<line class="range" x1="${at(value * range[0])}" x2="${at(value * range[1])}" y1="${middle}" y2="${middle}"/>`,
    `<text class="number" x="${WIDTH}" y="${middle + 4}" text-anchor="end">${value.toLocaleString("en")}</text>`,
  ];
}

function rowsOf(plot: Plot): Row[] {
  const { column, only } = PLOTS[plot];
  const [head = [], ...rows] = readFileSync(join(DOCS, "data", `${plot}.csv`), "utf8")
    .trim()
    .split("\n")
    .map(cells);
  const valueAt = head.indexOf(column);
  return rows
    .filter(([operation = ""]) => operation.endsWith(only))
    .map((row) => {
      const [operation = "", subject = "", ...numbers] = row;
      const [median = 0, min = 0, max = 0] = numbers.map(Number);
      const shown = only === "" ? operation : operation.slice(0, -only.length);
      return { operation: shown, subject, value: Number(row[valueAt]), range: [min / median, max / median] };
    });
}

/** A line of CSV without line breaks in quotes. */
const cells = (line: string): string[] =>
  Array.from(line.matchAll(/(?:^|,)(?:"([^"]*)"|([^,]*))/g), ([, quoted, plain]) => quoted ?? plain ?? "");

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

if (import.meta.main)
  for (const plot of Object.keys(PLOTS) as Plot[]) writeFileSync(join(DOCS, `${plot}.svg`), draw(plot));
