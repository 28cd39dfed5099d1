import { percentile } from "../../bench/lib/statistics.ts";

/** One request that was answered. */
export interface Measured {
  readonly kind: string;
  /** ms since the load began at which it was due. */
  readonly atMs: number;
  /** From when it was due to its whole answer. */
  readonly tookMs: number;
}

export interface Row {
  readonly kind: string;
  readonly answered: number;
  /** Attempts whose answer never came: cut, killed, or 503. */
  readonly lost: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** How long answers took, from the moment at which they were due: who waits in front of a dead platform waits. */
export class Latencies {
  readonly measured: Measured[] = [];
  readonly #lost = new Map<string, number>();
  #startedMs = performance.now();
  #isOn = false;

  start(): void {
    this.#startedMs = performance.now();
    this.#isOn = true;
  }

  stop(): void {
    this.#isOn = false;
  }

  add(kind: string, dueMs: number, tookMs: number): void {
    if (this.#isOn) this.measured.push({ kind, atMs: dueMs - this.#startedMs, tookMs });
  }

  lost(kind: string): void {
    if (this.#isOn) this.#lost.set(kind, (this.#lost.get(kind) ?? 0) + 1);
  }

  /** ms since the load began. */
  get nowMs(): number {
    return performance.now() - this.#startedMs;
  }

  rows(): Row[] {
    const kinds = [...new Set([...this.measured.map(({ kind }) => kind), ...this.#lost.keys()])].toSorted();
    return kinds.map((kind) => {
      const took = this.measured.filter((one) => one.kind === kind).map(({ tookMs }) => tookMs);
      const sorted = Float64Array.from(took).sort();
      const at = (share: number): number => percentile(sorted, share);
      const lost = this.#lost.get(kind) ?? 0;
      return { kind, answered: took.length, lost, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
    });
  }
}
