import { withDatabase, type Isolate } from "../../../src/platform/copies/isolate.ts";

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** A clock that is moved by hand. Events run in the order of their time, each with all that follows from it. */
export class VirtualTime {
  readonly #heap: Event[] = [];
  #nowMs: number;
  #order = 0;

  constructor(startMs = 0) {
    this.#nowMs = startMs;
  }

  readonly nowMs = (): number => this.#nowMs;

  readonly at = (atMs: number, run: () => void): void => {
    const heap = this.#heap;
    // Whole milliseconds: promises settle once for all that happens in one.
    const event = { atMs: Math.max(Math.ceil(atMs), this.#nowMs), order: this.#order++, run };
    let index = heap.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = event;
  };

  readonly pause = (ms: number): Promise<void> => new Promise((resolve) => this.at(this.#nowMs + ms, resolve));

  /** Runs everything up to this time. */
  async runTo(untilMs: number): Promise<void> {
    await settled();
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= untilMs; next = this.#heap[0]) {
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      while (this.#heap[0] !== undefined && this.#heap[0].atMs <= this.#nowMs) this.#pop().run();
      await settled();
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
    await settled();
  }

  /** Sets the clock, forward or back, without running anything. */
  set(nowMs: number): void {
    this.#nowMs = nowMs;
  }

  #pop(): Event {
    const heap = this.#heap;
    const first = heap[0]!;
    const last = heap.pop()!;
    if (heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, last)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

const isBefore = (a: Event, b: Event): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

/** Lets promises settle that wait for no event. Longer chains of them than this are not in the code. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 60; turn++) await Promise.resolve();
}

export const virtualIsolate = (time: VirtualTime, chance: () => number = () => 0.5): Isolate =>
  withDatabase({
    nowMs: time.nowMs,
    pause: time.pause,
    after(ms, run) {
      let isStopped = false;
      time.at(time.nowMs() + ms, () => void (isStopped || run()));
      return () => void (isStopped = true);
    },
    chance,
    keepAlive: (work) => void work.catch(() => undefined),
  });
