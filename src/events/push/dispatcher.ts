import type { Clock } from "../../platform/runtime/clock.ts";
import { DELIVERY } from "../model/limits.ts";
import { isSilent, pausedUntilMs, windowSize, withoutPause } from "../../platform/delivery/endpoint-health.ts";
import { healthAfter, healthAfterChange, onSchedule } from "./endpoint-health.ts";
import { attempt, type Message } from "./request.ts";
import { judge, type EndpointResponse } from "../../platform/delivery/response.ts";
import { afterAttempt } from "../../platform/delivery/retry-schedule.ts";
import type { Attempt, PushPorts } from "./types.ts";
import type { Deliveries } from "./deliveries.ts";
import type { PushEligibility } from "./eligibility.ts";
import type { PushHandshake } from "./handshake.ts";
import type { PushIngest } from "./ingest.ts";
import type { PushState } from "./state.ts";
import { chance } from "../../platform/runtime/random.ts";

export interface DispatcherParts extends PushParts {
  readonly ports: PushPorts;
  readonly clock: Clock;
}

/**
 * Sends due deliveries, at most six at once, and takes events from the logs while there is capacity. Only one run at a
 * time.
 *
 * During an `await` other code may run: `signal` (new events, a redelivery, a change), `stop` (the subscription ends),
 * a test in `withSlot`, and other attempts. So the dispatcher checks all conditions again after each `await`, and no
 * `await` lies between the last check and the action.
 */
export class PushDispatcher {
  readonly #parts: DispatcherParts;
  /** Events being sent. */
  readonly #inFlight = new Set<string>();
  /** Tests that are running or waiting for a slot. */
  #reserved = 0;
  #stopped = false;
  /** True if the logs may have events that were not taken. */
  #unread = true;
  /** True while the logs are being read. */
  #reading = false;
  /** The logs are not read before this time. */
  #readAtMs = 0;
  /** Time until which the record or the next ping of the handshake blocks all deliveries. */
  #waitUntilMs = 0;
  #inHandshake = false;
  #topicGone = false;
  /** A write failed; the run ends with this error. */
  #fault: unknown;
  #changed = Promise.withResolvers<void>();

  constructor(on: DispatcherParts) {
    this.#parts = on;
  }

  /** Signals that the logs may have new events. */
  notify(): void {
    this.#unread = true;
    this.#readAtMs = 0;
    this.signal();
  }

  /** Wakes the waiting run after a change. */
  signal(): void {
    const changed = this.#changed;
    this.#changed = Promise.withResolvers<void>();
    changed.resolve();
  }

  /** Ends sending and writing for good. */
  stop(): void {
    this.#stopped = true;
    this.#parts.ingest.close();
    this.#parts.handshake.stop();
    this.signal();
  }

  /**
   * Runs until there is nothing to do now ("rests"). "goes on": the limits of a run are reached, and the next run takes
   * over attempts in flight, so that a slow attempt does not delay the others. "gone": the subscription or its topic
   * does not exist any more.
   */
  async run(): Promise<RunOutcome> {
    const { eligibility, clock, deliveries, handshake } = this.#parts;
    deliveries.hasten(clock.nowMs());
    const endMs = clock.nowMs() + DELIVERY.runMs;
    let calls = 0;
    for (;;) {
      const now = await eligibility.now();
      if (this.#stopped) return "rests";
      if (this.#fault !== undefined) throw this.#takeFault();
      if (now.kind === "gone" || this.#topicGone) return "gone";
      this.#inHandshake = now.kind === "unverified";
      this.#waitUntilMs = handshake.waitUntilMs(now);
      if (calls >= DELIVERY.callsARun || clock.nowMs() >= endMs) return "goes on";
      if (now.kind === "unverified" && this.#isIdle() && this.#waitUntilMs <= clock.nowMs()) {
        calls += 1;
        await handshake.ask(now.target);
        eligibility.forget();
        continue;
      }
      if (now.kind === "go") calls += this.#begin(now.target.version);
      if (this.#isIdle()) return "rests";
      await this.#nextChange();
    }
  }

  /** Begins as many attempts as may start now, and a read if slots are left. Returns the most calls that they make. */
  #begin(version: number): number {
    const { state, clock } = this.#parts;
    if (version !== state.health.version) state.health = healthAfterChange(version, clock.nowMs());
    const slots = this.#freeSlots();
    const due = this.#due(slots);
    for (const eventId of due) void this.#send(eventId);
    const reads = due.length < slots && this.#canRead();
    if (reads) void this.#read();
    // Each attempt calls the endpoint, and the log if its text is not in memory.
    return 2 * due.length + (reads ? state.topic.shards : 0);
  }

  /** When a resting dispatcher has work again; Infinity if nothing is left. */
  nextMs(): number {
    if (this.#inHandshake) return this.#waitUntilMs;
    const { deliveries, state, clock } = this.#parts;
    const dueMs = deliveries.next(1)[0]?.dueAtMs ?? Infinity;
    const readMs = this.#unread && deliveries.capacity() > 0 ? this.#readAtMs : Infinity;
    return Math.max(Math.min(dueMs, readMs), pausedUntilMs(state.health, clock.nowMs()), this.#waitUntilMs);
  }

  #isIdle(): boolean {
    return this.#inFlight.size === 0 && !this.#reading;
  }

  /** Runs work that takes one of the six slots. It gets the next free slot, ahead of deliveries. */
  async withSlot<T>(work: () => Promise<T>): Promise<T> {
    this.#reserved += 1;
    try {
      while (this.#inFlight.size + this.#reserved > DELIVERY.window) await this.#changed.promise;
      return await work();
    } finally {
      this.#reserved -= 1;
      this.signal();
    }
  }

  /** Updates the endpoint's health from a response or a failed call. Ignores calls to another version's endpoint. */
  learn(answer: EndpointResponse, version: number): void {
    const { state, clock } = this.#parts;
    if (this.#stopped || version !== state.health.version) return;
    state.health = healthAfter(state.health, answer, clock.nowMs());
  }

  /** Time until which the endpoint's health pauses deliveries; undefined if it is not paused. */
  pausedUntilMs(): number | undefined {
    const { state, clock } = this.#parts;
    const nowMs = clock.nowMs();
    const untilMs = pausedUntilMs(state.health, nowMs);
    return untilMs > nowMs ? untilMs : undefined;
  }

  /** Ends the pause after an update, a redelivery or a successful test: the endpoint may respond again. */
  unpause(): void {
    const { state } = this.#parts;
    if (!this.#stopped) state.health = withoutPause(state.health);
  }

  /** Number of attempts that may start now. */
  #freeSlots(): number {
    const { state } = this.#parts;
    if (this.pausedUntilMs() !== undefined) return 0;
    const free = Math.min(windowSize(state.health), DELIVERY.window - this.#reserved) - this.#inFlight.size;
    return Math.max(0, free);
  }

  /** The events to send next. */
  #due(slots: number): string[] {
    if (slots === 0) return [];
    const { deliveries, state, clock } = this.#parts;
    const { health } = state;
    if (isSilent(health)) {
      const probe = deliveries.leastTried(clock.nowMs());
      // Events still in the logs were never tried.
      const mayBeBetter = this.#reading || this.#canRead();
      return probe === undefined || (probe.tries > 0 && mayBeBetter) ? [] : [probe.eventId];
    }
    const due = deliveries
      .due(slots + this.#inFlight.size, clock.nowMs(), health.anewFromMs)
      .filter((eventId) => !this.#inFlight.has(eventId))
      .slice(0, slots);
    if (due.length < slots) state.health = onSchedule(health);
    return due;
  }

  #canRead(): boolean {
    const { clock, deliveries } = this.#parts;
    return this.#unread && !this.#reading && clock.nowMs() >= this.#readAtMs && deliveries.capacity() > 0;
  }

  /** Takes events from the logs. A notification during the read causes another read. */
  async #read(): Promise<void> {
    const { ingest, clock } = this.#parts;
    this.#unread = false;
    this.#reading = true;
    try {
      const taken = await ingest.take();
      if (taken === "gone") this.#topicGone = true;
      else if (taken.more) this.#unread = true;
      else if (taken.failed) {
        this.#unread = true;
        this.#readAtMs = clock.nowMs() + DELIVERY.failedAgainMs;
      }
    } catch (thrown) {
      this.#fail(thrown);
    } finally {
      this.#reading = false;
      this.signal();
    }
  }

  async #send(eventId: string): Promise<void> {
    this.#inFlight.add(eventId);
    try {
      await this.#deliver(eventId);
    } catch (thrown) {
      this.#fail(thrown);
    } finally {
      this.#inFlight.delete(eventId);
      this.signal();
    }
  }

  /** Ends the run with an error. A later run reads the tables again. */
  #fail(thrown: unknown): void {
    this.#unread = true;
    this.#fault ??= thrown;
    this.#parts.deliveries.recount();
  }

  #takeFault(): unknown {
    const fault = this.#fault;
    this.#fault = undefined;
    return fault;
  }

  async #deliver(eventId: string): Promise<void> {
    const { ports, clock, deliveries, ingest, eligibility } = this.#parts;
    const kept = deliveries.find(eventId);
    const text =
      kept?.text === undefined ? await ingest.textOf(eventId) : { text: kept.text, trace: kept.attempts.at(-1)?.trace };
    if (this.#stopped) return;
    if (text === "gone") {
      this.#topicGone = true;
      return;
    }
    if (text === "failed") {
      deliveries.postpone(eventId, clock.nowMs() + DELIVERY.failedAgainMs);
      return;
    }
    if (text === "lost") {
      this.#lose(eventId);
      return;
    }
    const now = await eligibility.now();
    // No other code runs from here to the call itself, so the decision still holds at the call.
    if (this.#stopped || now.kind !== "go" || this.pausedUntilMs() !== undefined) return;
    const row = deliveries.find(eventId);
    if (row?.state !== "pending") return;
    const message = { eventId, ...text, number: row.attemptCount + 1 };
    const { answer, attempt: made } = await attempt({ ...ports, clock }, now.target, message);
    const outcome = judge(answer, clock.nowMs()).kind === "delivered" ? "delivered" : "failed";
    ports.meter.add("events_pushed", { service: "events", tenant: now.target.tenant, label: outcome });
    if (!this.#stopped) this.#record(message, answer, made, now.target.version);
  }

  #record({ eventId, text }: Message, answer: EndpointResponse, made: Attempt, version: number): void {
    const { ports, clock, state, deliveries, ingest, eligibility } = this.#parts;
    // Read the row again: a redelivery may have restarted its schedule.
    const before = deliveries.find(eventId);
    if (before === undefined) return;
    const nowMs = clock.nowMs();
    const verdict = judge(answer, nowMs);
    const dueMs = before.nextAttemptAtMs;
    const scheduledMs = dueMs !== undefined && dueMs > made.atMs ? dueMs : undefined;
    const after = afterAttempt(before, verdict, nowMs, chance(ports.random), scheduledMs);
    deliveries.record(before, made, after, text, nowMs);
    ingest.forgetText(eventId);
    this.learn(answer, version);
    if (verdict.kind === "unwanted") {
      ports.log.warn("push subscription disabled by its endpoint", { push: state.id });
      eligibility.disable(version);
    }
    if (after.state === "dead") ports.log.warn("push dead letter", { push: state.id, eventId });
  }

  #lose(eventId: string): void {
    const { ports, state, deliveries } = this.#parts;
    if (deliveries.lose(eventId))
      ports.log.warn("event lost to retention before it was pushed", { push: state.id, eventId });
  }

  /** Waits for an attempt to end, a signal, or the time of the next work. */
  async #nextChange(): Promise<void> {
    const { clock, deliveries } = this.#parts;
    const nowMs = clock.nowMs();
    const next = deliveries.next(this.#inFlight.size + 1).find(({ eventId }) => !this.#inFlight.has(eventId));
    const times = [next?.dueAtMs ?? Infinity, this.#readAtMs, this.pausedUntilMs() ?? 0];
    const soonestMs = Math.min(...times.filter((atMs) => atMs > nowMs));
    const timer = setTimeout(() => this.signal(), Math.min(soonestMs - nowMs, DELIVERY.attemptMs));
    await this.#changed.promise;
    clearTimeout(timer);
  }
}

export type RunOutcome = "gone" | "rests" | "goes on";

/** The parts of an open push subscription's object. */
export interface PushParts {
  readonly state: PushState;
  readonly deliveries: Deliveries;
  readonly ingest: PushIngest;
  readonly eligibility: PushEligibility;
  readonly handshake: PushHandshake;
}
