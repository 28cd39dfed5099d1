import { createHmac } from "node:crypto";
import { fromBase64 } from "../../platform/encoding.ts";

/**
 * The `webhook-signature` of Standard Webhooks: HMAC-SHA-256 over id, time and body. `secret` is `whsec_` and base64 of
 * the key. In one turn, so that nothing changes between choosing an endpoint and calling it.
 */
export function signWebhook(secret: string, id: string, timestampSec: number, body: Uint8Array): string {
  const key = fromBase64(secret.slice(SECRET_PREFIX.length));
  if (!secret.startsWith(SECRET_PREFIX) || key === undefined || key.length === 0)
    throw new Error("the signing secret is none");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestampSec}.`).update(body).digest("base64")}`;
}

const SECRET_PREFIX = "whsec_";
