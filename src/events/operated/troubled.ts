import { OPERATED } from "../model/limits.ts";
import type { PushRecord } from "../push/record/record.ts";
import { pushStatusOf, topicOf, type SubscriptionPorts } from "../subscriptions/subscriptions.ts";

/** A subscription that delivers nothing, that has dead letters, or whose endpoint fails. */
export interface Troubled {
  readonly kind: "push_stopped" | "push_failing" | "dead_letters";
  readonly id: string;
  readonly topic: string;
  readonly name: string;
  /** Number of dead letters or of pending events; null if deliveries stopped. */
  readonly count: number | null;
}

/**
 * Reads the records in trouble, which indexes have, and asks the objects of those that deliver. So the cost does not
 * grow with the number of subscriptions. An object reports at the end of a run whether its deliveries are in trouble.
 * Delivering and stopped subscriptions have separate limits, so neither crowds out the other.
 */
export async function troubledSubscriptions(ports: SubscriptionPorts): Promise<readonly Troubled[]> {
  const records = await ports.push.store.inTrouble(OPERATED.inTrouble);
  const [stopped, delivering] = [records.filter(isStopped), records.filter((one) => !isStopped(one))];
  const found = await Promise.all(
    delivering.slice(0, OPERATED.inTrouble).map(async (record) => troubleOf(ports, record)),
  );
  return [...stopped.map((record) => trouble("push_stopped", record, null)), ...found.flat()];
}

/** True if nothing is delivered. An unverified subscription does not count, since its handshake is running. */
const isStopped = ({ state, halt }: PushRecord): boolean =>
  state === "disabled" || state === "failed" || halt !== undefined;

async function troubleOf(ports: SubscriptionPorts, record: PushRecord): Promise<readonly Troubled[]> {
  const status = await pushStatusOf(ports, { topic: topicOf(record), record });
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
