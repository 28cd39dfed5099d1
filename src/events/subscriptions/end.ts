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
  const found = await store.ofTopic(incarnation, SUBSCRIPTION.endedNamed + 1);
  await store.removeOfTopic(incarnation, rowsOf(found, by, nowMs, "ended with its topic"));
}

/**
 * Statements that remove a client's subscriptions in the directory, for the transaction that removes the client.
 * `record` is the audit row of that removal.
 */
export async function endSubscriptionsOfClient(
  store: PushStore,
  client: string,
  record: AuditRecord,
): Promise<readonly D1PreparedStatement[]> {
  const found = await store.ofClient(client, SUBSCRIPTION.endedNamed + 1);
  return store.removeOfClientStatements(client, rowsOf(found, record, record.atMs, WITH_CLIENT));
}

/** Removes the subscriptions of a removed client that are in other shards. May be repeated. */
export const endSubscriptionsElsewhere = (store: PushStore, client: string, record: AuditRecord): Promise<void> =>
  store.removeOfClientElsewhere(client, record.atMs, SUBSCRIPTION.endedNamed + 1, (found) =>
    rowsOf(found, record, record.atMs, WITH_CLIENT),
  );

const WITH_CLIENT = "ended with its client";

/** Audit rows for the first `SUBSCRIPTION.endedNamed` records; the last row says if there are more. */
function rowsOf(
  found: readonly PushRecord[],
  { actor, requestId }: ChangedBy,
  nowMs: number,
  reason: string,
): readonly AuditRecord[] {
  const named = found.slice(0, SUBSCRIPTION.endedNamed);
  const rows = named.map((record) => pushAudit(record, "end", { actor, requestId }, nowMs, reason));
  const last = rows.at(-1);
  return last === undefined || found.length === named.length
    ? rows
    : [...rows, { ...last, reason: `${reason}; so did more, which are not named here` }];
}
