import { describeError, type Log } from "../../platform/log.ts";
import { randomId } from "../../platform/random.ts";
import { withTimeout } from "../../platform/with-timeout.ts";
import { SUBSCRIPTION } from "../model/limits.ts";
import { changePassword } from "../push/credentials.ts";
import type { PushRecord } from "../push/record.ts";
import { pushOf } from "../push/stub.ts";
import { topicOf, type SubscriptionPorts } from "./subscriptions.ts";

/**
 * Wakes some active subscriptions, others at each run: an object whose alarm was lost goes on. One whose record went
 * without its knowing is not met here; it looks for its record once a day at least.
 */
export async function wakeSubscriptions({ push, pushSubscriptions }: SubscriptionPorts): Promise<void> {
  const from = randomId(push.random);
  const records = [...(await push.store.activeAfter(from, SUBSCRIPTION.wokenASweep))];
  // Once around: what lies close to the beginning would seldom be met otherwise.
  const missing = SUBSCRIPTION.wokenASweep - records.length;
  if (missing > 0) records.push(...(await push.store.activeAfter("", missing)).filter(({ id }) => id <= from));
  await forEach(records, push.log, "push subscription not woken", (record) =>
    withTimeout(SUBSCRIPTION.objectWaitMs, pushOf(pushSubscriptions, topicOf(record), record.id).wake()),
  );
}

/**
 * Seals credentials that are under another key than the one that seals now anew. When it finds none any more, the other
 * key may go. One that does not open is left, and does not keep the others from it.
 */
export async function resealSubscriptions({ push }: SubscriptionPorts): Promise<void> {
  const { sealer, store, log } = push;
  const records = await store.sealedOtherwise(sealer.keyId, SUBSCRIPTION.resealedASweep);
  if (records.length === 0) return;
  const failed = await forEach(records, log, "push credentials not sealed anew", async (record) => {
    const { credentials, sealKey } = await changePassword(sealer, record);
    await store.reseal(record, credentials, sealKey);
  });
  log.info("push credentials sealed anew", { count: records.length - failed, failed });
}

/** Does the same for all at once. Each that fails stands in the log, as `failure`; gives how many they were. */
async function forEach(
  records: readonly PushRecord[],
  log: Log,
  failure: string,
  run: (record: PushRecord) => Promise<unknown>,
): Promise<number> {
  let failed = 0;
  await Promise.all(
    records.map(async (record) => {
      try {
        await run(record);
      } catch (thrown) {
        failed += 1;
        log.error(failure, { push: record.id, error: describeError(thrown) });
      }
    }),
  );
  return failed;
}
