import { createHmac } from "node:crypto";
import { toSec, type Clock } from "../../platform/runtime/clock.ts";
import { toBase64, utf8, fromBase64, toHex } from "../../platform/text/encoding.ts";
import type { Names } from "../../platform/model/names.ts";
import { parseOutboundUrl } from "../../platform/outside/outbound-url.ts";
import type { Random } from "../../platform/runtime/random.ts";
import type { Tracing } from "../../platform/ports/tracing.ts";
import { DELIVERY } from "../model/limits.ts";
import type { TopicId } from "../model/topic.ts";
import type { Target } from "./eligibility.ts";
import { callEndpoint, type Called } from "../../platform/delivery/call.ts";
import { errorOf, type EndpointResponse } from "../../platform/delivery/response.ts";
import type { Attempt } from "./types.ts";

export interface AttemptPorts {
  readonly names: Names;
  readonly clock: Clock;
  readonly allowLoopback: boolean;
  readonly tracing: Tracing;
}

export interface Message {
  readonly eventId: string;
  /** The event's JSON text. */
  readonly text: string;
  /** Number of this attempt, from 1. */
  readonly number: number;
  /** The `traceparent` of the publish, if it has spans. Only then do its pushes have spans. */
  readonly trace?: string | undefined;
}

/**
 * Calls an endpoint once. No other code runs before the call itself. The endpoint cannot make this throw. Reads status
 * and `Retry-After` of the response, and the start of the body if `maxBytes` is above 0 or the endpoint refused.
 */
export async function attempt(
  { names, clock, allowLoopback, tracing }: AttemptPorts,
  target: Target,
  { eventId, text, number, trace }: Message,
  maxBytes = 0,
): Promise<{ readonly answer: EndpointResponse; readonly attempt: Attempt; readonly said: string }> {
  const atMs = clock.nowMs();
  const timestampSec = toSec(atMs);
  const body = utf8(text);
  const headers = {
    ...shownHeaders(names, eventId, atMs, number),
    authorization: `Basic ${toBase64(utf8(`${target.username}:${target.password}`))}`,
    "webhook-signature": secretsAt(target, atMs)
      .map((secret) => signWebhook(secret, eventId, timestampSec, body))
      .join(" "),
  };
  const address = parseOutboundUrl(target.endpoint, allowLoopback);
  const { answer, said }: Called = address.ok
    ? await tracing.root({ ...ROOT, cause: trace, isSampled: trace !== undefined }, async (span) => {
        const called = await callEndpoint(address.value, { ...headers, ...tracing.outgoing() }, body, maxBytes);
        const status = called.answer.kind === "answered" ? called.answer.status : undefined;
        if (status === undefined) span.fail(called.answer.kind);
        span.set({
          "messaging.message.id": eventId,
          "messaging.delivery.attempt": number,
          "server.address": address.value.hostname,
          "http.response.status_code": status,
        });
        return called;
      })
    : { answer: { kind: "refused" }, said: "" };
  const status = answer.kind === "answered" ? answer.status : undefined;
  const error = errorOf(answer);
  const refusal = error === undefined ? "" : said.slice(0, DELIVERY.saidBytes);
  const made = { atMs, durationMs: clock.nowMs() - atMs, status, error, trace };
  return { answer, said, attempt: refusal === "" ? made : { ...made, said: refusal } };
}

/** The headers of an attempt without its secrets. */
export const shownHeaders = (
  names: Names,
  eventId: string,
  atMs: number,
  number: number,
): Readonly<Record<string, string>> => ({
  "content-type": "application/json",
  "user-agent": `${names.platform}-push`,
  "webhook-id": eventId,
  "webhook-timestamp": String(toSec(atMs)),
  [names.header("delivery-attempt")]: String(number),
});

const ROOT = { name: "push", kind: "client", waitUntil: () => {} } as const;

/** The secrets to sign with. After a rotation the receiver may know any of them, so each signs (Standard Webhooks). */
const secretsAt = ({ signingSecret, previous }: Target, nowMs: number): readonly string[] => [
  signingSecret,
  ...previous.filter(({ untilMs }) => nowMs < untilMs).map((one) => one.signingSecret),
];

/**
 * The `webhook-signature` of Standard Webhooks: HMAC-SHA-256 over id, time and body. `secret` is `whsec_` and base64
 * of the key. Synchronous, so that nothing changes between choosing an endpoint and calling it.
 */
export function signWebhook(secret: string, id: string, timestampSec: number, body: Uint8Array): string {
  const key = fromBase64(secret.slice(SECRET_PREFIX.length));
  if (!secret.startsWith(SECRET_PREFIX) || key === undefined || key.length === 0)
    throw new Error("the signing secret is not valid");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestampSec}.`).update(body).digest("base64")}`;
}

const SECRET_PREFIX = "whsec_";

/**
 * An event of the caller's tenant that was never published. Its id belongs to no topic, and its metadata marks it as a
 * test.
 */
export function testEvent({ owner, eventType }: TopicId, tenant: string, random: Random, nowMs: number): Message {
  const id = `test-${toHex(random.bytes(8))}`;
  const event = {
    id,
    createdAt: nowMs,
    tenant,
    sourceClient: owner,
    eventType,
    payload: "{}",
    metadata: { test: "true" },
  };
  return { eventId: id, text: JSON.stringify(event), number: 1 };
}
