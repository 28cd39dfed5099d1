import { throwTogether } from "../../platform/runtime/attempt-each.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { withTimeout } from "../../platform/runtime/with-timeout.ts";
import { SUBSCRIPTION } from "../model/limits.ts";
import { changePassword } from "../push/record/credentials.ts";
import type { PushRecord } from "../push/record/record.ts";
import { pushOf } from "../push/stub.ts";
import { topicOf, type SubscriptionPorts } from "./subscriptions.ts";
import { inParallel } from "../../platform/runtime/parallel.ts";

/**
 * Wakes some active subscriptions, different ones at each run, so that an object whose alarm was lost continues. This
 * does not reach objects without a record; each object checks for its record at least once a day.
 */
export async function wakeSubscriptions({ push, pushSubscriptions }: SubscriptionPorts): Promise<void> {
  const records = await push.store.someActive(push.random, SUBSCRIPTION.wokenASweep);
  throwTogether(
    await forEach(records, push.log, "push subscription not woken", (record) =>
      withTimeout(SUBSCRIPTION.objectWaitMs, pushOf(pushSubscriptions, topicOf(record), record.id).wake()),
    ),
  );
}

/**
 * Seals credentials under an old key again with the current one. Once no record uses the old key, the operator may
 * remove it. Credentials that do not open are skipped and do not block others.
 */
export async function resealSubscriptions({ push }: SubscriptionPorts): Promise<void> {
  const { sealer, store, log } = push;
  const records = await store.sealedOtherwise(sealer.keyId, SUBSCRIPTION.resealedASweep);
  if (records.length === 0) return;
  const { length: failed } = await forEach(records, log, "push credentials not sealed anew", async (record) => {
    const { credentials, sealKey } = await changePassword(sealer, record);
    await store.reseal(record, credentials, sealKey);
  });
  log.info("push credentials sealed anew", { count: records.length - failed, failed });
}

/** Runs the same work for all, `wokenAtOnce` at a time. Logs each failure as `failure` and returns them. */
async function forEach(
  records: readonly PushRecord[],
  log: Log,
  failure: string,
  run: (record: PushRecord) => Promise<unknown>,
): Promise<readonly unknown[]> {
  const failures: unknown[] = [];
  await inParallel(records, SUBSCRIPTION.wokenAtOnce, async (record) => {
    try {
      await run(record);
    } catch (thrown) {
      failures.push(thrown);
      log.error(failure, { push: record.id, error: describeError(thrown) });
    }
  });
  return failures;
}
