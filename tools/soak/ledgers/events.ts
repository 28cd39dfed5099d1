import type { Violations } from "./violations.ts";

export interface NewEvent {
  readonly payload: string;
  readonly tenant: string;
}

export interface ReadEvent extends NewEvent {
  readonly id: string;
}

/** A publish with an answer. Times by `performance.now()`. */
interface Published extends NewEvent {
  readonly sentMs: number;
  readonly ackedMs: number;
  /** Place within its request. */
  readonly place: number;
}

interface Batch {
  readonly events: readonly ReadEvent[];
  readonly answeredMs: number;
  /** Until then the lock surely existed: for its shortest life, or until its end was requested. */
  untilMs: number;
}

/** Two processes read the clock one after the other. */
const SLACK_MS = 50;

/**
 * The events that publishers, the consumer and the receiver saw, and the invariants over them. A request without an
 * answer may or may not have worked; everything else is certain.
 */
export class EventsLedger {
  readonly #violations: Violations;
  readonly published = new Map<string, Published>();
  readonly #maybe = new Set<string>();
  /** By lock token. */
  readonly #batches = new Map<string, Batch>();
  /** Event id → the token of its commit, and when that was known. */
  readonly committed = new Map<string, { readonly token: string; readonly knownMs: number }>();
  /** Events whose commit got no answer. */
  readonly #undecided = new Set<string>();
  readonly pushed = new Set<string>();
  readonly #order: { readonly token: string; readonly events: readonly ReadEvent[] }[] = [];

  constructor(violations: Violations) {
    this.#violations = violations;
  }

  acknowledged(batch: readonly NewEvent[], ids: readonly string[], sentMs: number, ackedMs: number): void {
    this.#violations.expect("publishing answers an id for each event", ids.length === batch.length, () =>
      ids.join(" "),
    );
    for (const [place, event] of batch.entries())
      this.published.set(ids[place] ?? "", { ...event, sentMs, ackedMs, place });
  }

  unknown(batch: readonly NewEvent[]): void {
    for (const { payload } of batch) this.#maybe.add(payload);
  }

  /** Records a batch under a lock that the platform gave for `ttlMs`. */
  read(token: string, events: readonly ReadEvent[], at: { sentMs: number; answeredMs: number; ttlMs: number }): void {
    const known = this.#batches.get(token);
    if (known !== undefined) {
      const same = known.events.map(({ id }) => id).join() === events.map(({ id }) => id).join();
      this.#violations.expect("a repeated read gets the same batch", same, () => token);
      return;
    }
    for (const other of this.#batches.values()) {
      const overlaps = other.answeredMs < at.sentMs && at.answeredMs < other.untilMs - SLACK_MS;
      this.#violations.expect("at most one lock at a time", !overlaps, () => `first event ${events[0]?.id ?? "none"}`);
    }
    for (const { id } of events) {
      const end = this.committed.get(id);
      const isLate = end !== undefined && end.knownMs < at.sentMs;
      this.#violations.expect("what is committed is not delivered again", !isLate, () => `event ${id}`);
    }
    this.#batches.set(token, { events, answeredMs: at.answeredMs, untilMs: at.sentMs + at.ttlMs });
  }

  /** The end of the lock is requested from now on. */
  ending(token: string, sentMs: number): void {
    const batch = this.#batches.get(token);
    if (batch !== undefined) batch.untilMs = Math.min(batch.untilMs, sentMs);
  }

  extended(token: string, untilMs: number): void {
    const batch = this.#batches.get(token);
    if (batch !== undefined && batch.untilMs > performance.now()) batch.untilMs = Math.max(batch.untilMs, untilMs);
  }

  commit(token: string, events: readonly ReadEvent[], knownMs: number): void {
    for (const { id } of events) {
      const other = this.committed.get(id);
      const isOnce = other === undefined || other.token === token;
      this.#violations.expect("an event is committed once", isOnce, () => `event ${id}`);
      this.committed.set(id, { token, knownMs });
    }
    this.#order.push({ token, events });
  }

  undecided(events: readonly ReadEvent[]): void {
    for (const { id } of events) this.#undecided.add(id);
  }

  /** Acknowledged events that were not pushed yet. */
  missingPushes(): string[] {
    return [...this.published.keys()].filter((id) => !this.pushed.has(id));
  }

  /** Checks everything at the end. */
  check(): void {
    for (const id of this.published.keys()) {
      const isRead = this.committed.has(id) || this.#undecided.has(id);
      this.#violations.expect("what was acknowledged is read and committed", isRead, () => `event ${id}`);
      this.#violations.expect("what was acknowledged is pushed", this.pushed.has(id), () => `event ${id}`);
    }
    const batches = this.#order.toSorted((a, b) => this.#answered(a.token) - this.#answered(b.token));
    const events = batches.flatMap((batch) => batch.events);
    const known = new Set(events.map(({ id }) => id));
    for (const event of events) {
      const sent = this.published.get(event.id);
      const isRight = sent === undefined ? this.#maybe.has(event.payload) : sent.payload === event.payload;
      this.#violations.expect("what is read was published so", isRight, () => `event ${event.id}`);
    }
    for (const id of this.pushed) {
      const isThere = known.has(id) || this.published.has(id) || this.#undecided.has(id);
      this.#violations.expect("what is pushed is in the topic", isThere, () => `event ${id}`);
    }
    this.#checkOrder(events);
  }

  /** Events of a tenant keep their order if the first was acknowledged before the second was sent. */
  #checkOrder(events: readonly ReadEvent[]): void {
    for (const tenant of new Set(events.map((event) => event.tenant))) {
      const own = events.filter((event) => event.tenant === tenant).toReversed();
      let firstAckedMs = Number.POSITIVE_INFINITY;
      let after: Published | undefined;
      for (const { id } of own) {
        const sent = this.published.get(id);
        if (sent === undefined) continue;
        const isLate = firstAckedMs < sent.sentMs;
        const isSwapped = after !== undefined && after.sentMs === sent.sentMs && after.place < sent.place;
        this.#violations.expect("order within a tenant", !isLate && !isSwapped, () => `${tenant}: event ${id}`);
        firstAckedMs = Math.min(firstAckedMs, sent.ackedMs);
        after = sent;
      }
    }
  }

  #answered(token: string): number {
    return this.#batches.get(token)?.answeredMs ?? 0;
  }
}
