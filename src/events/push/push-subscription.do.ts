import { DurableObject } from "cloudflare:workers";
import { systemClock } from "../../platform/clock.ts";
import { describeError } from "../../platform/log.ts";
import { askLogs, logOf } from "../log/client.ts";
import type { Subscriber, WakeOutcome } from "../log/subscriber.ts";
import type { TopicLog } from "../log/topic-log.do.ts";
import type { LogStats } from "../log/types.ts";
import { DELIVERY } from "../model/limits.ts";
import { pushObjectName, shardsOf } from "../model/topic.ts";
import { DeliveryTable } from "./delivery-table.ts";
import { PushDispatcher, type PushParts } from "./dispatcher.ts";
import { PushEligibility } from "./eligibility.ts";
import { PushHandshake } from "./handshake.ts";
import { PushIngest } from "./ingest.ts";
import { attempt, testEvent } from "./request.ts";
import { wasReached } from "./response.ts";
import { PushState } from "./state.ts";
import type {
  DeliveryPage,
  DeliveryState,
  OpenOutcome,
  PushOpening,
  PushPorts,
  PushStatus,
  RedeliverOutcome,
  TestOutcome,
} from "./types.ts";

/**
 * The delivery of one push subscription: how far it is on each shard, which events are on their way, what was tried.
 *
 *   absent ── open ──→ open, at rest ⇄ (wake, alarm) running ── destroy, or record or topic gone ──→ absent, for ever
 *
 * The record in D1 says what was asked for (eligibility.ts) and is read, never written here but for 410. The object's
 * name ends in the record's id, which is never used twice. Who does what:
 * - `open` by whoever makes the subscription, before the record is there. Without a record ten minutes later the object
 *   takes itself for gone.
 * - `wake` by the logs and the sweep, `changed` by an update, `redeliver` and `sendTest` by the client. Each leaves an
 *   alarm, or finds a run under way that looks again; only the alarm runs the dispatcher (dispatcher.ts).
 * - `destroy` by a deletion. All that is in flight finds the dispatcher stopped and writes nothing.
 *
 * What survives what:
 * - Eviction, deployment, a crash: cursor, rows and pauses are in SQLite; what is due is found again by the alarm, which
 *   is armed before a run does anything and set anew when it ends, in one turn with the last look. An attempt whose
 *   outcome was not written is made again: at least once. Nothing counts as tried before it was.
 * - A lost answer: each method may be repeated. A wake that is lost is made up for by the next one and by the sweep.
 * - A log that fails, D1 that fails: nothing is lost, it is tried again some seconds later.
 * - The states of a delivery stand in delivery-table.ts, those of the endpoint in endpoint-health.ts, whether it wants the events
 *   in handshake.ts: the record says that it is not verified yet, and the dispatcher asks it in the place of sending events.
 */
export class PushSubscriptionObject extends DurableObject<PushEnv> implements Subscriber {
  readonly ports: PushPorts;
  #life: Life | undefined;
  /** When the run that is under way began; one that takes longer than an alarm may was cut off. */
  #runningSinceMs: number | undefined;
  /** When the alarm that this instance set is due; Infinity when it set none. */
  #alarmAtMs = Infinity;
  #destroyed = false;
  /** Calls of `open` that are under way, and whether a log told of new events meanwhile. */
  #opening = 0;
  #wokenEarly = false;
  #testedAtMs = 0;
  #testing = false;

  constructor(context: DurableObjectState, env: PushEnv, ports: PushPorts) {
    super(context, env);
    this.ports = ports;
    const state = PushState.load(this.ctx.storage);
    if (state !== undefined) this.#life = this.#live(state);
  }

  /** Registers at the topic's logs and starts at the newest event. To be called before the record is inserted. */
  async open(opening: PushOpening): Promise<OpenOutcome> {
    if (this.#life !== undefined) return { kind: "open" };
    const { topic, id } = opening;
    const name = pushObjectName(topic, id);
    this.#opening += 1;
    const ends = await askLogs(this.env.TOPIC_LOG, topic, shardsOf(topic), async (log): Promise<number | "gone"> =>
      log.addSubscriber(name),
    );
    this.#opening -= 1;
    const cursor: number[] = [];
    for (const end of ends) {
      if (end === "gone" || this.#destroyed) return { kind: "gone" };
      if (end === undefined) throw unavailable("a log of the topic does not answer");
      cursor.push(end);
    }
    // Another call of the same may have been first.
    if (this.#life !== undefined) return { kind: "open" };
    const nowMs = systemClock.nowMs();
    this.#life = this.#live(PushState.create(this.ctx.storage, opening, cursor, nowMs));
    this.#wakeAt(this.#wokenEarly ? nowMs : nowMs + DELIVERY.openingMs);
    return { kind: "open" };
  }

  /** There are new events. Returns as soon as it is certain that they will be looked for. */
  wake(): WakeOutcome {
    if (this.#life === undefined) {
      // A log knows of it already, another one not yet.
      this.#wokenEarly = this.#opening > 0;
      return this.#wokenEarly ? "awake" : "gone";
    }
    this.#life.dispatcher.notify();
    // One that is paused, disabled or without rights looks for them when that is over.
    const nextMs = this.#life.dispatcher.nextMs();
    this.#runAt(nextMs === Infinity ? 0 : nextMs);
    return "awake";
  }

  /** The record changed, or went. */
  changed(): void {
    const life = this.#life;
    if (life === undefined) return;
    life.eligibility.forget();
    life.dispatcher.unpause();
    life.dispatcher.notify();
    this.#runAt(0);
  }

  /** Sends what is due. The runtime calls it once at a time, and again if it is cut off. */
  override async alarm(): Promise<void> {
    this.#alarmAtMs = Infinity;
    const life = this.#life;
    if (life === undefined) return;
    life.dispatcher.notify();
    const startMs = systemClock.nowMs();
    this.#wakeAt(startMs + DELIVERY.safetyMs);
    if (this.#isRunning(startMs)) return;
    this.#runningSinceMs = startMs;
    let nextMs: (() => number) | undefined;
    try {
      const outcome = await life.dispatcher.run();
      if (outcome === "gone") await this.destroy();
      nextMs = () => (outcome === "rests" ? life.dispatcher.nextMs() : 0);
    } catch (thrown) {
      this.ports.log.error("push run failed", { push: life.state.id, error: describeError(thrown) });
      nextMs = () => systemClock.nowMs() + DELIVERY.failedAgainMs;
    }
    // Another one that began since sees to what is next.
    if (this.#runningSinceMs !== startMs) return;
    this.#runningSinceMs = undefined;
    if (this.#life === life) this.#rest(life, nextMs);
  }

  async status(): Promise<PushStatus> {
    const life = this.#life;
    if (life === undefined) return NOTHING;
    const { state, deliveries } = life;
    const stats = await Promise.all(
      shardsOf(state.topic).map(async (shard): Promise<LogStats | { kind: "gone" }> =>
        logOf(this.env.TOPIC_LOG, state.topic, shard).stats(),
      ),
    );
    if (this.#life !== life) return NOTHING;
    const untaken = stats.reduce(
      (sum, log, shard) =>
        log.kind === "gone" ? sum : sum + Math.max(0, log.lastSeq - Math.max(state.cursor[shard]!, log.firstSeq - 1)),
      0,
    );
    return {
      lag: untaken + deliveries.count("pending"),
      deadLetters: deliveries.count("dead"),
      eventsLost: state.eventsLost,
      pausedUntilMs: life.dispatcher.pausedUntilMs(),
      handshake: life.handshake.status(),
    };
  }

  deliveries(state: DeliveryState | undefined, after: number | undefined, skip: number, limit: number): DeliveryPage {
    return this.#life?.deliveries.page(state, after, skip, limit) ?? { items: [], next: undefined };
  }

  /** Delivers an event once more, from the beginning of its schedule; a pending one at once. */
  async redeliver(eventId: string): Promise<RedeliverOutcome> {
    const life = this.#life;
    let row = life?.deliveries.find(eventId);
    if (life === undefined || row === undefined) return "unknown";
    let text: string | undefined;
    if (row.state === "delivered") {
      const found = await life.ingest.textOf(eventId);
      if (found === "failed") throw unavailable("a log of the topic does not answer");
      row = life === this.#life ? life.deliveries.find(eventId) : undefined;
      if (row === undefined) return "unknown";
      if (typeof found === "string") return "expired";
      text = found.text;
    }
    life.deliveries.again(row, text, systemClock.nowMs());
    life.dispatcher.unpause();
    life.dispatcher.signal();
    this.#runAt(0);
    return "again";
  }

  /**
   * Sends an event that says that it is a test, whatever else is waiting. Not called `test`: runtimes keep that name for
   * themselves.
   */
  async sendTest(tenant: string): Promise<TestOutcome> {
    const life = this.#life;
    if (life === undefined) return { kind: "gone" };
    const nowMs = systemClock.nowMs();
    // Longer than it ever is after the clock was set back.
    const leftMs = this.#testedAtMs + DELIVERY.testEveryMs - nowMs;
    const retryAfterMs = leftMs > DELIVERY.testEveryMs ? 0 : Math.max(leftMs, 0);
    if (this.#testing || retryAfterMs > 0) return { kind: "busy", retryAfterMs: retryAfterMs || DELIVERY.testEveryMs };
    this.#testing = true;
    this.#testedAtMs = nowMs;
    try {
      return await life.dispatcher.withSlot(async () => {
        const target = await life.eligibility.target().catch((thrown: unknown) => {
          this.ports.log.error("push test not made", { push: life.state.id, error: describeError(thrown) });
          throw unavailable("the subscription cannot be read");
        });
        if (target === undefined || life !== this.#life) return { kind: "gone" };
        const message = testEvent(life.state.topic, tenant, this.ports.random, systemClock.nowMs());
        const { answer, attempt: made } = await attempt({ ...this.ports, clock: systemClock }, target, message);
        if (wasReached(answer)) life.dispatcher.learn(answer, target.version);
        if (made.error === undefined) life.dispatcher.unpause();
        return { kind: "tried", attempt: made };
      });
    } finally {
      this.#testing = false;
      if (life === this.#life) this.#runAt(0);
    }
  }

  /** Forgets everything: the topic is being deleted, or the subscription was. */
  async destroy(): Promise<void> {
    const life = this.#life;
    this.#destroyed = true;
    this.#life = undefined;
    life?.dispatcher.stop();
    await this.ctx.storage.deleteAll();
    if (life === undefined) return;
    const { topic, id } = life.state;
    // A log that does not hear of it wakes this object once more, and is told.
    await askLogs(this.env.TOPIC_LOG, topic, shardsOf(topic), async (log) =>
      log.removeSubscribers([pushObjectName(topic, id)]),
    );
  }

  #live(state: PushState): Life {
    const { ports, env, ctx } = this;
    const clock = systemClock;
    const deliveries = new DeliveryTable(ctx.storage.sql);
    const ingest = new PushIngest({ logs: env.TOPIC_LOG, state, deliveries, clock, log: ports.log });
    const eligibility = new PushEligibility(ports, clock, state);
    const handshake = new PushHandshake(ports, clock, state);
    const dispatcher = new PushDispatcher({ ports, clock, state, deliveries, ingest, eligibility, handshake });
    return { state, deliveries, ingest, eligibility, handshake, dispatcher };
  }

  /** After a run: clears what is over, and wakes for what is next. In one turn, or news could come in between. */
  #rest({ state, deliveries }: Life, dispatcherNextMs: () => number): void {
    try {
      const nowMs = systemClock.nowMs();
      const clearMs = deliveries.clear(nowMs) ? nowMs : deliveries.clearAtMs();
      // One whose record went without its knowing finds out, also where nothing is published any more.
      const nextMs = Math.min(dispatcherNextMs(), clearMs, nowMs + DELIVERY.restMs);
      this.#wakeAt(Math.max(nextMs, nowMs));
    } catch (thrown) {
      // The alarm that was armed before the run stands.
      this.ports.log.error("push run did not end well", { push: state.id, error: describeError(thrown) });
    }
  }

  /** At this time or at once, whatever is later; a run that is under way looks again by itself. */
  #runAt(timeMs: number): void {
    const nowMs = systemClock.nowMs();
    const atMs = Math.max(timeMs, nowMs);
    const isLost = nowMs > this.#alarmAtMs + DELIVERY.alarmLostMs;
    if (!this.#isRunning(nowMs) && (atMs < this.#alarmAtMs || isLost)) this.#wakeAt(atMs);
  }

  #isRunning(nowMs: number): boolean {
    return this.#runningSinceMs !== undefined && nowMs < this.#runningSinceMs + DELIVERY.maxRunMs;
  }

  #wakeAt(timeMs: number): void {
    this.#alarmAtMs = timeMs;
    this.ctx.waitUntil(this.ctx.storage.setAlarm(timeMs));
  }
}

const NOTHING: PushStatus = { lag: 0, deadLetters: 0, eventsLost: 0, pausedUntilMs: undefined, handshake: undefined };

export interface PushEnv {
  readonly TOPIC_LOG: DurableObjectNamespace<TopicLog>;
}

/** For the caller to try again: such an error is no bug (access/request.ts, `withRetryAfter`). */
const unavailable = (message: string): Error => Object.assign(new Error(message), { retryable: true });

interface Life extends PushParts {
  readonly dispatcher: PushDispatcher;
}
