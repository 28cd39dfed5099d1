import { paint } from "../lib/terminal.ts";
import type { Row } from "./latencies.ts";

const HEAD = ["ms from when it was due", "answered", "lost", "p50", "p90", "p99", "max"];

/** The latencies for a terminal: the first column to the left, numbers to the right. */
export function latencyTable(rows: readonly Row[]): string {
  const cells = rows.map(({ kind, answered, lost, p50, p90, p99, max }) => [
    kind,
    String(answered),
    String(lost),
    ...[p50, p90, p99, max].map((ms) => (Number.isNaN(ms) ? "–" : ms.toFixed(ms < 100 ? 1 : 0))),
  ]);
  const widths = HEAD.map((_, column) => Math.max(...[HEAD, ...cells].map((row) => row[column]?.length ?? 0)));
  const line = ([first = "", ...rest]: readonly string[]): string =>
    `  ${[first.padEnd(widths[0] ?? 0), ...rest.map((cell, at) => cell.padStart(widths[at + 1] ?? 0))].join("  ")}`;
  return [paint.bold(line(HEAD)), ...cells.map(line)].join("\n");
}
