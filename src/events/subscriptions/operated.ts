import type { Page, Paging } from "../../http/paging.ts";
import type { ChangedBy } from "../push/audit.ts";
import type { PushFilter } from "../push/push-store.ts";
import type { PushRecord } from "../push/record.ts";
import { deleteSubscription } from "./changes.ts";
import type { WaitUntil, SubscriptionPorts } from "./subscriptions.ts";

/** What the operator service does with push subscriptions of any client. */
export interface OperatedSubscriptions {
  find(id: string): Promise<PushRecord | undefined>;
  /** By id; undefined where the cursor is none of this list. */
  list(filter: PushFilter, paging: Paging): Promise<Page<PushRecord> | undefined>;
  /** Gives whether it was there. */
  remove(id: string, by: ChangedBy, nowMs: number, waitUntil: WaitUntil): Promise<boolean>;
}

export const operatedSubscriptions = (
  ports: Pick<SubscriptionPorts, "push" | "pushSubscriptions">,
): OperatedSubscriptions => ({
  find: (id) => ports.push.store.findById(id),
  list: (filter, paging) => ports.push.store.listAll(filter, paging),
  async remove(id, by, nowMs, waitUntil) {
    const record = await ports.push.store.findById(id);
    return record !== undefined && (await deleteSubscription(ports, record, by, nowMs, waitUntil)).ok;
  },
});
