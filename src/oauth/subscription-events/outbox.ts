import type { BuiltIn } from "../../platform/model/built-in.ts";
import type { Clock } from "../../platform/runtime/clock.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import type { Names } from "../../platform/model/names.ts";
import { randomId, type Random } from "../../platform/runtime/random.ts";
import { withTimeout } from "../../platform/runtime/with-timeout.ts";
import { topicOwner, subscriptionEvents, type SubscriptionEvent } from "./events.ts";
import { createOutboxStore, type OutboxRow } from "./outbox-store.ts";

/** Port to the events service. Stores all events or none. Throws if the result is unknown. */
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
  /** Deprecated schemas are published too. */
  readonly deprecatedEvents: boolean;
}

/**
 * Our choice. A run fits the 30 s that an invocation has after its response, and its subrequests. The lease is longer
 * than one row takes, and is extended after each.
 */
export const DRAIN = { leaseMs: 30_000, runMs: 20_000, publishWaitMs: 5_000, rowsARun: 200, rowsAPage: 50 } as const;

export type Outbox = ReturnType<typeof createOutbox>;

/**
 * Publishes the events of subscriptions that changed in the database.
 *
 *   subscribe or cancel ── one transaction: subscription, outbox row ──→ drain, at once and by schedule
 *   drain: lease → each row in order: publish its events, all or none, the row's id as key → remove row → release
 *
 * - A crash after any step loses nothing: the row stays until its events are stored. The next drain publishes it
 *   again, and the topic recognizes the key for 24 h. If no drain removes a published row within that time, consumers
 *   get its events twice. They can tell by the subscription id in the payload.
 * - The lease prevents parallel drains. A drain that lost its lease unnoticed does no harm: it publishes one row at a
 *   time in the same order, so it can only repeat.
 * - A row that cannot be published holds back later rows of its tenant in this run, and no other tenant's. No row is
 *   too large to be published, because the table limits its size.
 * - A drain that finds the lease taken stops. The holder looks for new rows in the transaction that releases the lease.
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

  /** Publishes rows until none is left, the run has reached its limits, or the lease is lost. */
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
    waiting: store.waiting,
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
