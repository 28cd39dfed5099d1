import type { BuiltIn } from "../../platform/built-in.ts";
import type { Clock } from "../../platform/clock.ts";
import { describeError, type Log } from "../../platform/log.ts";
import type { Names } from "../../platform/names.ts";
import { randomId, type Random } from "../../platform/random.ts";
import { withTimeout } from "../../platform/with-timeout.ts";
import { topicOwner, subscriptionEvents, type SubscriptionEvent } from "./events.ts";
import { createOutboxStore, type OutboxRow } from "./outbox-store.ts";

/** Port to the events room. Stores all events or none; throws when it is not known that they are stored. */
export interface EventPublisher {
  publish(
    topic: { readonly owner: string; readonly eventType: string },
    events: readonly SubscriptionEvent[],
    key: string,
    nowMs: number,
  ): Promise<void>;
}

export interface OutboxDeps {
  readonly names: Names;
  readonly builtIn: BuiltIn;
  readonly db: D1Database;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly publisher: EventPublisher;
  /** Whether the deprecated schemas are published too. */
  readonly deprecatedEvents: boolean;
}

/**
 * All our choice. A run fits the 30 s that work beside an answer may take and the calls that an invocation may make;
 * the lease is longer than any step and is extended with each.
 */
export const DRAIN = { leaseMs: 30_000, runMs: 20_000, publishWaitMs: 5_000, rowsARun: 200, rowsAPage: 50 } as const;

export type Outbox = ReturnType<typeof createOutbox>;

/**
 * Events of subscriptions, published exactly when the database changed (contract 2.8).
 *
 *   subscribe or cancel ── one transaction: subscription, outbox row ──→ drain, at once and by schedule
 *   drain: lease → each row in order: publish its events, all or none, under the row's id as key → remove the row → release
 *
 * - A crash after any step loses nothing: the row is there until its events are stored. The next drain publishes the
 *   row
 *   again, and the topic knows the key for 24 h. Only when nothing could be drained for 24 h after events were stored and
 *   their row was not removed do consumers get them a second time; the payload's subscription id tells.
 * - The lease keeps drains from working side by side. One that lost its lease without noticing does no harm: it
 *   publishes one row at a time in the same order, so all it can do is to repeat.
 * - A row that cannot be published, or not in time, keeps the later ones of its tenant back in this run, and nobody
 *   else's. No row is too large to be published: the table takes none that is.
 * - Who finds the lease taken leaves: the holder looks for rows that came meanwhile in the transaction in which it
 *   gives the lease back.
 */
export function createOutbox(deps: OutboxDeps) {
  const { names, clock, random, log, publisher } = deps;
  const store = createOutboxStore(deps.db, deps.builtIn);
  const owner = topicOwner(names);

  async function publish(row: OutboxRow): Promise<boolean> {
    const { eventType, snapshot, id, tenant } = row;
    try {
      const events = subscriptionEvents(eventType, snapshot, { deprecated: deps.deprecatedEvents });
      await withTimeout(DRAIN.publishWaitMs, publisher.publish({ owner, eventType }, events, id, clock.nowMs()));
      return true;
    } catch (thrown) {
      log.error("event not published", { outboxId: id, eventType, tenant, error: describeError(thrown) });
      return false;
    }
  }

  /** Until nothing is left, the run is over, or the lease is another's. */
  async function publishPending(run: Run): Promise<void> {
    for (;;) {
      const rows = await store.pending(run.afterSeq, DRAIN.rowsAPage);
      for (const row of rows) {
        if (isOver(run, clock.nowMs())) return;
        run.afterSeq = row.seq;
        if (run.stuck.has(row.tenant)) continue;
        run.rows += 1;
        const published = await publish(row);
        if (!published) run.stuck.add(row.tenant);
        if (!(await store.extend(run.holder, clock.nowMs() + DRAIN.leaseMs, published ? row.seq : undefined))) return;
      }
      if (rows.length < DRAIN.rowsAPage) return;
    }
  }

  return {
    /** To run after the insertion of a subscription. Writes nothing unless the subscription exists. */
    created: (subscriptionId: string, nowMs: number): D1PreparedStatement =>
      store.created(randomId(random), subscriptionId, nowMs),
    /** To run before the removal of a subscription. Writes nothing if there is none. */
    cancelled: (tenant: string, packageId: string, nowMs: number): D1PreparedStatement =>
      store.cancelled(randomId(random), tenant, packageId, nowMs),
    async drain(): Promise<void> {
      const run: Run = {
        holder: randomId(random),
        endsMs: clock.nowMs() + DRAIN.runMs,
        rows: 0,
        afterSeq: 0,
        stuck: new Set(),
      };
      let more = true;
      while (more && !isOver(run, clock.nowMs())) {
        if (!(await store.acquire(run.holder, clock.nowMs(), clock.nowMs() + DRAIN.leaseMs))) return;
        try {
          await publishPending(run);
        } finally {
          more = await store.release(run.holder, run.afterSeq);
        }
      }
    },
  };
}

interface Run {
  readonly holder: string;
  readonly endsMs: number;
  /** Tenants with a row that could not be published. */
  readonly stuck: Set<string>;
  rows: number;
  afterSeq: number;
}

const isOver = (run: Run, nowMs: number): boolean => nowMs >= run.endsMs || run.rows >= DRAIN.rowsARun;
