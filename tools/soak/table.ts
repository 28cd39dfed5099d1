import { paint } from "../../scripts/lib/terminal.ts";
import type { FaultRow } from "./ledgers/faults.ts";
import type { Row, Totals } from "./world/latencies.ts";

/** Latencies for a terminal. */
export const latencyTable = (rows: readonly Row[]): string =>
  table(
    ["ms from when it was due", "answered", "lost", "p50", "p90", "p99", "max"],
    rows.map(({ kind, answered, lost, p50, p90, p99, max }) => [
      kind,
      String(answered),
      String(lost),
      ...[p50, p90, p99, max].map((ms) => (Number.isNaN(ms) ? "–" : ms.toFixed(ms < 100 ? 1 : 0))),
    ]),
  );

/** Faults that happened, and those that could have. */
export const faultTable = (rows: readonly FaultRow[]): string =>
  rows.length === 0
    ? "  no faults, as --calm wants it"
    : table(
        ["faults", "times"],
        rows.map(({ fault, times }) => [fault, String(times)]),
        rows.map(({ times, ways }) =>
          times === 0
            ? paint.yellow("never happened in this run")
            : Object.entries(ways)
                .map(([way, count]) => `${way} ${count}`)
                .join(", "),
        ),
      );

/** The reached rate, and the shares of answers. */
export function totalsLine({ answeredPerSecond, shares }: Totals, rate: number): string {
  const parts = Object.entries(shares).map(
    ([name, share]) => `${name === "none" ? "no answer" : name} ${(share * 100).toFixed(1)} %`,
  );
  return `${answeredPerSecond.toFixed(1)} answers a second for ${rate} arrivals; ${parts.join(", ")}`;
}

/** The first column to the left, numbers to the right, and a note behind each row. */
function table(head: readonly string[], rows: readonly (readonly string[])[], notes: readonly string[] = []): string {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  const line = ([first = "", ...rest]: readonly string[], note = ""): string =>
    `  ${[first.padEnd(widths[0] ?? 0), ...rest.map((cell, at) => cell.padStart(widths[at + 1] ?? 0)), note].join("  ")}`;
  return [paint.bold(line(head).trimEnd()), ...rows.map((row, at) => line(row, notes[at]).trimEnd())].join("\n");
}
