import { toSec, type Clock } from "../platform/clock.ts";
import { toBase64, utf8 } from "../platform/encoding.ts";
import type { Names } from "../platform/names.ts";
import { readOutsideAddress } from "../platform/outside-address.ts";
import { DELIVERY } from "./limits.ts";
import { errorOf, type Answer } from "./push-answer.ts";
import { signWebhook } from "./push-signature.ts";
import type { Target } from "./push-standing.ts";
import type { Attempt } from "./push-subscription.ts";

export interface AttemptPorts {
  readonly names: Names;
  readonly clock: Clock;
  readonly allowLoopback: boolean;
}

export interface Message {
  readonly eventId: string;
  /** The event's JSON text. */
  readonly text: string;
  /** Which attempt of this event it is, from 1. */
  readonly number: number;
}

/**
 * Calls an endpoint once (contract 3.5). Up to the call itself this runs in the caller's turn. Never throws for what the
 * endpoint does; of its answer nothing but status and `Retry-After` is looked at.
 */
export async function attempt(
  { names, clock, allowLoopback }: AttemptPorts,
  target: Target,
  { eventId, text, number }: Message,
): Promise<{ readonly answer: Answer; readonly attempt: Attempt }> {
  const atMs = clock.nowMs();
  const timestampSec = toSec(atMs);
  const body = utf8(text);
  const headers = {
    authorization: `Basic ${toBase64(utf8(`${target.username}:${target.password}`))}`,
    "content-type": "application/json",
    "user-agent": `${names.platform}-push`,
    "webhook-id": eventId,
    "webhook-timestamp": String(timestampSec),
    "webhook-signature": signWebhook(target.signingSecret, eventId, timestampSec, body),
    [names.header("delivery-attempt")]: String(number),
  };
  const address = readOutsideAddress(target.endpoint, allowLoopback);
  const answer: Answer = address.ok ? await call(address.value, headers, body) : { kind: "refused" };
  const status = answer.kind === "answered" ? answer.status : undefined;
  return { answer, attempt: { atMs, durationMs: clock.nowMs() - atMs, status, error: errorOf(answer) } };
}

async function call(address: URL, headers: Record<string, string>, body: Uint8Array<ArrayBuffer>): Promise<Answer> {
  const controller = new AbortController();
  // Not `AbortSignal.timeout`: it would keep the object awake long after the answer.
  const timer = setTimeout(() => controller.abort(), DELIVERY.attemptMs);
  try {
    const { signal } = controller;
    const response = await fetch(address, { method: "POST", headers, body, redirect: "manual", signal });
    // Unread it would hold its connection, of which there are six; how the rest of it ends tells nothing.
    response.body?.cancel().catch(() => {});
    return { kind: "answered", status: response.status, retryAfter: response.headers.get("retry-after") };
  } catch {
    return { kind: controller.signal.aborted ? "timeout" : "unreachable" };
  } finally {
    clearTimeout(timer);
  }
}
