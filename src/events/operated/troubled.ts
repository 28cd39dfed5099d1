import { OPERATED } from "../model/limits.ts";
import type { PushRecord } from "../push/record/record.ts";
import { pushStatusOf, topicOf, type SubscriptionPorts } from "../subscriptions/subscriptions.ts";

/** A subscription that delivers nothing, or has dead letters, or an endpoint that does not take events. */
export interface Troubled {
  readonly kind: "push_stopped" | "push_failing" | "dead_letters";
  readonly id: string;
  readonly topic: string;
  readonly name: string;
  /** Dead letters, or events that wait; null: deliveries stopped. */
  readonly count: number | null;
}

/**
 * The look takes the first subscriptions by id, in one read of D1, and asks the objects of some that deliver, the most
 * recently changed ones. So it costs the same however many there are.
 */
export async function troubledSubscriptions(ports: SubscriptionPorts): Promise<readonly Troubled[]> {
  const first = { pageNumber: 1, pageSize: OPERATED.lookedAt, skip: 0, cursor: undefined, filters: [] };
  const records = (await ports.push.store.listAll({}, first))?.items ?? [];
  const [stopped, delivering] = [records.filter(isStopped), records.filter((one) => !isStopped(one))];
  const asked = delivering.toSorted((a, b) => b.updatedAtMs - a.updatedAtMs).slice(0, OPERATED.asked);
  const found = await Promise.all(asked.map(async (record) => troubleOf(ports, record)));
  return [...stopped.map((record) => trouble("push_stopped", record, null)), ...found.flat()];
}

/** An endpoint that has not confirmed yet is not stopped: it was asked. */
const isStopped = ({ state, halt }: PushRecord): boolean =>
  state === "disabled" || state === "failed" || halt !== undefined;

async function troubleOf(ports: SubscriptionPorts, record: PushRecord): Promise<readonly Troubled[]> {
  const topic = { ...topicOf(record), incarnation: record.incarnation };
  const status = await pushStatusOf(ports, { topic, record });
  if (status === undefined) return [];
  const { lag, deadLetters, pausedUntilMs, isFailing = false } = status;
  return [
    ...(deadLetters === 0 ? [] : [trouble("dead_letters", record, deadLetters)]),
    ...(pausedUntilMs === undefined && !isFailing ? [] : [trouble("push_failing", record, lag)]),
  ];
}

const trouble = (kind: Troubled["kind"], { id, topic, name }: PushRecord, count: number | null): Troubled => ({
  kind,
  id,
  topic,
  name,
  count,
});
