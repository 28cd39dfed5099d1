import type { AuditRecord } from "../../platform/ports/audit.ts";
import { SUBSCRIPTION } from "../model/limits.ts";
import type { TopicAddress } from "../model/topic.ts";
import { pushAudit, type ChangedBy } from "../push/record/audit.ts";
import type { PushStore } from "../push/record/push-store.ts";
import type { PushRecord } from "../push/record/record.ts";

/** Removes the records of all subscriptions of a topic that is being deleted. May be repeated. */
export async function endSubscriptionsOf(
  store: PushStore,
  { incarnation }: Pick<TopicAddress, "incarnation">,
  by: ChangedBy,
  nowMs: number,
): Promise<void> {
  const rows = await rowsOf(store, { incarnation }, by, nowMs, "ended with its topic");
  await store.removeOfTopic(incarnation, rows);
}

/**
 * Statements that remove all subscriptions of a client, for the transaction that removes it. `record` is the audit row
 * of that removal.
 */
export async function endSubscriptionsOfClient(
  store: PushStore,
  client: string,
  { actor, requestId, atMs }: AuditRecord,
): Promise<readonly D1PreparedStatement[]> {
  const rows = await rowsOf(store, { client }, { actor, requestId }, atMs, "ended with its client");
  return store.removeOfClientStatements(client, rows);
}

/** A row for each of the first ones; the last row says if there are more. */
async function rowsOf(
  store: PushStore,
  of: Parameters<PushStore["some"]>[0],
  by: ChangedBy,
  nowMs: number,
  reason: string,
): Promise<readonly AuditRecord[]> {
  const found = await store.some(of, SUBSCRIPTION.endedNamed + 1);
  const named = found.slice(0, SUBSCRIPTION.endedNamed);
  const rows = named.map((record: PushRecord) => pushAudit(record, "end", by, nowMs, reason));
  const last = rows.at(-1);
  return last === undefined || found.length === named.length
    ? rows
    : [...rows, { ...last, reason: `${reason}; so did more, which are not named here` }];
}
