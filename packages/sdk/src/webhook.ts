import type { StoredEvent } from "./event.ts";

/** The push is not from the platform, or too old. Answer it with 400 and do not read it. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

export interface WebhookOptions {
  /** How old a push may be, 300 s by default. */
  readonly toleranceSec?: number;
}

const PREFIX = "whsec_";

/**
 * Checks the signature of a push (Standard Webhooks) and returns its event. `body` must be the text as it was received,
 * since a parsed and rewritten one has another signature. `secrets`: the subscription's `signingSecret`, or several.
 *
 *   const event = await verifyWebhook(request.headers, await request.text(), secret);
 *
 * A push may come twice, with the same `webhook-id` and `event.id`.
 */
export async function verifyWebhook(
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>,
  body: string,
  secrets: string | readonly string[],
  { toleranceSec = 300 }: WebhookOptions = {},
): Promise<StoredEvent> {
  const id = headerOf(headers, "webhook-id");
  const timestamp = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature").split(" ");
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookError("webhook-timestamp is no time.");
  if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > toleranceSec)
    throw new WebhookError("The push is too old, or the clock of this machine is wrong.");
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  for (const secret of listOf(secrets)) {
    const key = await crypto.subtle.importKey("raw", keyOf(secret), { name: "HMAC", hash: "SHA-256" }, false, [
      "verify",
    ]);
    for (const signature of signatures) {
      const bytes = signature.startsWith("v1,") ? fromBase64(signature.slice(3)) : undefined;
      // Compares in constant time.
      if (bytes !== undefined && (await crypto.subtle.verify("HMAC", key, bytes, signed)))
        return JSON.parse(body) as StoredEvent;
    }
  }
  throw new WebhookError("The signature is not of this secret and this body.");
}

function headerOf(headers: Parameters<typeof verifyWebhook>[0], name: string): string {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  if (typeof value === "string" && value !== "") return value;
  throw new WebhookError(`The header ${name} is missing.`);
}

function listOf(secrets: string | readonly string[]): readonly string[] {
  const listed = typeof secrets === "string" ? [secrets] : secrets;
  if (Array.isArray(listed) && listed.length > 0 && listed.every((one) => typeof one === "string")) return listed;
  throw new TypeError("The signing secret is missing. Is its environment variable set?");
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = fromBase64(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret);
  if (bytes === undefined || bytes.length === 0) throw new TypeError("A signing secret looks like whsec_… in base64.");
  return bytes;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}
