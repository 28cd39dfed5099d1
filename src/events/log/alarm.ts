import { systemClock } from "../../platform/runtime/clock.ts";
import { LOG } from "../model/limits.ts";

/**
 * The alarm of a log's object. A method that makes work due also sets the alarm in the same turn, so the runtime stores
 * both or neither.
 *
 * A run checks all work again before it ends, so nothing sets the alarm during a run.
 */
export class LogAlarm {
  readonly #context: DurableObjectState;
  readonly #dueMs: () => number;
  /** Due time of the alarm that this instance set. One of an earlier instance is set again, which costs one row. */
  #atMs = Infinity;
  /** Start of the current run. */
  #startedMs: number | undefined;

  /** `dueMs`: when the next work of any kind is due. */
  constructor(context: DurableObjectState, dueMs: () => number) {
    this.#context = context;
    this.#dueMs = dueMs;
  }

  /** Makes sure that the alarm runs by this time. */
  runBy(dueMs: number): void {
    const nowMs = systemClock.nowMs();
    const isLost = nowMs > this.#atMs + LOG.alarmLostMs;
    if (this.#isRunning(nowMs) || (Math.max(dueMs, nowMs) >= this.#atMs && !isLost)) return;
    // An alarm that an earlier instance set may be due sooner, so consider all work.
    this.set(this.#dueMs());
  }

  /** Begins a run. False if one is running already. */
  begin(): boolean {
    this.#atMs = Infinity;
    const nowMs = systemClock.nowMs();
    if (this.#isRunning(nowMs)) return false;
    this.#startedMs = nowMs;
    return true;
  }

  /** Ends the run. Call `set` next. */
  end(): void {
    this.#startedMs = undefined;
  }

  /** Sets the alarm. Infinity: nothing is due. */
  set(dueMs: number): void {
    if (dueMs === Infinity) return;
    this.#atMs = Math.max(dueMs, systemClock.nowMs());
    this.#context.waitUntil(this.#context.storage.setAlarm(this.#atMs));
  }

  async cancel(): Promise<void> {
    this.#atMs = Infinity;
    await this.#context.storage.deleteAlarm();
  }

  /** A run that started longer ago than the runtime allows was aborted without reaching its `finally`. */
  #isRunning(nowMs: number): boolean {
    return this.#startedMs !== undefined && Math.abs(nowMs - this.#startedMs) <= LOG.alarmRunMs;
  }
}
