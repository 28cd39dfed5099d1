import { err, ok, type Result } from "../../platform/result.ts";
import { retryOnce } from "../../platform/retry-once.ts";
import { withTimeout } from "../../platform/with-timeout.ts";
import type { Failure } from "../model/failure.ts";
import { SUBSCRIPTION } from "../model/limits.ts";
import { changesOf, describeMove, originOf, pushAudit, type ChangedBy } from "../push/audit.ts";
import { changePassword, findCredentials } from "../push/credentials.ts";
import { stateBy, type PushMaking, type PushRecord, type Verification } from "../push/record.ts";
import { pushOf } from "../push/stub.ts";
import { PASSWORD_PLACEHOLDER, type SubscriptionUpdate } from "./body.ts";
import { topicOf, type WaitUntil, type FoundSubscription, type SubscriptionPorts } from "./subscriptions.ts";
import type { Page, Paging } from "../../http/paging.ts";
import type { PushFilter } from "../push/push-store.ts";

/**
 * Changes endpoint, username and password of a subscription, and enables it; gives it as it is then.
 *
 * The write is conditional on the version that was read, so that a password that is left as it is is the one of the
 * moment, and tried again when another change came first. It is left only to the origin that has it already: whoever may
 * change the endpoint does not thereby learn the password. The object is told, and waited for a little: when the answer
 * is there, deliveries that begin go to the new endpoint. One that could not be told finds out by itself, an active one
 * within seconds, a disabled one within minutes.
 */
export async function updateSubscription(
  { push, pushSubscriptions }: SubscriptionPorts,
  { topic, record: found }: FoundSubscription,
  { pushConfig }: SubscriptionUpdate,
  by: ChangedBy & { readonly making: PushMaking },
  nowMs: number,
  waitUntil: WaitUntil,
): Promise<Result<PushRecord, Failure>> {
  const { endpoint, basicAuth } = pushConfig;
  const { username } = basicAuth;
  let record: PushRecord | undefined = found;
  for (let attempt = 0; attempt < SUBSCRIPTION.updateAttempts; attempt++) {
    // The signing secret is sealed with the password: a new password alone cannot replace both.
    const before = await findCredentials(push.sealer, record);
    if (before === undefined) {
      push.log.error("push credentials do not open", { push: record.id });
      return err({ kind: "credentials_unreadable" });
    }
    const isLeft = basicAuth.password === PASSWORD_PLACEHOLDER;
    if (isLeft && originOf(endpoint) !== originOf(record.endpoint)) return err({ kind: "password_missing" });
    const password = isLeft ? before.password : basicAuth.password;
    const sealed = await changePassword(push.sealer, record, password);
    const verification = verificationOf(record, pushConfig);
    const change = { endpoint, username, made: record.made ?? by.making, verification, ...sealed };
    const after: PushRecord = {
      ...record,
      ...change,
      state: stateBy(verification),
      version: record.version + 1,
      updatedAtMs: nowMs,
    };
    const changed = changesOf(record, after, password !== before.password);
    const row = pushAudit(record, "change", by, nowMs, describeMove(record, after), changed);
    const audit = changed.length === 0 ? undefined : row;
    if (await push.store.update(record.id, record.version, change, nowMs, audit)) {
      await tell(() => pushOf(pushSubscriptions, topic, found.id).changed(), waitUntil);
      return ok(after);
    }
    record = await push.store.findById(record.id);
    if (record === undefined) return err({ kind: "no_subscription" });
  }
  return err({ kind: "unavailable" });
}

/** A new endpoint is asked, and one that did not say yes is asked again. Where the update does not say, it stays as it is. */
function verificationOf(
  before: PushRecord,
  { endpoint, handshake }: SubscriptionUpdate["pushConfig"],
): Verification | undefined {
  if (!(handshake ?? before.verification !== undefined)) return undefined;
  return before.verification === "done" && before.endpoint === endpoint ? "done" : "pending";
}

/**
 * Deletes a subscription: its record goes, which is the promise, then what the object has. When the answer is there no
 * further delivery begins, unless the object could not be told: then it finds out by itself within seconds.
 */
export async function deleteSubscription(
  { push, pushSubscriptions }: Pick<SubscriptionPorts, "push" | "pushSubscriptions">,
  record: PushRecord,
  by: ChangedBy,
  nowMs: number,
  waitUntil: WaitUntil,
): Promise<Result<void, Failure>> {
  const audit = pushAudit(record, "delete", by, nowMs);
  // After a lost answer nobody knows who removed it: then it was this call.
  const wasThere = await retryOnce(async (isRepeat) => (await push.store.remove(record.id, audit)) || isRepeat);
  if (!wasThere) return err({ kind: "no_subscription" });
  await tell(() => pushOf(pushSubscriptions, topicOf(record), record.id).destroy(), waitUntil);
  return ok(undefined);
}

/** Waits for the object, but not long: what it is told, twice where the first call fails, goes on beside the answer. */
async function tell(call: () => Promise<void>, waitUntil: WaitUntil): Promise<void> {
  const work = retryOnce(call);
  waitUntil(work);
  await withTimeout(SUBSCRIPTION.objectWaitMs, work).catch(() => undefined);
}

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
