import type { Clock } from "../../platform/clock.ts";
import { createLog, describeError } from "../../platform/log.ts";
import { LOG } from "../model/limits.ts";

/** Work of a log's alarm, and when it is due: Infinity means never, 0 means at once. */
export interface AlarmPorts {
  readonly context: DurableObjectState;
  readonly clock: Clock;
  isOpen(): boolean;
  trim(): void;
  trimDueMs(): number;
  /** Wakes push subscriptions. Calls `between` now and then while that takes long. */
  wake(between: () => void): Promise<void>;
  wakeDueMs(): number;
}

/**
 * The alarm of a log: one stored time, at which the next work is due.
 *
 * Code that stores something calls `by` in the same turn, so the runtime stores both or neither. While the alarm runs,
 * nobody needs to set one: the runtime repeats an interrupted run, and a finished run checks everything once more in
 * the same turn in which it sets the next alarm.
 */
export class LogAlarm {
  readonly #ports: AlarmPorts;
  /**
   * When the alarm set by this instance is due. An alarm set by an earlier instance is set again, which costs one row.
   */
  #atMs = Infinity;
  #startedMs: number | undefined;

  constructor(ports: AlarmPorts) {
    this.#ports = ports;
  }

  /** Makes sure that the alarm runs by this time. */
  runBy(dueMs: number): void {
    const nowMs = this.#ports.clock.nowMs();
    const isLost = nowMs > this.#atMs + LOG.alarmLostMs;
    if (this.#isRunning(nowMs) || (Math.max(dueMs, nowMs) >= this.#atMs && !isLost)) return;
    // An alarm set by an earlier instance may be due sooner, so consider all work.
    this.#set(Math.min(this.#ports.trimDueMs(), this.#ports.wakeDueMs()));
  }

  /** Does the due work, a step at a time. Never throws, since the runtime gives up after several failures. */
  async run(): Promise<void> {
    this.#atMs = Infinity;
    const startedMs = this.#ports.clock.nowMs();
    if (this.#isRunning(startedMs)) return;
    this.#startedMs = startedMs;
    let isTrimmed = true;
    const trim = () => void (isTrimmed &&= attempt(() => this.#ports.trim()));
    trim();
    try {
      await this.#ports.wake(trim);
    } finally {
      this.#startedMs = undefined;
    }
    if (!this.#ports.isOpen()) return;
    let trimDueMs = this.#ports.clock.nowMs() + LOG.trimRetryMs;
    if (isTrimmed) attempt(() => (trimDueMs = this.#ports.trimDueMs()));
    this.#set(Math.min(trimDueMs, this.#ports.wakeDueMs()));
  }

  /** Cancels the alarm: nothing will be due any more. */
  async cancel(): Promise<void> {
    this.#atMs = Infinity;
    await this.#ports.context.storage.deleteAlarm();
  }

  /**
   * True while a run is under way. A run that started longer ago than the runtime allows was aborted without reaching
   * its `finally`.
   */
  #isRunning(nowMs: number): boolean {
    return this.#startedMs !== undefined && Math.abs(nowMs - this.#startedMs) <= LOG.alarmRunMs;
  }

  #set(dueMs: number): void {
    if (dueMs === Infinity) return;
    const { context, clock } = this.#ports;
    this.#atMs = Math.max(dueMs, clock.nowMs());
    context.waitUntil(context.storage.setAlarm(this.#atMs));
  }
}

function attempt(run: () => void): boolean {
  try {
    run();
    return true;
  } catch (thrown) {
    createLog("warn").warn("log not trimmed", { error: describeError(thrown) });
    return false;
  }
}
