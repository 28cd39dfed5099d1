import { percentile } from "../../bench/lib/statistics.ts";

/** An answered request. */
export interface Measured {
  readonly kind: string;
  /** Due time in ms since the load began. */
  readonly atMs: number;
  /** From the due time to the whole answer. */
  readonly tookMs: number;
  readonly status: number;
}

export interface Row {
  readonly kind: string;
  readonly answered: number;
  /** Attempts without a result: no answer (cut, killed), or 503. */
  readonly lost: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Totals over all requests. */
export interface Totals {
  /** Answers a second during the load. */
  readonly answeredPerSecond: number;
  /** Status class (`2xx`), or `none` without an answer → share of the attempts. */
  readonly shares: Readonly<Record<string, number>>;
}

/** Latencies from the time a request was due, so waiting for a dead platform counts. */
export class Latencies {
  readonly measured: Measured[] = [];
  readonly #unanswered = new Map<string, number>();
  #startedMs = performance.now();
  #isOn = false;

  start(): void {
    this.#startedMs = performance.now();
    this.#isOn = true;
  }

  stop(): void {
    this.#isOn = false;
  }

  /** Times by `performance.now()`. */
  add({ kind, dueMs, answeredMs, status }: { kind: string; dueMs: number; answeredMs: number; status: number }): void {
    if (this.#isOn) this.measured.push({ kind, atMs: dueMs - this.#startedMs, tookMs: answeredMs - dueMs, status });
  }

  unanswered(kind: string): void {
    if (this.#isOn) this.#unanswered.set(kind, (this.#unanswered.get(kind) ?? 0) + 1);
  }

  rows(): Row[] {
    const kinds = [...new Set([...this.measured.map(({ kind }) => kind), ...this.#unanswered.keys()])].toSorted();
    return kinds.map((kind) => {
      const own = this.measured.filter((one) => one.kind === kind);
      const sorted = Float64Array.from(own, ({ tookMs }) => tookMs).sort();
      const at = (share: number): number => percentile(sorted, share);
      const lost = own.filter(({ status }) => status === 503).length + (this.#unanswered.get(kind) ?? 0);
      return { kind, answered: own.length, lost, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
    });
  }

  totals(seconds: number): Totals {
    const inTime = this.measured.filter(({ atMs, tookMs }) => atMs + tookMs <= seconds * 1_000).length;
    const counts = new Map<string, number>();
    for (const { status } of this.measured) {
      const name = `${Math.floor(status / 100)}xx`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const none = [...this.#unanswered.values()].reduce((sum, count) => sum + count, 0);
    const sorted = [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const all = this.measured.length + none;
    const shares = Object.fromEntries([...sorted, ["none", none] as const].map(([name, n]) => [name, n / all]));
    return { answeredPerSecond: inTime / seconds, shares };
  }
}
