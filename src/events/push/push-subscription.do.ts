import { RestorableObject } from "../../platform/storage/restorable-object.do.ts";
import { systemClock } from "../../platform/runtime/clock.ts";
import { describeError } from "../../platform/runtime/log.ts";
import type { ImportOutcome, ImportPlace } from "../../platform/storage/object-import.ts";
import { askLogs, logOf } from "../log/client.ts";
import type { Subscriber, WakeOutcome } from "../log/subscriber.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { LogStats, ReadOutcome } from "../log/types.ts";
import { DELIVERY } from "../model/limits.ts";
import { pushObjectName, shardsOf } from "../model/topic.ts";
import { Deliveries } from "./deliveries.ts";
import { PushDispatcher, type PushParts, type RunOutcome } from "./dispatcher.ts";
import { PushEligibility } from "./eligibility.ts";
import { PushHandshake } from "./handshake.ts";
import { PushIngest } from "./ingest.ts";
import { attempt, testEvent } from "./request.ts";
import { wasReached } from "../../platform/delivery/response.ts";
import { PushState } from "./state.ts";
import { exportPush, importPushPage, type PushPage } from "./transfer.ts";
import type {
  DeadAgain,
  DeliveryPage,
  DeliveryReport,
  DeliveryState,
  OpenOutcome,
  PushOpening,
  PushPorts,
  PushStatus,
  RedeliverOutcome,
  TestOutcome,
} from "./types.ts";

/**
 * Delivery of one push subscription: its position in each shard, its pending deliveries, and their attempts.
 *
 *   absent ── open ──→ open, at rest ⇄ (wake, alarm) running ── destroy, or record or topic gone ──→ absent, for ever
 *
 * The record in D1 is the configuration (eligibility.ts). This object reads it, disables it after a 410, and stores the
 * outcome of the handshake in it. The object's name ends in the record's id, which is never used twice. Callers:
 * - The creation of a subscription calls `open` before it inserts the record. Without a record ten minutes later, the
 *   object deletes itself.
 * - Logs and the sweep call `wake`, an update calls `changed`, and the client calls `redeliver` and `sendTest`. Each of
 *   them sets an alarm or signals the current run. Only the alarm runs the dispatcher (dispatcher.ts).
 * - A deletion calls `destroy`. The dispatcher is stopped, so work in flight writes nothing.
 *
 * Failures:
 * - Eviction, deployment, crash: cursor, rows and pauses are in SQLite, and events after the cursor are read from the
 *   log again (deliveries.ts). The alarm finds due work again. It is set before a run does anything, and at the end of
 *   the run in the same turn as the last check for work. An attempt whose outcome was not written is repeated: delivery
 *   is at least once. An attempt is counted only after it was made.
 * - Lost response: every method may be repeated. The next wake or the sweep replaces a lost wake.
 * - Log or D1 fails: nothing is lost, and the object retries seconds later.
 *
 * deliveries.ts has the states of a delivery, endpoint-health.ts those of the endpoint, and handshake.ts those of
 * the handshake: while the record is unverified, the dispatcher pings the endpoint instead of sending events.
 */
export class PushSubscriptionObject extends RestorableObject<PushEnv> implements Subscriber {
  readonly ports: PushPorts;
  #open: OpenParts | undefined;
  /** Start of the current run. A run that is older than the runtime's limit for alarms was aborted. */
  #runningSinceMs: number | undefined;
  /** When the alarm set by this instance is due; Infinity if it set none. */
  #alarmAtMs = Infinity;
  #destroyed = false;
  /** Calls of `open` in progress. */
  #opening = 0;
  /** A log reported new events during one of them. */
  #wokenEarly = false;
  #testedAtMs = 0;
  #testing = false;

  constructor(context: DurableObjectState, env: PushEnv, ports: PushPorts) {
    super(context, env);
    this.ports = ports;
    const state = PushState.load(this.ctx.storage);
    if (state !== undefined) this.#open = this.#assemble(state);
  }

  /** Registers at the topic's logs and starts at the newest event. Call it before inserting the record. */
  async open(opening: PushOpening): Promise<OpenOutcome> {
    if (this.#open !== undefined) return { kind: "open" };
    const { topic, id } = opening;
    const name = pushObjectName(topic, id);
    this.#opening += 1;
    const ends = await askLogs(this.env.TOPIC_LOG, topic, shardsOf(topic), async (log): Promise<Start | "gone"> => {
      const read: ReadOutcome = await log.read(Number.MAX_SAFE_INTEGER, 1, 0, 1);
      const seq = await log.addSubscriber(name);
      return read.kind === "gone" || seq === "gone" ? "gone" : { seq, seen: read.resets?.at(-1)?.id };
    });
    this.#opening -= 1;
    const cursor: number[] = [];
    const seen = new Map<number, string>();
    for (const [shard, end] of ends.entries()) {
      if (end === "gone" || this.#destroyed) return { kind: "gone" };
      if (end === undefined) throw unavailable("a log of the topic does not answer");
      cursor.push(end.seq);
      if (end.seen !== undefined) seen.set(shard, end.seen);
    }
    // A parallel call may have opened the object.
    if (this.#open !== undefined) return { kind: "open" };
    const nowMs = systemClock.nowMs();
    const state = PushState.create(this.ctx.storage, opening, cursor, nowMs);
    if (seen.size > 0) state.rewind(cursor, seen);
    this.#open = this.#assemble(state);
    this.#setAlarm(this.#wokenEarly ? nowMs : nowMs + DELIVERY.openingMs);
    return { kind: "open" };
  }

  /** Signals new events. Returns once an alarm or the current run is certain to look for them. */
  wake(): WakeOutcome {
    if (this.#open === undefined) {
      // During `open`, the first logs that register the subscription may wake it before it is open.
      this.#wokenEarly = this.#opening > 0;
      return this.#wokenEarly ? "awake" : "gone";
    }
    this.#open.dispatcher.notify();
    // A paused, disabled or halted subscription looks for them when its wait ends.
    const nextMs = this.#open.dispatcher.nextMs();
    this.#runBy(nextMs === Infinity ? 0 : nextMs);
    return "awake";
  }

  /** Signals that the record changed or was deleted. */
  changed(): void {
    const open = this.#open;
    if (open === undefined) return;
    open.eligibility.forget();
    open.dispatcher.unpause();
    open.dispatcher.notify();
    this.#runBy(0);
  }

  /** Sends due deliveries. The runtime runs one alarm at a time and repeats an aborted one. */
  override async alarm(): Promise<void> {
    this.#alarmAtMs = Infinity;
    const open = this.#open;
    if (open === undefined) return;
    open.dispatcher.notify();
    const startMs = systemClock.nowMs();
    this.#setAlarm(startMs + DELIVERY.safetyMs);
    // The alarm set above runs again later and checks for work then.
    if (this.ports.maintenance === true || this.#isRunning(startMs)) return;
    this.#runningSinceMs = startMs;
    let outcome: RunOutcome | "failed";
    try {
      outcome = await open.dispatcher.run();
      if (outcome === "gone") await this.destroy();
    } catch (thrown) {
      this.ports.log.error("push run failed", { push: open.state.id, error: describeError(thrown) });
      outcome = "failed";
    }
    this.ports.meter.flushIfDue((work) => this.ctx.waitUntil(work));
    // If another run has started since, that run sets the next alarm.
    if (this.#runningSinceMs !== startMs) return;
    this.#runningSinceMs = undefined;
    if (this.#open === open) this.#endRun(open, outcome);
  }

  async status(): Promise<PushStatus> {
    const open = this.#open;
    if (open === undefined) return NOTHING;
    const { state, deliveries } = open;
    const stats = await Promise.all(
      shardsOf(state.topic).map(async (shard): Promise<LogStats | { kind: "gone" }> =>
        logOf(this.env.TOPIC_LOG, state.topic, shard).stats(),
      ),
    );
    if (this.#open !== open) return NOTHING;
    const untaken = stats.reduce(
      (sum, log, shard) =>
        log.kind === "gone"
          ? sum
          : sum + Math.max(0, log.lastSeq - Math.max(deliveries.taken[shard]!, log.firstSeq - 1)),
      0,
    );
    return {
      lag: untaken + deliveries.count("pending"),
      deadLetters: deliveries.count("dead"),
      eventsLost: state.eventsLost,
      pausedUntilMs: open.dispatcher.pausedUntilMs(),
      handshake: open.handshake.status(),
      ...(deliveries.isFailing() && { isFailing: true }),
    };
  }

  deliveries(state: DeliveryState | undefined, after: number | undefined, skip: number, limit: number): DeliveryPage {
    return this.#open?.deliveries.page(state, after, skip, limit) ?? { items: [], next: undefined };
  }

  /** One delivery, with the event's text as its attempts send it; undefined if there is no such delivery. */
  async delivery(eventId: string): Promise<DeliveryReport | undefined> {
    const open = this.#open;
    const row = open?.deliveries.find(eventId);
    if (open === undefined || row === undefined) return undefined;
    const { step: _step, tries: _tries, text, ...delivery } = row;
    if (text !== undefined) return { delivery, text };
    const found = await open.ingest.textOf(eventId);
    if (found === "failed") throw unavailable("a log of the topic does not answer");
    return { delivery, text: typeof found === "string" ? undefined : found.text };
  }

  /** Delivers an event again from the start of its schedule; a pending one at once. */
  async redeliver(eventId: string): Promise<RedeliverOutcome> {
    const open = this.#open;
    let row = open?.deliveries.find(eventId);
    if (open === undefined || row === undefined) return "unknown";
    let text: string | undefined;
    if (row.state === "delivered") {
      const found = await open.ingest.textOf(eventId);
      if (found === "failed") throw unavailable("a log of the topic does not answer");
      row = open === this.#open ? open.deliveries.find(eventId) : undefined;
      if (row === undefined) return "unknown";
      if (typeof found === "string") return "expired";
      text = found.text;
    }
    open.deliveries.restart(row, text, systemClock.nowMs());
    open.dispatcher.unpause();
    open.dispatcher.signal();
    this.#runBy(0);
    return "again";
  }

  /** Delivers dead letters again from the start of their schedule, the latest first. `more`: some are left. */
  redeliverDead(limit: number): DeadAgain {
    const open = this.#open;
    if (open === undefined) return { redelivered: 0, more: false };
    const redelivered = open.deliveries.restartDead(limit, systemClock.nowMs());
    const more = open.deliveries.count("dead") > 0;
    if (redelivered > 0) {
      open.dispatcher.unpause();
      open.dispatcher.signal();
      this.#runBy(0);
    }
    return { redelivered, more };
  }

  /** Sends a test event, ahead of all deliveries. Not called `test`, which runtimes reserve. */
  async sendTest(tenant: string): Promise<TestOutcome> {
    const open = this.#open;
    if (open === undefined) return { kind: "gone" };
    const nowMs = systemClock.nowMs();
    // A longer wait than the interval means that the clock was set back.
    const leftMs = this.#testedAtMs + DELIVERY.testEveryMs - nowMs;
    const retryAfterMs = leftMs > DELIVERY.testEveryMs ? 0 : Math.max(leftMs, 0);
    if (this.#testing || retryAfterMs > 0) return { kind: "busy", retryAfterMs: retryAfterMs || DELIVERY.testEveryMs };
    this.#testing = true;
    this.#testedAtMs = nowMs;
    try {
      return await open.dispatcher.withSlot(async () => {
        const target = await open.eligibility.target().catch((thrown: unknown) => {
          this.ports.log.error("push test not made", { push: open.state.id, error: describeError(thrown) });
          throw unavailable("the subscription cannot be read");
        });
        if (target === undefined || open !== this.#open) return { kind: "gone" };
        const message = testEvent(open.state.topic, tenant, this.ports.random, systemClock.nowMs());
        const { answer, attempt: made } = await attempt({ ...this.ports, clock: systemClock }, target, message);
        if (wasReached(answer)) open.dispatcher.learn(answer, target.version);
        if (made.error === undefined) open.dispatcher.unpause();
        return { kind: "tried", attempt: made };
      });
    } finally {
      this.#testing = false;
      if (open === this.#open) this.#runBy(0);
    }
  }

  /** Position of each shard up to which events were taken; undefined if there is no such object. */
  position(): readonly number[] | undefined {
    return this.#open?.deliveries.taken;
  }

  /** Exports the state, and deliveries after a place. */
  exportPage(after: number | undefined): PushPage | { readonly kind: "gone" } {
    const open = this.#open;
    return open === undefined ? { kind: "gone" } : exportPush(this.ctx.storage.sql, open, after ?? -1);
  }

  /** Imports a page into an absent object. The last page opens it. The import of the logs brings its registrations. */
  importPage(place: ImportPlace, page: PushPage): ImportOutcome {
    const { storage } = this.ctx;
    const outcome = importPushPage(storage, place, page);
    if (outcome !== "imported" || !place.isLast) return outcome;
    this.#destroyed = false;
    this.#open = this.#assemble(PushState.load(storage)!);
    this.#setAlarm(systemClock.nowMs());
    return outcome;
  }

  /** Deletes everything, because the topic or the subscription is being deleted. */
  async destroy(): Promise<void> {
    const open = this.#open;
    this.#destroyed = true;
    this.#open = undefined;
    open?.dispatcher.stop();
    await this.ctx.storage.deleteAll();
    if (open === undefined) return;
    const { topic, id } = open.state;
    // A log that misses this call wakes the object once more, gets "gone" and removes the entry.
    await askLogs(this.env.TOPIC_LOG, topic, shardsOf(topic), async (log) =>
      log.removeSubscribers([pushObjectName(topic, id)]),
    );
  }

  #assemble(state: PushState): OpenParts {
    const { ports, env, ctx } = this;
    const clock = systemClock;
    const deliveries = new Deliveries(ctx.storage.sql, state);
    const ingest = new PushIngest({ logs: env.TOPIC_LOG, state, deliveries, clock, log: ports.log });
    const eligibility = new PushEligibility(ports, clock, state);
    const handshake = new PushHandshake(ports, clock, state);
    const dispatcher = new PushDispatcher({ ports, clock, state, deliveries, ingest, eligibility, handshake });
    return { state, deliveries, ingest, eligibility, handshake, dispatcher };
  }

  /**
   * Ends a run: removes expired deliveries and sets the next alarm, in one turn, so that no signal is lost in between.
   */
  #endRun({ state, deliveries, dispatcher, eligibility }: OpenParts, outcome: RunOutcome | "failed"): void {
    try {
      const nowMs = systemClock.nowMs();
      deliveries.settle();
      const clearMs = deliveries.clear(nowMs) ? nowMs : deliveries.clearAtMs();
      // `restMs` bounds the wait, so that the object finds out that its record is gone even if nothing is published.
      const idleMs = outcome === "rests" ? dispatcher.nextMs() : nowMs;
      const workMs = outcome === "failed" ? nowMs + DELIVERY.failedAgainMs : idleMs;
      const nextMs = Math.min(workMs, clearMs, nowMs + DELIVERY.restMs);
      this.#setAlarm(Math.max(nextMs, nowMs));
      this.ctx.waitUntil(eligibility.report(deliveries.isFailing() || deliveries.count("dead") > 0));
    } catch (thrown) {
      // The alarm set before the run still stands. What was written is rolled back, so it is read again.
      deliveries.recount();
      this.ports.log.error("push run not finished", { push: state.id, error: describeError(thrown) });
    }
  }

  /** Sets the alarm to this time or now, whichever is later. A current run looks again by itself. */
  #runBy(timeMs: number): void {
    const nowMs = systemClock.nowMs();
    const atMs = Math.max(timeMs, nowMs);
    const isLost = nowMs > this.#alarmAtMs + DELIVERY.alarmLostMs;
    if (!this.#isRunning(nowMs) && (atMs < this.#alarmAtMs || isLost)) this.#setAlarm(atMs);
  }

  #isRunning(nowMs: number): boolean {
    return this.#runningSinceMs !== undefined && nowMs < this.#runningSinceMs + DELIVERY.maxRunMs;
  }

  #setAlarm(timeMs: number): void {
    this.#alarmAtMs = timeMs;
    this.ctx.waitUntil(this.ctx.storage.setAlarm(timeMs));
  }
}

const NOTHING: PushStatus = { lag: 0, deadLetters: 0, eventsLost: 0, pausedUntilMs: undefined, handshake: undefined };

export interface PushEnv {
  readonly TOPIC_LOG: DurableObjectNamespace<TopicLog>;
}

/** An error after which the caller retries (access/request.ts, `withRetryAfter`). */
const unavailable = (message: string): Error => Object.assign(new Error(message), { retryable: true });

/** The end of a log, and its last reset, which a new subscription counts as seen. */
interface Start {
  readonly seq: number;
  readonly seen: string | undefined;
}

interface OpenParts extends PushParts {
  readonly dispatcher: PushDispatcher;
}
