import type { Clock } from "../../platform/clock.ts";
import { createLog, describeError } from "../../platform/log.ts";
import { LOG } from "../model/limits.ts";

/** What the alarm of a log does, and when it is due: Infinity when there is nothing, 0 when it is at once. */
export interface AlarmPorts {
  readonly context: DurableObjectState;
  readonly clock: Clock;
  isOpen(): boolean;
  /** Removes a step of what is over, if anything is. */
  trim(): void;
  trimDueMs(): number;
  /** Wakes push subscriptions, and calls `between` now and then when that takes long. */
  wake(between: () => void): Promise<void>;
  wakeDueMs(): number;
}

/**
 * The alarm of a log: one time in its storage, at which the next thing is due.
 *
 * Whoever stores something calls `by` in the same turn, so the runtime stores both or neither. While the alarm runs
 * nobody needs to set one: the runtime repeats a run that is cut off, and at its end everything is looked at once more, in
 * one turn with setting the next.
 */
export class LogAlarm {
  readonly #ports: AlarmPorts;
  /** When the alarm that this instance set is due; one set before it woke is set again, which costs a row. */
  #atMs = Infinity;
  #startedMs: number | undefined;

  constructor(ports: AlarmPorts) {
    this.#ports = ports;
  }

  /** Sees to it that the log wakes by a time, at which something is due. */
  by(dueMs: number): void {
    const nowMs = this.#ports.clock.nowMs();
    const isLost = nowMs > this.#atMs + LOG.alarmLostMs;
    if (this.#isRunning(nowMs) || (Math.max(dueMs, nowMs) >= this.#atMs && !isLost)) return;
    // One that was set before this instance woke may be due earlier: all that there is to do is looked at.
    this.#set(Math.min(this.#ports.trimDueMs(), this.#ports.wakeDueMs()));
  }

  /** Does what is due, some of it at a time. Never throws, since the runtime gives up after some failures. */
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

  /** Nothing will be due any more. */
  async cancel(): Promise<void> {
    this.#atMs = Infinity;
    await this.#ports.context.storage.deleteAlarm();
  }

  /** A run that began longer ago than the runtime lets any go on was given up by it, and nothing came behind its `await`. */
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
