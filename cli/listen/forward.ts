import { createHmac, randomBytes } from "node:crypto";
import type { StoredEvent } from "../../packages/sdk/src/index.ts";
import { send, Unreachable } from "../client/send.ts";
import { UsageError } from "../terminal/usage-error.ts";

/** The timeout of a push by the platform. */
const TIMEOUT_MS = 15_000;
const PREFIX = "whsec_";

export interface Endpoint {
  readonly url: string;
  /** `whsec_` and base64. */
  readonly secret: string;
  /** `user:password` of Basic authentication. */
  readonly basic?: string | undefined;
  /** The prefix of the platform's headers. */
  readonly platform: string;
}

export interface Outcome {
  /** Undefined: no answer. */
  readonly status: number | undefined;
  readonly ok: boolean;
  readonly ms: number;
  /** The reason for a missing answer. */
  readonly reason?: string;
}

export const newSecret = (): string => PREFIX + randomBytes(24).toString("base64");

/**
 * Posts an event as the platform pushes it, with the same headers, so that the same check accepts it. The signal ends
 * the wait for the answer.
 */
export async function forward(
  { url, secret, basic, platform }: Endpoint,
  event: StoredEvent,
  attempt: number,
  nowMs: () => number,
  signal: AbortSignal,
): Promise<Outcome> {
  const startedMs = nowMs();
  const { id, createdAt, tenant, sourceClient, eventType, payload, metadata } = event;
  const body = JSON.stringify({
    id,
    createdAt,
    tenant,
    sourceClient,
    eventType,
    payload,
    ...(metadata !== undefined && { metadata }),
  });
  const timestamp = String(Math.floor(startedMs / 1_000));
  const headers = {
    ...(basic !== undefined && { authorization: `Basic ${Buffer.from(basic).toString("base64")}` }),
    "content-type": "application/json",
    "user-agent": `${platform}-push`,
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${sign(secret, `${id}.${timestamp}.${body}`)}`,
    [`${platform}-delivery-attempt`]: String(attempt),
  };
  try {
    const { status, ok } = await send(url, { method: "POST", headers, body, signal }, TIMEOUT_MS);
    return { status, ok, ms: nowMs() - startedMs };
  } catch (error) {
    if (signal.aborted) return { status: undefined, ok: false, ms: nowMs() - startedMs, reason: "stopped" };
    if (!(error instanceof Unreachable)) throw error;
    return { status: undefined, ok: false, ms: nowMs() - startedMs, reason: error.reason };
  }
}

/** Standard Webhooks: HMAC-SHA-256 over id, time and body. */
const sign = (secret: string, text: string): string =>
  createHmac("sha256", Buffer.from(secret.slice(PREFIX.length), "base64"))
    .update(text)
    .digest("base64");

export function checkSecret(text: string): string {
  const isKey = new RegExp(`^${PREFIX}[A-Za-z0-9+/]{16,}={0,2}$`).test(text);
  if (!isKey) throw new UsageError(`A signing secret is ${PREFIX} and base64, as a push subscription shows it.`);
  return text;
}
