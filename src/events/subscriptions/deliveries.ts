import type { Problem } from "../../http/errors/errors.ts";
import { type CursorPart, type Page, type Paging, invalidCursor, checkPreviousPage } from "../../http/input/paging.ts";
import type { Names } from "../../platform/model/names.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { positionOf } from "../log/event-id.ts";
import type { Failure } from "../model/failure.ts";
import type { PushRecord } from "../push/record/record.ts";
import { shownHeaders } from "../push/request.ts";
import { pushOf } from "../push/stub.ts";
import type {
  Attempt,
  DeadAgain,
  Delivery,
  DeliveryPage,
  DeliveryReport,
  DeliveryState,
  RedeliverOutcome,
  TestOutcome,
} from "../push/types.ts";
import type { FoundSubscription, SubscriptionPorts } from "./subscriptions.ts";

/** A page of deliveries, the latest first. */
export async function listDeliveries(
  ports: SubscriptionPorts,
  found: FoundSubscription,
  state: DeliveryState | undefined,
  paging: Paging,
): Promise<Result<Page<Delivery>, Problem>> {
  const after = paging.cursor === undefined ? undefined : placeOf(paging.cursor);
  if (paging.cursor !== undefined && after === undefined) return err(invalidCursor());
  const deliveries = objectOf(ports, found);
  const { items, next }: DeliveryPage = await deliveries.deliveries(state, after, paging.skip, paging.pageSize);
  const page = { items, next: next === undefined ? undefined : [next] };
  return ok(
    await checkPreviousPage(page, paging, async ({ skip, limit }) => {
      const before: DeliveryPage = await deliveries.deliveries(state, undefined, skip, limit);
      return before.items;
    }),
  );
}

/** One delivery, with the event that its attempts send. */
export async function findDelivery(
  ports: SubscriptionPorts,
  found: FoundSubscription,
  eventId: string,
): Promise<Result<DeliveryReport, Failure>> {
  if (positionOf(eventId) === undefined) return err({ kind: "no_delivery" });
  const report: DeliveryReport | undefined = await objectOf(ports, found).delivery(eventId);
  return report === undefined ? err({ kind: "no_delivery" }) : ok(report);
}

/** Runs before a redelivery that is not refused for the subscription. If it fails, nothing is delivered. */
type First = () => Promise<void>;

/** Delivers an event again as if it had never been tried. */
export async function redeliver(
  ports: SubscriptionPorts,
  found: FoundSubscription,
  eventId: string,
  first: First = async () => {},
): Promise<Result<void, Failure>> {
  // A text that is not an event id was never delivered.
  if (positionOf(eventId) === undefined) return err({ kind: "no_delivery" });
  const refused = notActive(found);
  if (refused !== undefined) return err(refused);
  await first();
  const outcome: RedeliverOutcome = await objectOf(ports, found).redeliver(eventId);
  switch (outcome) {
    case "again":
      return ok(undefined);
    case "unknown":
      return err({ kind: "no_delivery" });
    case "expired":
      return err({ kind: "event_expired" });
  }
}

/** Delivers dead letters again, the latest first. */
export async function redeliverDead(
  ports: SubscriptionPorts,
  found: FoundSubscription,
  limit: number,
  first: First,
): Promise<Result<DeadAgain, Failure>> {
  const refused = notActive(found);
  if (refused !== undefined) return err(refused);
  await first();
  return ok(await objectOf(ports, found).redeliverDead(limit));
}

/** The failure if the subscription is not active, so that nothing can be delivered. */
const notActive = ({ record: { state } }: FoundSubscription): Failure | undefined =>
  state === "active" ? undefined : { kind: state === "disabled" ? "subscription_disabled" : "subscription_unverified" };

/** Sends a test event to the endpoint once and returns the attempt. */
export async function testSubscription(
  ports: SubscriptionPorts,
  found: FoundSubscription,
  tenant: string,
): Promise<Result<Attempt, Failure>> {
  // An endpoint that has not confirmed gets no events, not even tests.
  if (found.record.state === "unverified" || found.record.state === "failed")
    return err({ kind: "subscription_unverified" });
  const outcome: TestOutcome = await objectOf(ports, found).sendTest(tenant);
  switch (outcome.kind) {
    case "tried":
      return ok(outcome.attempt);
    case "busy":
      return err({ kind: "test_busy", retryAfterMs: outcome.retryAfterMs });
    case "gone":
      return err({ kind: "no_subscription" });
  }
}

/** A delivery as its client sees it. A subscription that is not active has no next attempt. */
export const deliveryView = (delivery: Delivery, { state }: PushRecord) => ({
  eventId: delivery.eventId,
  state: delivery.state,
  nextAttemptAt: state !== "active" ? null : (delivery.nextAttemptAtMs ?? null),
  attemptCount: delivery.attemptCount,
  attempts: delivery.attempts.map(({ atMs, ...attempt }) => ({ at: atMs, ...resultOf(attempt) })),
});

/** A delivery with the request and response of each attempt. */
export const reportView = ({ delivery, text }: DeliveryReport, record: PushRecord, names: Names) => {
  const { eventId, attempts, attemptCount } = delivery;
  const before = attemptCount - attempts.length;
  return {
    ...deliveryView(delivery, record),
    body: text ?? null,
    attempts: attempts.map(({ atMs, said, ...attempt }, at) => ({
      at: atMs,
      ...resultOf(attempt),
      headers: shownHeaders(names, eventId, atMs, before + at + 1),
      answer: said ?? null,
    })),
  };
};

export const testView = (attempt: Attempt) => ({ delivered: attempt.error === undefined, ...resultOf(attempt) });

const resultOf = ({ durationMs, status, error }: Omit<Attempt, "atMs">) => ({
  durationMs,
  status: status ?? null,
  error: error ?? null,
});

const objectOf = (ports: SubscriptionPorts, { topic, record }: FoundSubscription) =>
  pushOf(ports.pushSubscriptions, topic, record.id);

function placeOf(cursor: readonly CursorPart[]): number | undefined {
  const [place] = cursor;
  return cursor.length === 1 && typeof place === "number" && Number.isSafeInteger(place) ? place : undefined;
}
