import { StoreUnavailable } from "./database.ts";
import type { Isolate } from "./isolate.ts";

/**
 * The attempts of an isolate to ask one source, such as a database.
 *
 *   well ──an attempt fails, or is late──▶ failing: 1, 2, 4 … 15 s of backoff before each further attempt
 *     ▲                                        │
 *     └────────────any attempt lands───────────┘
 *
 * An attempt is late after `waitMs`. It goes on, and its answer is used when it comes. The runtime may end a request
 * and its attempt without a word, so the age of an attempt decides, and no timer.
 */
export class Attempts {
  readonly #isolate: Isolate;
  readonly #waitMs: number;
  readonly #tolerated: number;
  readonly #running = new Set<Attempt>();
  #failures = 0;
  #rounds = 0;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #backoffMs = 0;

  /** `tolerated`: failures in a row before the backoff begins. */
  constructor(isolate: Isolate, limits: { readonly waitMs: number; readonly tolerated?: number }) {
    this.#isolate = isolate;
    this.#waitMs = limits.waitMs;
    this.#tolerated = limits.tolerated ?? 0;
  }

  /** The attempts that are not late. */
  running(nowMs: number): number {
    for (const attempt of this.#running) {
      if (Math.abs(nowMs - attempt.begunAtMs) < this.#waitMs) continue;
      this.#running.delete(attempt);
      this.#fail(attempt, nowMs);
    }
    return this.#running.size;
  }

  isFailing(nowMs: number): boolean {
    this.running(nowMs);
    return this.#failures > this.#tolerated;
  }

  /** True in the pause after a failure. If the clock was set back, the pause is over. */
  isBackingOff(nowMs: number): boolean {
    return this.isFailing(nowMs) && Math.abs(nowMs - this.#failedAtMs) < this.#backoffMs;
  }

  /** Runs `work` and returns its value. Throws what it throws, and after `waitMs`; the work goes on. */
  async run<T>(nowMs: number, work: () => Promise<T>): Promise<T> {
    const attempt: Attempt = { begunAtMs: nowMs, isSettled: false };
    this.#running.add(attempt);
    const landing = this.#land(attempt, work);
    this.#isolate.keepAlive(landing);
    let stop = (): void => undefined;
    const late = new Promise<never>((_, reject) => {
      stop = this.#isolate.after(this.#waitMs, () => {
        this.#running.delete(attempt);
        this.#fail(attempt, nowMs + this.#waitMs);
        reject(new StoreUnavailable(`no answer within ${this.#waitMs} ms`));
      });
    });
    return Promise.race([landing, late]).finally(stop);
  }

  async #land<T>(attempt: Attempt, work: () => Promise<T>): Promise<T> {
    const begunAtMs = this.#isolate.nowMs();
    try {
      const value = await work();
      attempt.isSettled = true;
      this.#failures = 0;
      this.#rounds = 0;
      return value;
    } catch (thrown) {
      this.#fail(attempt, attempt.begunAtMs + this.#isolate.nowMs() - begunAtMs);
      throw thrown;
    } finally {
      this.#running.delete(attempt);
    }
  }

  #fail(attempt: Attempt, nowMs: number): void {
    if (attempt.isSettled) return;
    attempt.isSettled = true;
    this.#failures += 1;
    // Attempts that ran side by side fail as one.
    if (this.#failures > this.#tolerated && attempt.begunAtMs > this.#failedAtMs) this.#rounds += 1;
    const longestMs = Math.min(BACKOFF.firstMs * 2 ** Math.max(0, this.#rounds - 1), BACKOFF.maxMs);
    this.#failedAtMs = nowMs;
    this.#backoffMs = longestMs * (1 - BACKOFF.jitter * this.#isolate.chance());
  }
}

const BACKOFF = { firstMs: 1_000, maxMs: 15_000, jitter: 0.5 } as const;

interface Attempt {
  readonly begunAtMs: number;
  /** It landed, or counts as a failure. */
  isSettled: boolean;
}
