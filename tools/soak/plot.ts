import type { Kill } from "./drive.ts";
import type { Measured, Row } from "./world/latencies.ts";

/** Draws a run as SVG: percentiles of each kind of operation, and latencies over time with the kills. */
export interface Plotted {
  readonly title: string;
  readonly seconds: number;
  readonly rows: readonly Row[];
  readonly measured: readonly Measured[];
  readonly kills: readonly Kill[];
}

const WIDTH = 960;
const LEFT = 240;
const RIGHT = WIDTH - 30;
const ROW = 22;
const TIME_HEIGHT = 220;
/** More points show nothing more. */
const MAX_POINTS = 6_000;
const TICKS_MS = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000];

const STYLE = `
  svg { background: #fff; color: #1a1a1a; font: 12px system-ui, sans-serif }
  text { fill: currentColor } .quiet { fill: #666 } .grid { stroke: #ddd } .range { stroke: #4477aa; stroke-width: 2 }
  .p50 { fill: #4477aa } .p99 { fill: #cc6633 } .point { fill: #4477aa; fill-opacity: .45 }
  .kill { fill: #cc3311; fill-opacity: .18 }
  @media (prefers-color-scheme: dark) {
    svg { background: #14171a; color: #e8e8e8 } .quiet { fill: #9aa0a6 } .grid { stroke: #33383d }
    .range { stroke: #7fb2e5 } .p50 { fill: #7fb2e5 } .p99 { fill: #f0a070 } .point { fill: #7fb2e5 }
    .kill { fill: #ff6b5a; fill-opacity: .3 }
  }`;

export function plot({ title, seconds, rows, measured, kills }: Plotted): string {
  const shown = rows.filter(({ answered }) => answered > 0);
  const maxMs = Math.max(10, ...shown.map(({ max }) => max));
  const scale = (ms: number, from: number, to: number): number =>
    from + (Math.log10(Math.max(1, ms)) / Math.log10(maxMs)) * (to - from);
  const ticks = TICKS_MS.filter((ms) => ms <= maxMs);

  const rowsTop = 60;
  const rowsEnd = rowsTop + shown.length * ROW;
  const across = ticks.flatMap((ms) => {
    const x = fix(scale(ms, LEFT, RIGHT));
    return [
      `<line class="grid" x1="${x}" x2="${x}" y1="${rowsTop - 8}" y2="${rowsEnd}"/>`,
      `<text class="quiet" x="${x}" y="${rowsEnd + 14}" text-anchor="middle">${label(ms)}</text>`,
    ];
  });
  const lines = shown.flatMap(({ kind, answered, p50, p99, max }, index) => {
    const y = rowsTop + index * ROW + 6;
    const [from, to, last] = [p50, p99, max].map((ms) => fix(scale(ms, LEFT, RIGHT)));
    return [
      `<text x="10" y="${y + 4}">${escape(kind)} <tspan class="quiet">${answered}</tspan></text>`,
      `<line class="range" x1="${from}" x2="${last}" y1="${y}" y2="${y}"/>`,
      `<circle class="p50" cx="${from}" cy="${y}" r="4"/><circle class="p99" cx="${to}" cy="${y}" r="4"/>`,
    ];
  });

  const top = rowsEnd + 60;
  const bottom = top + TIME_HEIGHT;
  const spanMs = Math.max(seconds * 1_000, ...kills.map(({ readyMs }) => readyMs));
  const time = (atMs: number): string => fix(LEFT + (Math.max(0, atMs) / spanMs) * (RIGHT - LEFT));
  const up = ticks.flatMap((ms) => {
    const y = fix(scale(ms, bottom, top));
    return [
      `<line class="grid" x1="${LEFT}" x2="${RIGHT}" y1="${y}" y2="${y}"/>`,
      `<text class="quiet" x="${LEFT - 8}" y="${Number(y) + 4}" text-anchor="end">${label(ms)}</text>`,
    ];
  });
  const downs = kills.map(({ atMs, readyMs }) => {
    const width = fix(Number(time(readyMs)) - Number(time(atMs)));
    return `<rect class="kill" x="${time(atMs)}" y="${top}" width="${width}" height="${TIME_HEIGHT}"/>`;
  });
  const every = Math.ceil(measured.length / MAX_POINTS);
  const points = measured
    .filter((_, index) => index % every === 0)
    .map(
      ({ atMs, tookMs }) =>
        `<circle class="point" cx="${time(atMs)}" cy="${fix(scale(tookMs, bottom, top))}" r="1.6"/>`,
    );

  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 40}" role="img" aria-label="${escape(title)}">`,
    `<style>${STYLE}</style>`,
    `<text x="10" y="22" font-weight="600">${escape(title)}</text>`,
    `<text class="quiet" x="10" y="40">from when it was due to the whole answer: median, 99 %, and the line to the slowest</text>`,
    ...across,
    ...lines,
    `<text x="10" y="${top - 14}" font-weight="600">Latency over the run, by when it was due</text>`,
    `<text class="quiet" x="${RIGHT}" y="${top - 14}" text-anchor="end">red: the platform was killed, until it was ready</text>`,
    ...up,
    ...downs,
    ...points,
    `<text class="quiet" x="${LEFT}" y="${bottom + 18}">0 s</text>`,
    `<text class="quiet" x="${RIGHT}" y="${bottom + 18}" text-anchor="end">${Math.round(spanMs / 1_000)} s</text>`,
    "</svg>",
    "",
  ].join("\n");
}

const fix = (value: number): string => value.toFixed(1);
const label = (ms: number): string => (ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`);
const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
