import { parseHttpDate } from "../text/http-date.ts";
import { ENDPOINT } from "./limits.ts";

/** Outcome of one attempt. `retryAfter` is the raw header. */
export type EndpointResponse =
  | { readonly kind: "answered"; readonly status: number; readonly retryAfter: string | null }
  | { readonly kind: "timeout" | "unreachable" | "refused" };

/**
 * `status`: neither 2xx nor 3xx. `timeout`: no response in time. `unreachable`: no connection, or a lost one.
 * `redirect`: 3xx, which is never followed. `refused`: the platform may not call this address (any more).
 */
export type AttemptError = "status" | "timeout" | "unreachable" | "redirect" | "refused";

/**
 * Meaning of a response for the delivery.
 * - `later`: the endpoint names the time of the next attempt.
 * - `unwanted`: the endpoint wants no more deliveries.
 */
export type Verdict =
  | { readonly kind: "delivered" }
  | { readonly kind: "failed" }
  | { readonly kind: "later"; readonly atMs: number }
  | { readonly kind: "unwanted" };

export function judge(answer: EndpointResponse, nowMs: number): Verdict {
  if (answer.kind !== "answered") return { kind: "failed" };
  const { status, retryAfter } = answer;
  if (status >= 200 && status < 300) return { kind: "delivered" };
  if (status === 410) return { kind: "unwanted" };
  const waitMs = status === 429 || status === 503 ? readRetryAfter(retryAfter, nowMs) : undefined;
  return waitMs === undefined ? { kind: "failed" } : { kind: "later", atMs: nowMs + waitMs };
}

/**
 * True if the endpoint itself responded. Otherwise Cloudflare responds with a status that no other server uses: 520 to
 * 527, and 530 for an unknown host name.
 */
export const wasReached = (answer: EndpointResponse): boolean =>
  answer.kind === "answered" && !(answer.status >= 520 && answer.status <= 527) && answer.status !== 530;

/** The error in the log of deliveries; undefined if the attempt succeeded. */
export function errorOf(answer: EndpointResponse): AttemptError | undefined {
  if (answer.kind !== "answered") return answer.kind;
  const { status } = answer;
  if (!wasReached(answer)) return status === 522 || status === 524 ? "timeout" : "unreachable";
  if (status >= 200 && status < 300) return undefined;
  return status >= 300 && status < 400 ? "redirect" : "status";
}

/** `Retry-After` (RFC 9110 10.2.3) in milliseconds from now, clamped; undefined if it is neither seconds nor a date. */
export function readRetryAfter(text: string | null, nowMs: number): number | undefined {
  const value = text?.trim() ?? "";
  const atMs = /^\d+$/.test(value) ? nowMs + Number(value) * 1000 : parseHttpDate(value, nowMs);
  if (atMs === undefined) return undefined;
  return Math.min(Math.max(atMs - nowMs, ENDPOINT.minRetryAfterMs), ENDPOINT.maxRetryAfterMs);
}
