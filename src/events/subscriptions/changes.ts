import { err, ok, type Result } from "../../platform/model/result.ts";
import { retryOnce } from "../../platform/runtime/retry-once.ts";
import { withTimeout } from "../../platform/runtime/with-timeout.ts";
import type { Failure } from "../model/failure.ts";
import { SUBSCRIPTION } from "../model/limits.ts";
import { changesOf, describeMove, originOf, pushAudit } from "../push/record/audit.ts";
import { changePassword, findCredentials, rotateSecret, type PushCredentials } from "../push/record/credentials.ts";
import { stateBy, type PushMaking, type PushRecord, type Verification } from "../push/record/record.ts";
import { pushOf } from "../push/stub.ts";
import { PASSWORD_PLACEHOLDER, type SubscriptionUpdate } from "./body.ts";
import { topicOf, type Change, type FoundSubscription, type SubscriptionPorts } from "./subscriptions.ts";

/**
 * Changes endpoint, username and password of a subscription, enables it, and returns it.
 *
 * The write requires the version that was read, so a kept password is the current one. After a concurrent change the
 * update is retried. A password is kept only for the same origin, so changing the endpoint does not reveal it.
 *
 * The response waits some seconds until the object knows of the change, so deliveries that start after the response go
 * to the new endpoint. An object that did not answer finds out within seconds if it is active, within minutes if it is
 * disabled.
 */
export function updateSubscription(
  ports: SubscriptionPorts,
  found: FoundSubscription,
  { pushConfig }: SubscriptionUpdate,
  making: PushMaking,
  { by, nowMs, waitUntil }: Change,
): Promise<Result<PushRecord, Failure>> {
  const { push } = ports;
  const { endpoint, basicAuth } = pushConfig;
  const { username } = basicAuth;
  return changeOpened(ports, found, waitUntil, async (record, before) => {
    const isLeft = basicAuth.password === PASSWORD_PLACEHOLDER;
    if (isLeft && originOf(endpoint) !== originOf(record.endpoint)) return err({ kind: "password_missing" });
    const password = isLeft ? before.password : basicAuth.password;
    const sealed = await changePassword(push.sealer, record, password);
    const verification = verificationOf(record, pushConfig);
    const fields = { endpoint, username, made: record.made ?? making, verification, ...sealed };
    const after: PushRecord = {
      ...record,
      ...fields,
      state: stateBy(verification),
      version: record.version + 1,
      updatedAtMs: nowMs,
    };
    const changed = changesOf(record, after, password !== before.password);
    const row = pushAudit(record, "change", by, nowMs, describeMove(record, after), changed);
    const audit = changed.length === 0 ? undefined : row;
    const isWritten = await push.store.update(record.id, record.version, fields, nowMs, audit);
    return isWritten ? ok(after) : undefined;
  });
}

/**
 * Replaces the signing secret of a subscription and returns the new one. The replaced secret signs beside it for
 * `previousMs`, so that a receiver can switch without missing an event; with 0 it ends at once. The state stays.
 */
export function rotateSigningSecret(
  ports: SubscriptionPorts,
  found: FoundSubscription,
  previousMs: number,
  { by, nowMs, waitUntil }: Change,
): Promise<Result<{ readonly signingSecret: string; readonly previousUntilMs: number | undefined }, Failure>> {
  const { push } = ports;
  const previousUntilMs = previousMs === 0 ? undefined : nowMs + previousMs;
  const reason = previousMs === 0 ? "the last secret ends at once" : `the last secret ends after ${previousMs} ms`;
  const row = pushAudit(found.record, "rotate", by, nowMs, reason, ["signingSecret"]);
  return changeOpened(ports, found, waitUntil, async (record, before) => {
    const { sealed, signingSecret } = await rotateSecret(push, record, before, previousUntilMs, nowMs);
    const isWritten = await push.store.renew(record, sealed, nowMs, row);
    return isWritten ? ok({ signingSecret, previousUntilMs }) : undefined;
  });
}

/**
 * Changes a record with opened credentials: they are sealed together, so changing one of them needs all. `write`
 * returns undefined if a concurrent change won; the record is then read and written again. Signals a successful change
 * to the object.
 */
async function changeOpened<T>(
  { push, pushSubscriptions }: SubscriptionPorts,
  { topic, record: found }: FoundSubscription,
  waitUntil: Change["waitUntil"],
  write: (record: PushRecord, before: PushCredentials) => Promise<Result<T, Failure> | undefined>,
): Promise<Result<T, Failure>> {
  let record: PushRecord | undefined = found;
  for (let attempt = 0; attempt < SUBSCRIPTION.updateAttempts; attempt++) {
    const before = await findCredentials(push.sealer, record);
    if (before === undefined) {
      push.log.error("push credentials do not open", { push: record.id });
      return err({ kind: "credentials_unreadable" });
    }
    const done = await write(record, before);
    if (done?.ok) await tell(() => pushOf(pushSubscriptions, topic, found.id).changed(), waitUntil);
    if (done !== undefined) return done;
    record = await push.store.findById(record.id);
    if (record === undefined) return err({ kind: "no_subscription" });
  }
  return err({ kind: "unavailable" });
}

/**
 * State of the handshake after an update. A new endpoint starts a handshake, and so does one that did not confirm.
 * Without `handshake` in the request, the subscription keeps its setting.
 */
function verificationOf(
  before: PushRecord,
  { endpoint, handshake }: SubscriptionUpdate["pushConfig"],
): Verification | undefined {
  if (!(handshake ?? before.verification !== undefined)) return undefined;
  return before.verification === "done" && before.endpoint === endpoint ? "done" : "pending";
}

/**
 * Deletes a subscription: first its record, which decides, then the object's storage. No delivery starts after the
 * response, unless the object did not answer; it then finds out within seconds.
 */
export async function deleteSubscription(
  { push, pushSubscriptions }: Pick<SubscriptionPorts, "push" | "pushSubscriptions">,
  record: PushRecord,
  { by, nowMs, waitUntil }: Change,
): Promise<Result<void, Failure>> {
  const audit = pushAudit(record, "delete", by, nowMs);
  // If the first call's response was lost, the repeat finds no record, and the removal counts as this call's.
  const wasThere = await retryOnce(async (isRepeat) => (await push.store.remove(record.id, audit)) || isRepeat);
  if (!wasThere) return err({ kind: "no_subscription" });
  await tell(() => pushOf(pushSubscriptions, topicOf(record), record.id).destroy(), waitUntil);
  return ok(undefined);
}

/** Calls the object, with one retry, and waits for it at most a short time; the call continues after the response. */
async function tell(call: () => Promise<void>, waitUntil: Change["waitUntil"]): Promise<void> {
  const work = retryOnce(call);
  waitUntil(work);
  await withTimeout(SUBSCRIPTION.objectWaitMs, work).catch(() => undefined);
}
