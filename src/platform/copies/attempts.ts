import { StoreUnavailable } from "../storage/database.ts";

/**
 * The attempts of an isolate to ask one source, such as the database.
 *
 *   well ──an attempt is late, or three in a row fail──▶ failing: one attempt at a time, backing off
 *     ▲                                                     │ 1, 2, 4 … 15 s, less up to half of it
 *     └──an attempt lands within 1 s, or another isolate's───┘
 *
 * An attempt fails by `StoreUnavailable`: another error says nothing of the source. It is late after 3 s. It continues,
 * and its answer is used when it comes. The runtime may end a request silently, with its attempt and its timer, so the
 * age of an attempt counts too.
 */
export class Attempts {
  readonly #isolate: Surroundings;
  readonly #waitMs: number;
  readonly #running = new Set<Attempt>();
  #isFailing = false;
  #failures = 0;
  #rounds = 0;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #backoffMs = 0;

  constructor(isolate: Surroundings, waitMs: number = WAIT_MS) {
    this.#isolate = isolate;
    this.#waitMs = waitMs;
  }

  /** Time after which an attempt is late. */
  get waitMs(): number {
    return this.#waitMs;
  }

  /** Counts the attempts that are not late, of one purpose if it is given. The late ones count as failures from now. */
  running(nowMs: number, purpose?: string): number {
    let count = 0;
    for (const attempt of this.#running) {
      const ageMs = nowMs - attempt.begunAtMs;
      if (Math.abs(ageMs) < this.#waitMs) {
        if (purpose === undefined || attempt.purpose === purpose) count += 1;
        continue;
      }
      this.#running.delete(attempt);
      // If the clock was set back, the age of the attempt is unknown.
      if (ageMs > 0) this.#fail(attempt, nowMs, "late");
    }
    return count;
  }

  isFailing(nowMs: number): boolean {
    this.running(nowMs);
    return this.#isFailing;
  }

  /** True while the source responds. While it fails: true for one attempt at a time, after the pause. */
  mayAsk(nowMs: number): boolean {
    const running = this.running(nowMs);
    // If the clock was set back by more than the pause, the pause is over.
    return !this.#isFailing || (running === 0 && Math.abs(nowMs - this.#failedAtMs) >= this.#backoffMs);
  }

  /** Notes that another isolate asked at `askedAtMs` and has its answer now. */
  noteAnswer(askedAtMs: number, nowMs: number): void {
    if (this.#isFailing && askedAtMs > this.#failedAtMs) this.#recover(nowMs - askedAtMs);
  }

  /** Notes that another isolate has waited for an answer since `begunAtMs`, so that the answer is late. */
  noteLate(purpose: string, begunAtMs: number, nowMs: number): void {
    this.#fail({ purpose, begunAtMs, isSettled: false }, nowMs, "late");
  }

  /** `mayAsk` for work that can wait. False also while an attempt is slow, since the source may be about to fail. */
  mayAskBeside(nowMs: number): boolean {
    if (!this.mayAsk(nowMs)) return false;
    for (const { begunAtMs } of this.#running) if (Math.abs(nowMs - begunAtMs) >= SLOW_MS) return false;
    return true;
  }

  /** Runs `work` and returns its value. Throws its error, or `StoreUnavailable` if it is late; it then continues. */
  async run<T>(purpose: string, nowMs: number, work: () => Promise<T>): Promise<T> {
    const attempt: Attempt = { purpose, begunAtMs: nowMs, isSettled: false };
    this.#running.add(attempt);
    const landing = this.#land(attempt, work);
    this.#isolate.keepAlive(landing);
    let stop = (): void => undefined;
    const late = new Promise<never>((_, reject) => {
      stop = this.#isolate.after(this.#waitMs, () => {
        this.#running.delete(attempt);
        this.#fail(attempt, nowMs + this.#waitMs, "late");
        reject(new StoreUnavailable(`no answer within ${this.#waitMs} ms`));
      });
    });
    return Promise.race([landing, late]).finally(stop);
  }

  async #land<T>(attempt: Attempt, work: () => Promise<T>): Promise<T> {
    const beganAtMs = this.#isolate.nowMs();
    try {
      const value = await work();
      if (!attempt.isSettled) this.#recover(this.#isolate.nowMs() - beganAtMs);
      attempt.isSettled = true;
      return value;
    } catch (thrown) {
      // Otherwise one record, or what one caller sent, cannot be read.
      if (thrown instanceof StoreUnavailable)
        this.#fail(attempt, attempt.begunAtMs + this.#isolate.nowMs() - beganAtMs, "failed");
      attempt.isSettled = true;
      throw thrown;
    } finally {
      this.#running.delete(attempt);
    }
  }

  /** Ends the failing state if the answer was quick. After a slow one, more requests would keep the source slow. */
  #recover(tookMs: number): void {
    if (tookMs < SLOW_MS) this.#isFailing = false;
    this.#failures = 0;
    this.#rounds = 0;
  }

  #fail(attempt: Attempt, nowMs: number, how: "failed" | "late"): void {
    if (attempt.isSettled) return;
    attempt.isSettled = true;
    this.#failures += 1;
    if (how === "failed" && this.#failures <= TOLERATED && !this.#isFailing) return;
    this.#isFailing = true;
    // Attempts that ran at the same time count as one round.
    if (attempt.begunAtMs > this.#failedAtMs) this.#rounds += 1;
    const longestMs = Math.min(BACKOFF.firstMs * 2 ** Math.max(0, this.#rounds - 1), BACKOFF.maxMs);
    this.#failedAtMs = nowMs;
    this.#backoffMs = longestMs * (1 - BACKOFF.jitter * this.#isolate.chance());
  }
}

/** The part of `Isolate` that is used here; isolate.ts describes it. */
interface Surroundings {
  nowMs(): number;
  chance(): number;
  after(ms: number, run: () => void): () => void;
  keepAlive(work: Promise<unknown>): void;
}

const WAIT_MS = 3_000;
const SLOW_MS = 1_000;
/** Number of failures in a row that may have another cause than the source, such as one statement. */
const TOLERATED = 2;
const BACKOFF = { firstMs: 1_000, maxMs: 15_000, jitter: 0.5 } as const;

interface Attempt {
  readonly purpose: string;
  readonly begunAtMs: number;
  /** True if it has ended or counts as a failure. */
  isSettled: boolean;
}
