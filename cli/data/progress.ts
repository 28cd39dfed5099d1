import type { Io } from "../terminal/io.ts";
import { formatBytes } from "../terminal/values.ts";

const WIDTH = 24;
/** The shortest time between two drawings. More often is not visible. */
const REDRAW_MS = 80;

/** A line on the terminal that shows the progress of a transfer. Without a terminal there is none. */
export interface Progress {
  /** `total`: undefined if it is not known. */
  show(done: number, total: number | undefined): void;
  /** Removes the line. */
  end(): void;
}

export function createProgress({ err, nowMs, columns, isTerminal }: ProgressIo, label: string, unit: Unit): Progress {
  if (!isTerminal) return { show() {}, end() {} };
  let drawnMs = Number.NEGATIVE_INFINITY;
  let isDrawn = false;
  return {
    show(done, total) {
      const isLast = done === total;
      if (!isLast && nowMs() - drawnMs < REDRAW_MS) return;
      drawnMs = nowMs();
      isDrawn = true;
      err(`\r\x1b[2K${line(label, done, total, unit).slice(0, (columns ?? 80) - 1)}`);
    },
    end() {
      if (isDrawn) err("\r\x1b[2K");
      isDrawn = false;
    },
  };
}

type ProgressIo = Pick<Io, "err" | "nowMs" | "columns" | "isTerminal">;
type Unit = "bytes" | "events";

function line(label: string, done: number, total: number | undefined, unit: Unit): string {
  const count = unit === "bytes" ? formatBytes(done) : `${done.toLocaleString("en")} events`;
  if (total === undefined || total === 0) return `${label}  ${count}`;
  const share = Math.min(1, done / total);
  const filled = Math.round(share * WIDTH);
  const bar = "█".repeat(filled) + "░".repeat(WIDTH - filled);
  return `${label}  ${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${count}`;
}
