import { noSuch, type Problem } from "../../http/errors/errors.ts";
import { type Page, type Paging } from "../../http/input/paging.ts";
import { empty, json, jsonPage, type Answer } from "../../http/route.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { withRetryAfter, type RequestPorts } from "../access/request.ts";
import type { Failure } from "../model/failure.ts";
import { OPERATED } from "../model/limits.ts";
import { pushAudit, type ChangedBy } from "../push/record/audit.ts";
import type { PushFilter } from "../push/record/record-store.ts";
import type { PushRecord } from "../push/record/record.ts";
import type { DeliveryState } from "../push/types.ts";
import { troubledSubscriptions, type Troubled } from "./troubled.ts";
import { deleteSubscription } from "../subscriptions/changes.ts";
import {
  deliveryView,
  findDelivery,
  listDeliveries,
  redeliver,
  redeliverDead,
  reportView,
  testSubscription,
  testView,
} from "../subscriptions/deliveries.ts";
import {
  activeTopic,
  statusOf,
  topicOf,
  type Change,
  type FoundSubscription,
  type SubscriptionPorts,
} from "../subscriptions/subscriptions.ts";

/**
 * Push subscriptions of all clients, for the operator service, which checks the caller's rights.
 *
 * A redelivery is logged first: if its row were written after it and failed, the operator would repeat it, and the
 * endpoint would get the events twice.
 */
export interface OperatedSubscriptions {
  find(id: string): Promise<PushRecord | undefined>;
  /** Lists by id; undefined if the cursor belongs to another list. */
  list(filter: PushFilter, paging: Paging): Promise<Page<PushRecord> | undefined>;
  /** Removes a subscription. True if it existed. */
  remove(id: string, change: Change): Promise<boolean>;
  /** Returns the progress of its deliveries. */
  status(id: string, nowMs: number): Promise<Answer>;
  deliveries(id: string, state: DeliveryState | undefined, paging: Paging, url: URL, nowMs: number): Promise<Answer>;
  /** Returns one delivery, with the request and response of each attempt. */
  delivery(id: string, eventId: string, nowMs: number): Promise<Answer>;
  redeliver(id: string, eventId: string, by: ChangedBy, nowMs: number): Promise<Answer>;
  /** Delivers dead letters again, the latest first, as many as one request may. */
  redeliverDead(id: string, by: ChangedBy, nowMs: number): Promise<Answer>;
  test(id: string, tenant: string, by: ChangedBy, nowMs: number): Promise<Answer>;
  /** Some subscriptions with trouble. */
  troubled(): Promise<readonly Troubled[]>;
}

export function operatedSubscriptions(ports: RequestPorts & SubscriptionPorts): OperatedSubscriptions {
  const { store } = ports.push;
  const on = (
    id: string,
    nowMs: number,
    run: (found: FoundSubscription) => Promise<Result<Answer, Failure | Problem>>,
  ): Promise<Answer> =>
    withRetryAfter(ports, async () => {
      const record = await store.findAsked(id);
      const topic = record === undefined ? undefined : await activeTopic(ports, topicOf(record), nowMs);
      // A topic that was created again has other subscriptions.
      if (record === undefined || topic?.incarnation !== record.incarnation) return err(noSuch("push subscription"));
      return run({ topic, record });
    });
  return {
    find: (id) => store.findAsked(id),
    list: (filter, paging) => store.listAll(filter, paging),
    async remove(id, change) {
      const record = await store.findAsked(id);
      return record !== undefined && (await deleteSubscription(ports, record, change)).ok;
    },
    status: (id, nowMs) => on(id, nowMs, async (found) => ok(json(200, await statusOf(ports, found)))),
    deliveries: (id, state, paging, url, nowMs) =>
      on(id, nowMs, async (found) => {
        const page = await listDeliveries(ports, found, state, paging);
        if (!page.ok) return page;
        return ok(jsonPage({ url, paging }, page.value, (delivery) => deliveryView(delivery, found.record)));
      }),
    delivery: (id, eventId, nowMs) =>
      on(id, nowMs, async (found) => {
        const report = await findDelivery(ports, found, eventId);
        if (!report.ok) return report;
        const shown = reportView(report.value, found.record, ports.names);
        return ok(json(200, shown, { "cache-control": "no-store" }));
      }),
    redeliver: (id, eventId, by, nowMs) =>
      on(id, nowMs, async (found) => {
        const report = await findDelivery(ports, found, eventId);
        if (!report.ok) return report;
        if (report.value.text === undefined) return err({ kind: "event_expired" });
        const again = await redeliver(ports, found, eventId, () =>
          store.noted(pushAudit(found.record, "redeliver", by, nowMs, `event ${eventId}`)),
        );
        return again.ok ? ok(empty(202)) : again;
      }),
    redeliverDead: (id, by, nowMs) =>
      on(id, nowMs, async (found) => {
        const { deadLetters } = await statusOf(ports, found);
        const reason = `dead letters: ${Math.min(deadLetters ?? Infinity, OPERATED.redelivered)}`;
        const again = await redeliverDead(ports, found, OPERATED.redelivered, async () => {
          if (deadLetters !== 0) await store.noted(pushAudit(found.record, "redeliver", by, nowMs, reason));
        });
        return again.ok ? ok(json(202, again.value)) : again;
      }),
    troubled: () => troubledSubscriptions(ports),
    test: (id, tenant, by, nowMs) =>
      on(id, nowMs, async (found) => {
        const tried = await testSubscription(ports, found, tenant);
        if (!tried.ok) return tried;
        await store.noted(pushAudit(found.record, "test", by, nowMs));
        return ok(json(200, testView(tried.value)));
      }),
  };
}
